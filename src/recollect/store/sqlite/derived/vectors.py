"""What is near this vector? A segment of the vectors of one generation, by namespace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import codes, comparing, files, matching, spans
from recollect.store.sqlite.derived.codes import Coded, Floats
from recollect.store.sqlite.derived.comparing import Looked, Nearest
from recollect.store.sqlite.derived.files import Arrays
from recollect.store.sqlite.derived.frames import SAMPLE, Frame

_SHARE = 700
LOOKED_AT = 1_000
"""So many are looked at closely, or one of `_SHARE`."""
_SPARSE = 12
"""Of fewer than one of so many, the bytes of each are read sooner than the signs of every group that has one
of them: a group's signs are as long as four vectors' bytes."""
EXACT = 16
"""So many of the nearest are compared to all digits."""

_AT_ONCE = 50_000
"""So many vectors are moved before their pages are let go: else a large segment would be in memory twice."""
_FAR_APART = 500
"""The same of vectors that stand far apart: around each, the system maps sixteen pages."""

MAPPED = 64 * 1024 * 1024
"""Of a segment that has more bytes of last digits than this, those are read from the file, not mapped."""

WORTH_DIRECTIONS = 200_000
"""Fewer vectors are looked through as soon by the signs of all their dimensions."""
OUTGROWN = 2
"""A frame serves until there are so many times as many vectors."""

Numbers = NDArray[np.int64]


class VectorSegment:
    """Vectors by position, ordered by namespace and memory."""

    def __init__(self, arrays: Arrays, size: int, path: Path | None = None) -> None:
        """From a file of that size, if from any."""
        self.bytes = size
        self._path = path
        self.numbers: Numbers = arrays["numbers"]
        self.memories: Numbers = arrays["memories"]
        self.spaces: Numbers = arrays["spaces"]
        self.starts: Numbers = arrays["starts"]
        self.frame = Frame.of(arrays)
        self._spans = spans.Spans(self.spaces, self.starts, len(self.numbers))
        self.coded = Coded(*(arrays[name] for name in Coded._fields))

    def __len__(self) -> int:
        return len(self.numbers)

    def span(self, namespace: int) -> tuple[int, int]:
        """From where to where the vectors of a namespace stand."""
        return self._spans.of(namespace)

    @cached_property
    def handle(self) -> Any:
        """The arrays as the compiled loops take them."""
        coded = self.coded
        path = self._path if coded.fine.nbytes > MAPPED else None
        return comparing.held(*coded, self.numbers, self.memories, *self.frame, path=path)

    def near(
        self, span: tuple[int, int], vector: Floats, most: int, memories: Numbers | None = None
    ) -> Callable[[], Nearest]:
        """What gives nearly always the nearest vectors of a span, nearest first.

        How near each is, is estimated from its signs; the best of those are looked at. If `memories`
        (ascending) are given, only theirs.
        """
        start, end = span
        looked = Looked(max(LOOKED_AT, 2 * most, (end - start) // _SHARE), most, EXACT)
        if memories is None:
            if end - start > looked.closely:
                return comparing.nearest(self, vector, span, looked)
            return comparing.nearest_at(self, vector, np.arange(start, end), looked)
        among = matching.positions(self.memories, span, memories)
        if len(among) <= max(looked.closely, (end - start) // _SPARSE):
            return comparing.nearest_at(self, vector, among, looked)
        permitted = np.zeros(end - start, np.bool_)
        permitted[among - start] = True
        return comparing.nearest(self, vector, span, looked, permitted)

    def struck_out(self) -> Numbers:
        """The numbers of those that were removed where they stood."""
        found: Numbers = self.numbers[self.coded.scale == 0]
        return found


class Read(NamedTuple):
    """Vectors as they are read from the rows."""

    numbers: Numbers
    memories: Numbers
    spaces: Numbers
    vectors: Floats


def write(path: Path, new: Sequence[Read], old: Sequence[VectorSegment] = ()) -> int:
    """A segment of new vectors and of those in old segments, some at a time; how many they are.

    What was struck out of an old segment is left out, and so is what was replaced by a newer vector.
    """
    living = [np.flatnonzero(segment.coded.scale > 0) for segment in old]
    numbers, memories, spaces = (
        np.concatenate(
            [*(part[i] for part in new), *(_owners(*pair)[i] for pair in zip(old, living, strict=True))]
        )
        for i in range(3)
    )
    order = _in_order(numbers, memories, spaces)
    rank = np.full(len(numbers), -1)
    rank[order] = np.arange(len(order))
    found, starts = np.unique(spaces[order], return_index=True)
    frame = _frame(new, list(zip(old, living, strict=True)), len(order))
    small = {
        "numbers": numbers[order],
        "memories": memories[order],
        "spaces": found,
        "starts": np.append(starts, len(order)).astype(np.int64),
        **frame._asdict(),
    }
    shapes = {name: files.shape_of(array) for name, array in small.items()}
    with files.making(
        path, shapes | codes.shapes(len(order), len(frame.centre), len(frame.directions))
    ) as room:
        for name, array in small.items():
            room[name][...] = array
        ends = np.cumsum([len(part.numbers) for part in new] + [len(kept) for kept in living])
        places = iter(np.split(rank, ends[:-1]))
        for part in new:
            codes.put(room, next(places), part.vectors, frame)
        for segment, kept in zip(old, living, strict=True):
            to = next(places)
            for first in range(0, len(kept), _AT_ONCE):
                some = slice(first, first + _AT_ONCE)
                codes.move(room, to[some], frame, segment.coded, kept[some], segment.frame)
                files.let_go(room["bytes"])
                files.let_go(segment.coded.bytes)
    return len(order)


def _in_order(numbers: Numbers, memories: Numbers, spaces: Numbers) -> NDArray[np.intp]:
    """Where the vectors of each memory stand, by namespace and memory; of several, the newest alone."""
    order = np.lexsort((numbers, memories, spaces))
    newest: NDArray[np.intp] = order[np.diff(memories[order], append=-1) != 0]
    return newest


def _owners(segment: VectorSegment, living: NDArray[np.intp]) -> tuple[Numbers, Numbers, Numbers]:
    spaces = spans.owners(segment.spaces, segment.starts, len(segment))
    return segment.numbers[living], segment.memories[living], spaces[living]


Living = Sequence[tuple[VectorSegment, NDArray[np.intp]]]
"""Old segments, each with the places of those that are not struck out."""


def _frame(new: Sequence[Read], old: Living, count: int) -> Frame:
    """In which so many are seen: that of a large part of them, if it has directions, or their own."""
    is_large = count >= WORTH_DIRECTIONS and codes.COMPILED
    for segment, kept in old:
        if is_large and len(segment.frame.directions) and OUTGROWN * len(kept) >= count:
            return segment.frame
    centre = _centre(new, [(segment.frame.centre, len(kept)) for segment, kept in old])
    return Frame.made(centre, _some(new, old, count)) if is_large else Frame.plain(centre)


def _some(new: Sequence[Read], old: Living, count: int) -> Floats:
    """Some of the vectors, of all parts alike."""
    step = -(-count // SAMPLE)
    found = [part.vectors[::step] for part in new]
    for segment, kept in old:
        for first in range(0, len(kept), step * _FAR_APART):
            some = kept[first : first + step * _FAR_APART : step]
            found.append(codes.decoded(segment.coded, some) + segment.frame.centre)
            files.let_go(segment.coded.bytes)
    return np.concatenate(found)


def _centre(new: Sequence[Read], old: Sequence[tuple[Floats, int]]) -> Floats:
    """The mean of all; an old segment's is about where its own centre is."""
    sums = [part.vectors.sum(axis=0, dtype=np.float64) for part in new] + [mean * size for mean, size in old]
    count = sum(len(part.numbers) for part in new) + sum(size for _, size in old)
    mean: Floats = (np.sum(sums, axis=0) / max(count, 1)).astype(np.float32)
    return mean
