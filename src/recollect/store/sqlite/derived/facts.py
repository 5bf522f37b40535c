"""What is known of memories without reading their rows? What a candidate needs, by position in a segment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.store.packed import LARGEST
from recollect.store.sqlite.derived.files import Arrays
from recollect.types import KINDS

Positions: TypeAlias = NDArray[np.int32]
_KINDS: dict[str, int] = {kind: number for number, kind in enumerate(KINDS)}
COLUMNS = {
    "kinds": np.uint8,
    "created": np.int64,
    "sessions": np.int64,
    "places": np.int32,
    "tokens": np.int32,
    "speakers": np.int32,
}
"""A number for each memory. Sessions and speakers count from 1, and 0 is none; of places -1 is none."""


class Fact(NamedTuple):
    """What is kept of a memory besides its terms."""

    kind: str
    created: int
    session: int | None
    place: int | None
    tokens: int
    speaker: str | None


class Facts:
    """The columns of a segment."""

    def __init__(self, arrays: Arrays) -> None:
        self.columns = {name: arrays[name] for name in COLUMNS}
        self._letters: NDArray[np.uint8] = arrays["names"]
        self._cuts: NDArray[np.int64] = arrays["name_cuts"]

    @cached_property
    def names(self) -> list[str | None]:
        """Who speaks, by number."""
        letters, cuts = self._letters.tobytes(), self._cuts.tolist()
        return [None, *(letters[start:end].decode() for start, end in pairwise(cuts))]


def build(facts: Sequence[Fact]) -> dict[str, NDArray[Any]]:
    """The columns of these memories."""
    numbers: dict[str | None, int] = {None: 0}
    for fact in facts:
        numbers.setdefault(fact.speaker, len(numbers))
    values = (
        (_KINDS[fact.kind] for fact in facts),
        (fact.created for fact in facts),
        (fact.session or 0 for fact in facts),
        (-1 if fact.place is None else min(fact.place, LARGEST) for fact in facts),
        (min(fact.tokens, LARGEST) for fact in facts),
        (numbers[fact.speaker] for fact in facts),
    )
    columns = {
        name: np.fromiter(each, kind, len(facts))
        for (name, kind), each in zip(COLUMNS.items(), values, strict=True)
    }
    return columns | _named([name for name in numbers if name is not None])


def merge(
    parts: Sequence[tuple[Facts, NDArray[np.bool_]]], order: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """The columns of those who are kept of several segments, put in an order."""
    numbers: dict[str | None, int] = {None: 0}
    kept = [{name: column[keep] for name, column in facts.columns.items()} for facts, keep in parts]
    for (facts, _), columns in zip(parts, kept, strict=True):
        to = np.zeros(len(facts.names), np.int32)
        for number in np.unique(columns["speakers"]).tolist():
            to[number] = numbers.setdefault(facts.names[number], len(numbers))
        columns["speakers"] = to[columns["speakers"]]
    merged = {name: np.concatenate([columns[name] for columns in kept])[order] for name in COLUMNS}
    return merged | _named([name for name in numbers if name is not None])


def _named(names: Iterable[str]) -> dict[str, NDArray[Any]]:
    encoded = [name.encode() for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {
        "names": np.frombuffer(b"".join(encoded), np.uint8),
        "name_cuts": np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
    }


def strike_out(arrays: Arrays, positions: Positions) -> None:
    """Leave nothing of the memories at these positions, nor the names of who says nothing else."""
    for name in COLUMNS:
        arrays[name][positions] = 0
    cuts = arrays["name_cuts"]
    living = np.zeros(len(cuts), np.bool_)
    living[arrays["speakers"]] = True
    for number in np.flatnonzero(~living[1:]).tolist():
        arrays["names"][cuts[number] : cuts[number + 1]] = 0
