"""How many of the ten nearest vectors a segment finds, and how soon, whatever the vectors are like.

    python benchmarks/nearest.py [--vectors 20000 --vectors 100000] [--dimensions 384] [--questions 100]

Prints a Markdown table: the share of the ten nearest by exact search that is among the first ten, and the
median time of a search for the 125 nearest in milliseconds, for the segment alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import files, vectors
from recollect.store.sqlite.derived.vectors import Read, VectorSegment

Floats = NDArray[np.float32]
Chance = np.random.Generator
_MOST = 125
_ABOUT_ONE_THING = 50


def unit(rows: Any) -> Floats:
    """At unit length."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def any_directions(chance: Chance, count: int, dimensions: int) -> Floats:
    """Nobody is near to anybody: the hardest of all."""
    return unit(chance.standard_normal((count, dimensions), np.float32))


def groups(chance: Chance, count: int, dimensions: int) -> Floats:
    """Some fifty are about each thing."""
    things = any_directions(np.random.default_rng(7), count // _ABOUT_ONE_THING + 1, dimensions)
    size = np.float32(0.5 / np.sqrt(dimensions))
    noise = chance.standard_normal((count, dimensions), np.float32) * size
    return unit(things[chance.integers(0, len(things), count)] + noise)


def few_directions(chance: Chance, count: int, dimensions: int) -> Floats:
    """Most of what differs lies in a few directions that have nothing to do with the dimensions."""
    turned = np.linalg.qr(np.random.default_rng(7).standard_normal((dimensions, dimensions)))[0]
    return unit(few_dimensions(chance, count, dimensions) @ turned.astype(np.float32) + np.float32(0.05))


def few_dimensions(chance: Chance, count: int, dimensions: int) -> Floats:
    """Dimensions are sorted by how much they tell, as after a principal component analysis."""
    falling = np.exp(-6 * np.arange(dimensions) / dimensions).astype(np.float32)
    return unit(chance.standard_normal((count, dimensions), np.float32) * falling)


KINDS: dict[str, Callable[[Chance, int, int], Floats]] = {
    "some fifty about each thing": groups,
    "a few directions tell most": few_directions,
    "the first dimensions tell most": few_dimensions,
    "no direction tells anything": any_directions,
}


def found(matrix: Floats, questions: Floats) -> tuple[float, float]:
    """The share of the ten nearest that is found, and the milliseconds it takes."""
    numbers = np.arange(1, len(matrix) + 1)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.segment"
        vectors.write(path, [Read(numbers, numbers, np.ones_like(numbers), matrix)])
        segment = VectorSegment(*files.read(path), path)
        shares, times = [], []
        for question in questions:
            start = perf_counter()
            nearest = segment.near(segment.span(1), question, _MOST)()
            times.append(perf_counter() - start)
            exact = matrix @ question
            tenth = np.partition(exact, -10)[-10] - 1e-6
            shares.append(float(np.mean(exact[np.array(nearest.memories.numbers()[:10]) - 1] >= tenth)))
    return float(np.mean(shares)), 1000 * float(np.median(times))


def main() -> None:
    """Every kind, with so many vectors each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vectors", type=int, action="append")
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    sizes = given.vectors or [20_000, 100_000]
    print(f"| ten nearest found; ms | {' | '.join(f'{size:,}' for size in sizes)} |")
    print("|---" * (len(sizes) + 1) + "|")
    for name, kind in KINDS.items():
        cells = []
        for size in sizes:
            chance = np.random.default_rng(1)
            matrix = kind(chance, size + given.questions, given.dimensions)
            share, took = found(matrix[:size], matrix[size:])
            cells.append(f"{share:.3f}; {took:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
