"""What a recall costs and where each millisecond goes, on a store of N real or made texts.

    python benchmarks/recall.py --memories 10000 [texts.jsonl[.gz]]

Vectors come from the hashing embedder with the default model's 384 dimensions, so that filling is quick; a
query's vector is made before the clock starts, and `benchmarks/embedding.py` says what making it costs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import recollect
from recollect import Draft, Memories, recalling
from recollect.embed.base import find_embedder
from recollect.meaning import Meaning, generation_of
from recollect.ranking.score import Rules, score
from recollect.recalling import Options
from recollect.store.base import Nearness, Words
from recollect.store.sqlite.store import SqliteStore
from recollect.types import MODES

EMBEDDER = "hash:384"


@dataclass(frozen=True)
class Text:
    """One text to fill the store with."""

    text: str
    session: str | None
    created_at: str | None


def read(path: Path, count: int) -> Iterator[Text]:
    """Texts from a JSONL file with "text" and perhaps "session" and "timestamp"."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for _, line in zip(range(count), lines, strict=False):
            record = json.loads(line)
            yield Text(record["text"], record.get("session"), record.get("timestamp"))


def make(count: int) -> Iterator[Text]:
    """Texts of 5 to 40 words, common words common: Zipf."""
    chance = random.Random(1)
    words = [
        f"{a}{b}{n}"
        for n in range(50)
        for a in ("ba", "ko", "li", "nu", "pe", "so")
        for b in ("r", "st", "m")
    ]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(count):
        text = " ".join(chance.choices(words, weights, k=chance.randint(5, 40)))
        yield Text(text, f"session {number // 40}", None)


def timed(action: Callable[[str], object], questions: list[str]) -> tuple[float, float]:
    """The median and the 95th percentile in milliseconds, one call a question."""
    times = []
    for question in questions:
        start = time.perf_counter()
        action(question)
        times.append((time.perf_counter() - start) * 1000)
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))


def parts(memories: Memories, store: SqliteStore, meaning: Meaning) -> dict[str, Callable[[str], object]]:
    """Each step of a hybrid recall by itself."""
    options, scope = Options(), memories.scope()
    facts = store.facts(scope.namespaces)
    generation = generation_of(find_embedder(EMBEDDER))
    kept: dict[Any, Any] = {}

    def understand(text: str) -> recalling.Question:
        return recalling.understand(text, scope, options, facts, None)

    def vector(text: str) -> Any:
        return meaning.query(text, facts.values()).vector

    def ask(text: str) -> object:
        kept[text] = recalling.ask(store, meaning, scope, understand(text), options, facts)
        return kept[text]

    def rank(text: str) -> object:
        fused = recalling.fuse_legs(kept[text], understand(text), options, scope.now)
        kept[text, "ranked"] = score(fused, Rules("mix", scope.now), 10)
        return kept[text, "ranked"]

    return {
        "understand the question": understand,
        "match: FTS5": lambda text: store.search([scope], Words(understand(text).keywords, 100), None),
        "near: exact cosine": lambda text: store.search(
            [scope], None, Nearness(generation, vector(text), 100)
        ),
        "both legs": ask,
        "fuse, lend, score": rank,
        "load ten winners": lambda text: store.load(
            [item.candidate.key for item, _ in kept[text, "ranked"][:10]], scope.now
        ),
    }


def main() -> None:
    """Fill a store, then time."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("texts", nargs="?", type=Path)
    arguments.add_argument("--memories", type=int, default=10_000)
    arguments.add_argument("--words", type=int, default=8, help="how many words of a text make a question")
    given = arguments.parse_args()
    texts = list(read(given.texts, given.memories) if given.texts else make(given.memories))
    questions = [" ".join(text.text.split()[: given.words]) for text in texts[:: max(1, len(texts) // 200)]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with recollect.open(path, embedder=EMBEDDER) as memories:
            start = time.perf_counter()
            drafts = [Draft(text.text, session=text.session, created_at=text.created_at) for text in texts]
            memories.remember_many(drafts, on_duplicate="keep")
            rate = len(texts) / (time.perf_counter() - start)
            print(
                f"{len(texts):,} memories, {path.stat().st_size / 1e6:.0f} MB, {rate:,.0f} written a second"
            )
            report(memories, questions)
            single = timed(lambda text: memories.remember(f"{text} {time.perf_counter_ns()}"), questions[:50])
            print(f"{'one durable write':28} {single[0]:8.2f} {single[1]:8.2f}")
        store, meaning = SqliteStore(path), Meaning(EMBEDDER)
        reader = Memories(store, meaning=meaning)
        reader.recall("warm up", reinforce=False)
        for name, action in parts(reader, store, meaning).items():
            median, high = timed(action, questions)
            print(f"  {name:26} {median:8.2f} {high:8.2f}")
        reader.close()


def report(memories: Memories, questions: list[str]) -> None:
    """The whole recall in each mode."""
    print(f"{'':28} {'p50 ms':>8} {'p95 ms':>8}")
    for question in questions:
        memories.recall(question, mode="semantic", reinforce=False)  # its vector is in the cache from now on
    for mode in MODES[:3]:
        recall = partial(memories.recall, mode=mode, reinforce=False)
        median, high = timed(recall, questions)
        print(f"{mode:28} {median:8.2f} {high:8.2f}")
    median, high = timed(memories.recall, questions)
    print(f"{'hybrid, marking what is used':28} {median:8.2f} {high:8.2f}")


if __name__ == "__main__":
    main()
