"""Texts, vectors and questions, made once and kept."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.peers.data import Data
from recollect.embed.base import Embedder, find_embedder
from recollect.evaluate import texts as made_texts
from recollect.evaluate.vectors import WordVectors

FRESH = 1_000
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)
_AT_ONCE = 512
_SEED = 1

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which data. `vectors` names a file that is used if it is there, and written if it is not."""

    texts: Path | None
    memories: int
    questions: int
    embedder: str
    vectors: Path | None = None

    @property
    def key(self) -> str:
        """Data of the same key is the same."""
        source = "made" if self.texts is None else f"{self.texts.name}-{self.texts.stat().st_size}"
        whole = f"{source} {self.memories} {self.questions} {self.embedder} {_SEED}"
        return f"{self.memories}-{self.embedder}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def make(wanted: Wanted, folder: Path, tell: Tell) -> Data:
    """The data in this folder, made if it is not there."""
    if (folder / "facts.json").exists():
        return Data(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(islice(_rows(wanted.texts), wanted.memories))
    embedder = _embedder(wanted.embedder)
    texts = [text for text, _ in rows]
    vectors = wanted.vectors or folder / "vectors.npy"
    if not vectors.exists():
        tell(f"embedding {len(texts):,} texts with {wanted.embedder}")
        _embed(texts, embedder, vectors, tell)
    if len(np.load(vectors, mmap_mode="r")) < len(texts):
        raise SystemExit(f"{vectors} has fewer rows than {len(texts)}: name another file.")
    asked = made_texts.questions(texts, wanted.questions, _SEED)
    prefixed = [embedder.query_prefix + question for _, question in asked]
    fresh = list(islice(made_texts.made(-1 - _SEED), FRESH))
    np.save(folder / "questions.npy", embedder.embed(prefixed))
    np.save(folder / "fresh.npy", embedder.embed(fresh))
    _write(folder / "questions.json", json.dumps(asked))
    _write(folder / "fresh.json", json.dumps(fresh))
    _write(folder / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    facts = {
        "memories": len(texts),
        "dimensions": int(np.load(vectors, mmap_mode="r").shape[1]),
        "vectors": str(vectors.resolve()),
        "embedder": wanted.embedder,
        "texts": wanted.texts.name if wanted.texts else "made",
        "questions": wanted.questions,
    }
    _write(folder / "facts.json", json.dumps(facts))
    return Data(folder)


def _rows(file: Path | None) -> Iterator[tuple[str, str]]:
    """The texts of the file with their times, then made ones without end."""
    if file is not None:
        with file.open("rb") as raw, gzip.open(raw) if file.suffix == ".gz" else raw as lines:
            for row in map(json.loads, lines):
                yield row.get("text") or row["content"], row.get("timestamp") or _FIRST.isoformat()
    for number, text in enumerate(made_texts.made(_SEED)):
        yield text, (_FIRST + timedelta(seconds=30 * number)).isoformat()


def _embedder(name: str) -> Embedder:
    return WordVectors() if name == "words" else find_embedder(name)


def _embed(texts: Sequence[str], embedder: Embedder, file: Path, tell: Tell) -> None:
    """The shortest first, in batches of the same length; the file is there when it is whole."""
    begun = file.with_suffix(".part.npy")
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    dimensions = embedder.embed(["how long?"]).shape[1]
    rows = np.lib.format.open_memmap(begun, "w+", np.float32, (len(texts), dimensions))
    for start in range(0, len(order), _AT_ONCE):
        numbers = order[start : start + _AT_ONCE]
        rows[numbers] = embedder.embed([texts[number] for number in numbers])
        if start % (_AT_ONCE * 40) == 0:
            tell(f"embedded {start:,} of {len(texts):,}")
    rows.flush()
    begun.rename(file)


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
