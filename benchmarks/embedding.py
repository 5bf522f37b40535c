"""What embedding costs beside bare onnxruntime in the same run.

    python benchmarks/embedding.py [texts.jsonl] [--texts 400] [--rounds 3]

The file has a JSON object with a "text" a line; without one, texts of random words of the model's
vocabulary are made. Prints the median of the rounds, as a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import recollect
from recollect.embed.base import Embedder, find_embedder, find_quick
from recollect.embed.models import find_model
from recollect.embed.wordpiece import WordPieces

BATCH = 32
QUERIES = 40
QUICK = "quick queries to arctic-s"

START = """
import json, time
begin = time.perf_counter()
from recollect.embed.base import find_embedder, find_quick
embedder = find_quick({served!r}) if {served!r} else find_embedder({name!r})
found = time.perf_counter()
embedder.embed(["a first question"])
first = time.perf_counter()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([found - begin, first - found, int(status["VmRSS"].split()[0]) / 1024]))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help='JSON lines with a "text"')
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = read_texts(options.file, options.texts) if options.file else make_texts(options.texts)
    pieces = WordPieces.from_file(find_model("arctic-s").file("vocab.txt"))
    lengths = [len(pieces.encode(text, 512)) for text in texts]
    print(
        f"{len(texts)} texts of {np.mean(lengths):.0f} word pieces on average; median of {options.rounds}\n"
    )
    print("| | one query, ms | texts/s |\n|---|---|---|")
    measured: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for name, embed in ways(pieces).items():
            measured.setdefault(name, []).append((query_ms(embed, texts), texts_a_second(embed, texts)))
    for name, rounds in measured.items():
        print(f"| {name} | {median(q for q, _ in rounds):.2f} | {median(r for _, r in rounds):.0f} |")
    print(written(bare_session(), pieces, texts, options.rounds))
    print("\n| | find, ms | load and first query, ms | memory (RSS), MB |\n|---|---|---|---|")
    for name in ("arctic-s", QUICK, "static-s", "hash"):
        found, first, memory = start(name)
        print(f"| {name} | {found * 1000:.0f} | {first * 1000:.0f} | {memory:.0f} |")


def read_texts(file: Path, count: int) -> list[str]:
    """The first texts of a file of JSON lines."""
    with file.open(encoding="utf-8") as lines:
        return [str(json.loads(line)["text"]) for line, _ in zip(lines, range(count), strict=False)]


def make_texts(count: int) -> list[str]:
    """Texts of 5 to 60 words that are distributed roughly as in language."""
    vocabulary = find_model("arctic-s").file("vocab.txt").read_text("utf-8").split("\n")
    words = [piece for piece in vocabulary[1996:] if piece.isalpha()]
    generator = np.random.default_rng(1)
    frequency = 1 / (np.arange(len(words)) + 2.7)
    frequency /= frequency.sum()
    return [
        " ".join(generator.choice(words, int(generator.integers(5, 60)), p=frequency)) for _ in range(count)
    ]


Embed = Callable[[list[str]], Any]


def ways(pieces: WordPieces) -> dict[str, Embed]:
    """Each way to embed, ours and bare onnxruntime's."""
    bare = bare_session()
    return {
        "arctic-s": find_embedder("arctic-s").embed,
        "bare onnxruntime, one text at a time": lambda texts: [bare_run(bare, pieces, [t]) for t in texts],
        f"bare onnxruntime, padded batches of {BATCH}": lambda texts: padded(bare, pieces, texts),
        QUICK: quick().embed,
        "static-s": find_embedder("static-s").embed,
        "hash": find_embedder("hash").embed,
    }


def quick() -> Embedder:
    """The table for questions to arctic-s."""
    found = find_quick(find_model("arctic-s").fingerprint)
    assert found is not None, "recollect-static-s is not installed, or made for another arctic-s"
    return found


def bare_session() -> Any:
    """The model with onnxruntime's default options."""
    import onnxruntime

    path = str(find_model("arctic-s").file("model_int8.onnx"))
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def padded(session: Any, pieces: WordPieces, texts: list[str]) -> list[Any]:
    """Sorted by length and padded: the usual way, whose vectors shift with what shares the batch."""
    ordered = sorted(texts, key=len)
    return [
        bare_run(session, pieces, ordered[start : start + BATCH]) for start in range(0, len(ordered), BATCH)
    ]


def bare_run(session: Any, pieces: WordPieces, texts: list[str]) -> Any:
    """One call of onnxruntime."""
    numbers = [pieces.encode(text, 512) for text in texts]
    ids = np.zeros((len(texts), max(map(len, numbers))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text_numbers in enumerate(numbers):
        ids[row, : len(text_numbers)] = text_numbers
        mask[row, : len(text_numbers)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return session.run(["last_hidden_state"], inputs)[0][:, 0]


def query_ms(embed: Embed, texts: list[str]) -> float:
    """The median time of one short text alone, in milliseconds."""
    queries = [" ".join(text.split()[:12]) for text in texts[:QUERIES]]
    embed(queries[:1])
    times = []
    for query in queries:
        begin = time.perf_counter()
        embed([query])
        times.append(time.perf_counter() - begin)
    return median(times) * 1000


def texts_a_second(embed: Embed, texts: list[str]) -> float:
    """How many texts a second when all are given at once."""
    embed(texts[:BATCH])
    begin = time.perf_counter()
    embed(texts)
    return len(texts) / (time.perf_counter() - begin)


def written(session: Any, pieces: WordPieces, texts: list[str], rounds: int) -> str:
    """How long `remember_many` takes beside bare onnxruntime, which keeps nothing, by turns."""
    ratios = []
    for _ in range(rounds):
        bare = seconds(lambda: padded(session, pieces, texts))
        with (
            TemporaryDirectory() as folder,
            recollect.open(f"{folder}/memory.db", embedder="arctic-s") as kept,
        ):
            kept.remember("The model is loaded by now.")
            ratios.append(seconds(lambda: kept.remember_many(texts, on_duplicate="keep")) / bare)
    return f"\nremember_many takes {median(ratios):.2f} times as long as bare onnxruntime in padded batches"


def seconds(action: Callable[[], object]) -> float:
    """How long it takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def start(name: str) -> tuple[float, float, float]:
    """A fresh process: seconds to find the embedder, seconds to its first vector, its memory in MB."""
    served = find_model("arctic-s").fingerprint if name == QUICK else ""
    code = START.format(name=name, served=served)
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, first, memory = json.loads(finished.stdout)
    return found, first, memory


if __name__ == "__main__":
    main()
