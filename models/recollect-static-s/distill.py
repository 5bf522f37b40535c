"""Makes the static table from the installed arctic-s model alone: no text corpus takes part.

1. The model reads every word piece of its vocabulary alone; the mean vector is taken off.
2. It reads 8,000 random strings of pieces, and a ridge regression moves the pieces' vectors so that
   their weighted mean comes near the model's vector of the whole string.
3. The directions that most pieces share are removed, each piece gets its weight by its rank in the
   vocabulary (SIF), and the rows are rounded to int8.

``python distill.py`` writes table.npy, scales.npy and manifest.json beside vocab.txt: about five
minutes on two cores.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from recollect.embed.models import Model, find_model

Vectors = NDArray[np.float32]

TARGET = Path(__file__).parent / "src" / "recollect_static_s"
CLS, SEP = 101, 102
FIRST_WORD = 1996
"""Below this number stand special tokens, single characters and punctuation."""
STRINGS = 8000
RIDGE = 0.03
REGRESSION_SIF = 1e-4
SIF = 2e-5
SHARED_DIRECTIONS = 8


def main() -> None:
    """Distil, round and write."""
    teacher = find_model("arctic-s")
    size = len((TARGET / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    pieces = without_mean(unit(read(teacher, ([number] for number in range(size)))), FIRST_WORD)
    strings = random_strings(size)
    strings_read = without_mean(unit(read(teacher, strings)))
    weights = sif_weights(size, REGRESSION_SIF)
    moved = regress(pieces, strings, strings_read, weights)
    table = without_shared_directions(moved) * sif_weights(size, SIF)[:, None]
    write(table, teacher)


def read(teacher: Model, strings: Iterable[list[int]]) -> Vectors:
    """The model's vector of each string of pieces, every string in a batch of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(
        str(teacher.file("model_int8.onnx")), options, providers=["CPUExecutionProvider"]
    )

    def first_token(string: list[int]) -> Vectors:
        ids = np.array([[CLS, *string, SEP]], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vectors = session.run(["last_hidden_state"], inputs)[0][0, 0]
        return vector

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return np.array(list(pool.map(first_token, strings)), dtype=np.float32)


def unit(vectors: Vectors) -> Vectors:
    """Each row at length 1."""
    lengths: Vectors = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / lengths


def without_mean(vectors: Vectors, start: int = 0) -> Vectors:
    """Each row less the mean of the rows from ``start`` on."""
    mean: Vectors = vectors[start:].mean(axis=0)
    return vectors - mean


def random_strings(size: int) -> list[list[int]]:
    """Strings of 4 to 19 pieces, the frequent ones oftener than the rare, but less so than in language."""
    generator = np.random.default_rng(5)
    frequency = 1 / (np.arange(size - FIRST_WORD) + 50.0) ** 0.6
    frequency /= frequency.sum()
    words = size - FIRST_WORD
    return [
        (FIRST_WORD + generator.choice(words, int(generator.integers(4, 20)), p=frequency)).tolist()
        for _ in range(STRINGS)
    ]


def sif_weights(size: int, a: float) -> Vectors:
    """a / (a + p), p by Zipf's law: BERT's vocabulary stands roughly in the order of frequency."""
    rank = np.maximum(np.arange(size) - 999, 1)
    probability = 1 / (rank + 2.7)
    probability /= probability.sum()
    return (a / (a + probability)).astype(np.float32)


def regress(pieces: Vectors, strings: list[list[int]], wanted: Vectors, weights: Vectors) -> Vectors:
    """The pieces moved, by ridge regression, so that their weighted means come near the wanted vectors."""
    shares = [weights[string] / weights[string].sum() for string in strings]
    means = np.array([share @ pieces[string] for string, share in zip(strings, shares, strict=True)])
    scale = (means * wanted).sum() / (means * means).sum()
    places: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for row, (string, share) in enumerate(zip(strings, shares, strict=True)):
        for piece, part in zip(string, share, strict=True):
            places[piece].append((row, float(part)))
    kernel = np.zeros((len(strings), len(strings)), dtype=np.float32)
    for found in places.values():
        rows, parts = np.array([row for row, _ in found]), np.array([part for _, part in found], np.float32)
        np.add.at(kernel, (rows[:, None], rows[None, :]), np.outer(parts, parts))
    kernel[np.diag_indices_from(kernel)] += RIDGE
    duals = np.linalg.solve(kernel, wanted - scale * means)
    moved = scale * pieces
    for piece, found in places.items():
        for row, part in found:
            moved[piece] += part * duals[row]
    return np.asarray(moved, dtype=np.float32)


def without_shared_directions(vectors: Vectors) -> Vectors:
    """The vectors less their components along the words' first principal directions."""
    directions = np.linalg.svd(vectors[FIRST_WORD::3], full_matrices=False)[2][:SHARED_DIRECTIONS]
    shared: Vectors = (vectors @ directions.T) @ directions
    return vectors - shared


def write(table: Vectors, teacher: Model) -> None:
    """The rows as int8, each with its own scale, and the manifest with their checksums."""
    largest = np.abs(table).max(axis=1)
    scales = (np.where(largest == 0, 1, largest) / 127).astype(np.float32)
    np.save(TARGET / "table.npy", np.rint(table / scales[:, None]).astype(np.int8))
    np.save(TARGET / "scales.npy", scales)
    manifest = {
        "name": "static-s",
        "dimensions": table.shape[1],
        "max_tokens": teacher.max_tokens,
        "query_prefix": "",
        "pooling": "sum of table row x scale over the word pieces, then unit length",
        "license": "Apache-2.0",
        "provenance": {"distilled_from": "Snowflake/snowflake-arctic-embed-s", "by": "distill.py"},
        "sha256": {name: checksum(name) for name in ("scales.npy", "table.npy", "vocab.txt")},
    }
    (TARGET / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def checksum(name: str) -> str:
    """The sha256 of one of the package's files."""
    return hashlib.sha256((TARGET / name).read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
