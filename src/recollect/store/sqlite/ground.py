"""What are questions asked of? The segments of some namespaces, made ready once for as long as nothing is
written: those beside the file, and what is newer as segments in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Generation
from recollect.store.sqlite.derived import spans
from recollect.store.sqlite.derived.bm25 import Statistics
from recollect.store.sqlite.derived.matching import Leaf, Part, Positions
from recollect.store.sqlite.derived.newer import Newer
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.vectors import VectorSegment
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.statements import SqliteStatements

Numbers = NDArray[np.int64]
_NOBODY: Numbers = np.empty(0, np.int64)
_NOWHERE: Positions = np.empty(0, np.int32)


class Ground(NamedTuple):
    """Segments, and what is asked of each."""

    opened: Opened
    held: Sequence[tuple[WordSegment, Numbers]]
    """The newest first, each with the memories (ascending) that it has otherwise than they are."""
    upto: int
    """Everyone up to this memory is in what is held."""
    leaves: list[Leaf]
    """The largest first: what is good there says who is not worth looking at in the others."""
    parts: list[Part]
    """The newest first."""
    names: list[list[str | None]]
    """Who speaks, of each of the parts."""
    counted: Statistics
    vectors: Mapping[Generation, Sequence[tuple[VectorSegment, tuple[int, int]]]]
    """Those of the namespaces: segments, and from where to where they stand there."""

    @classmethod
    def of(cls, statements: SqliteStatements, namespaces: Namespaces, opened: Opened, newer: Newer) -> Ground:
        """That of a state of the store; the same as long as nothing is written."""
        key = (cls, *namespaces)
        ground = statements.still(key, lambda: cls._made(statements, namespaces, opened, newer))
        # segments that are found to lie are done without, though nothing was written
        return ground if ground.opened is opened else cls._made(statements, namespaces, opened, newer)

    @classmethod
    def _made(
        cls, statements: SqliteStatements, namespaces: Namespaces, opened: Opened, newer: Newer
    ) -> Ground:
        state, upto, fresh = namespaces.state, opened.words_upto, list[WordSegment]()
        if opened.words:
            fresh, upto = newer.segments(statements, opened, state.memory, state.change)
        held = _held([*opened.words, *fresh])
        numbers = namespaces.numbers
        parts = [
            Part(
                segment.handle,
                segment.facts.names,
                stale.tobytes(),
                [segment.span(number) for number in numbers],
                segment,
            )
            for segment, stale in held
        ]
        leaves = [leaf(segment, numbers, stale) for segment, stale in held]
        leaves.sort(key=lambda each: -len(each.segment))
        names = [part.names for part in parts]
        counted, vectors = statistics(namespaces.statistics), _vectors(namespaces, opened)
        return cls(opened, held, upto, leaves, parts, names, counted, vectors)


def _held(segments: Sequence[WordSegment]) -> list[tuple[WordSegment, Numbers]]:
    """Segments, oldest first: the other way round, each with the memories that newer ones touch."""
    stale, found = _NOBODY, []
    for segment in reversed(segments):
        found.append((segment, stale))
        stale = spans.union(stale, segment.touched) if len(segment.touched) else stale
    return found


def _vectors(
    namespaces: Namespaces, opened: Opened
) -> dict[Generation, list[tuple[VectorSegment, tuple[int, int]]]]:
    found: dict[Generation, list[tuple[VectorSegment, tuple[int, int]]]] = {}
    for space in namespaces.values():
        if space.generation is not None and space.facts.generation is not None:
            segments = opened.of_generation(space.generation)
            placed = found.setdefault(space.facts.generation, [])
            placed += [(segment, segment.span(space.number)) for segment in segments]
    return found


def leaf(segment: WordSegment, namespaces: Sequence[int], stale: Numbers) -> Leaf:
    """What is searched for words of some namespaces; a segment has `stale` ones otherwise than they are."""
    found = [span for namespace in namespaces if (span := segment.span(namespace))[0] < span[1]]
    if not len(stale):
        return Leaf(segment.handle, found, [None] * len(found), _NOWHERE, segment)
    permitted: list[NDArray[np.bool_] | None] = [_others(segment, span, stale) for span in found]
    return Leaf(segment.handle, found, permitted, segment.everywhere(stale), segment)


def _others(segment: WordSegment, span: tuple[int, int], numbers: Numbers) -> NDArray[np.bool_] | None:
    """Everyone in a span but these; None if they are all."""
    positions = segment.within(span, numbers)
    if not len(positions):
        return None
    flags = np.ones(span[1] - span[0], np.bool_)
    flags[positions - span[0]] = False
    return flags


def of_these(leaves: Iterable[Leaf], allowed: Numbers) -> list[Leaf]:
    """The same, where these (ascending) alone may answer."""
    return [each._replace(permitted=_of_these(each, allowed)) for each in leaves]


def _of_these(leaf: Leaf, allowed: Numbers) -> list[NDArray[np.bool_] | None]:
    found: list[NDArray[np.bool_] | None] = []
    for (start, end), permitted in zip(leaf.spans, leaf.permitted, strict=True):
        flags = np.zeros(end - start, np.bool_)
        flags[leaf.segment.within((start, end), allowed) - start] = True
        found.append(flags if permitted is None else flags & permitted)
    return found


@lru_cache(maxsize=16)
def statistics(block: bytes) -> Statistics:
    """Of all memories, as FTS5 notes them: the number of rows, then the terms of each column."""
    memories, *terms = _varints(block)
    return Statistics(memories, sum(terms))


def _varints(block: bytes) -> Iterable[int]:
    """SQLite's numbers of variable length (none here is so large that it takes nine bytes).

    >>> list(_varints(bytes([5, 0x81, 0x00])))
    [5, 128]
    """
    number = 0
    for byte in block:
        number = (number << 7) | (byte & 0x7F)
        if byte < 0x80:
            yield number
            number = 0
