"""Who of a segment has these words, and what is told of them? The inner loops: compiled where there was a
compiler, or by numpy, which finds the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.packed import ROW, Scored, unpacked
from recollect.store.sqlite.derived import bm25, spans
from recollect.store.sqlite.derived.codes import Floats

try:
    from recollect.store.sqlite.derived import _matching

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False
_BUILT = COMPILED
"""Handles are kept, so they are made even while somebody wants to see what numpy finds."""

if TYPE_CHECKING:
    from recollect.store.sqlite.derived.bm25 import Statistics
    from recollect.store.sqlite.derived.words import Occurrences, WordSegment

_SOMETHING = 1e-30
NEARLY = 0.96
"""A long memory's length is first known within two in a hundred: a little below the best must not be lost."""

Positions = NDArray[np.int32]
Place = tuple[int, int]
"""From which term of a segment to which one: one, several that begin alike, or none."""
Wanted = tuple[bytes, bytes | None]
"""A term; with a second one, all from the first to before that."""


def held(*arrays: NDArray[Any]) -> Any:
    """The arrays of a segment of words, to be asked again and again."""
    return _matching.hold(*arrays) if _BUILT else None


def positions(
    numbers: NDArray[np.int64], within: tuple[int, int], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where those of the wanted numbers stand that are in a span; there and in `wanted` they ascend.

    Of thousands among a million, numpy's binary search takes ten times as long.
    """
    if COMPILED:
        found = _matching.positions(numbers, *within, np.ascontiguousarray(wanted, np.int64))
        return np.frombuffer(found, np.int64)
    return spans.positions(numbers, within, wanted)


def find(segment: WordSegment, wanted: Wanted) -> Place:
    """Where a term is."""
    if COMPILED:
        return _matching.find(segment.handle, wanted)
    term, beyond = wanted
    first = _place(segment, term)
    if beyond is not None:
        return first, _place(segment, beyond)
    is_there = first + 1 < len(segment.cuts) and _text(segment, first) == term
    return first, first + is_there


class Leaf(NamedTuple):
    """A segment that is searched, as the compiled loops take it."""

    handle: Any
    spans: list[tuple[int, int]]
    permitted: list[NDArray[np.bool_] | None]
    """Who of each span may answer; None for everyone."""
    masked: Positions
    """Everyone in the segment who no longer holds, asked or not: how rare a word is depends on all."""
    segment: WordSegment


def search(
    leaves: list[Leaf], wanted: list[Wanted], counted: Statistics, most: int, doubled: int = 0
) -> Scored:
    """The best memories that have any of the wanted terms, the last few of which count twice, exactly; best
    first, equal ones by number."""
    average = counted.average
    weights = bm25.weights(average)
    if COMPILED:
        return Scored(_matching.search(leaves, wanted, doubled, counted.memories, average, weights, most))
    counts = rarity(leaves, wanted, counted)
    for at in range(len(counts) - doubled, len(counts)):
        counts[at] *= 2
    scoring = Scoring(counts, weights, average, most)
    found: list[tuple[float, int]] = []
    for leaf in leaves:
        terms = [leaf.segment.occurrences(find(leaf.segment, each)) for each in wanted]
        for span, permitted in zip(leaf.spans, leaf.permitted, strict=True):
            floor = -found[most - 1][0] * NEARLY if len(found) >= most else 0.0
            found = sorted([*found, *_scored(leaf.segment, terms, scoring, span, permitted, floor)])[:most]
    return Scored.of([number for _, number in found], [-score for score, _ in found])


def rarity(leaves: list[Leaf], wanted: list[Wanted], counted: Statistics) -> list[float]:
    """What each of the wanted terms counts."""
    if COMPILED:
        return _matching.rarity(leaves, wanted, counted.memories)
    having = [0] * len(wanted)
    for leaf in leaves:
        for at, each in enumerate(wanted):
            docs = leaf.segment.occurrences(find(leaf.segment, each)).docs
            having[at] += len(docs) - int(np.isin(leaf.masked, docs).sum())
    return [counted.rarity(count) for count in having]


class Scoring(NamedTuple):
    """How the occurrences of terms in a segment are counted."""

    rarity: Sequence[float]
    """What each term counts."""
    weights: Floats
    """What an occurrence counts, by its code: nearly, for long memories."""
    average: float
    most: int


def _scored(
    segment: WordSegment,
    terms: Sequence[Occurrences],
    scoring: Scoring,
    span: tuple[int, int],
    permitted: NDArray[np.bool_] | None,
    floor: float,
) -> list[tuple[float, int]]:
    """The best `permitted` memories of a span, each with its score below zero; nobody below the `floor`."""
    chosen = _best(terms, scoring, span, permitted, floor)
    exact = np.zeros(len(chosen))
    for term, rare in zip(terms, scoring.rarity, strict=True):
        exact += bm25.weight(_looked_up(term, chosen) >> 8, segment.lengths[chosen], scoring.average) * rare
    return list(zip((-exact).tolist(), segment.numbers[chosen].tolist(), strict=True))


def _best(
    terms: Sequence[Occurrences],
    scoring: Scoring,
    span: tuple[int, int],
    permitted: NDArray[np.bool_] | None,
    floor: float,
) -> Positions:
    scores = np.zeros(span[1] - span[0], np.float32)
    for term, rare in zip(terms, scoring.rarity, strict=True):
        inside = term.inside(*span)
        at = np.subtract(inside.docs, span[0], dtype=np.intp)
        scores[at] += scoring.weights[inside.codes] * np.float32(rare)
    if permitted is not None:
        scores[~permitted] = 0
    found = np.flatnonzero(scores >= max(floor, _SOMETHING)).astype(np.int32)
    return found[_highest(scores[found], scoring.most)] + np.int32(span[0])


def _looked_up(term: Occurrences, wanted: Positions) -> NDArray[Any]:
    """The codes of these memories (ascending); 0 where the term does not stand."""
    docs, codes = term
    if not len(docs):
        return np.zeros(len(wanted), codes.dtype)
    at = np.minimum(docs.searchsorted(wanted), len(docs) - 1)
    return np.where(docs[at] == wanted, codes[at], codes.dtype.type(0))


def _highest(scores: Floats, most: int) -> NDArray[np.intp]:
    """Where the highest scores are, with all that are nearly as high as the last of them."""
    if len(scores) <= most:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -most)[-most] * np.float32(NEARLY))


def _place(segment: WordSegment, wanted: bytes) -> int:
    """The first term that is not before this one. Terms that were struck out begin with a zero."""
    low, high = 0, len(segment.cuts) - 1
    while low < high:
        middle = (low + high) // 2
        probe = middle
        while probe >= low and (text := _text(segment, probe))[:1] == b"\0":
            probe -= 1
        if probe < low or text < wanted:
            low = middle + 1
        else:
            high = probe
    return low


def _text(segment: WordSegment, at: int) -> bytes:
    return segment.letters[segment.cuts[at] : segment.cuts[at + 1]].tobytes()


class Within(NamedTuple):
    """Which memories are told of: those of these kinds (a bit each) from one moment to before another."""

    kinds: int
    since: int = -(2**63)
    until: int = 2**63 - 1


class Part(NamedTuple):
    """A segment that tells of memories, as the compiled loops take it."""

    handle: Any
    names: list[str | None]
    stale: bytes
    """The memories that it has otherwise than they are, packed."""
    spans: list[tuple[int, int]]
    """From where to where it is asked."""
    segment: WordSegment


def told(ranking: Scored, parts: list[Part], within: Within, aside: bytes) -> tuple[bytes, list[int]]:
    """Of a ranking those who are wanted, packed, and who has to be read: no segment tells, or `aside`
    (numbers, packed) has it. Of several segments the first that has a memory tells."""
    if COMPILED:
        return _matching.told(ranking.pairs, parts, *within, aside)
    numbers, scores = ranking.numbers(), ranking.scores()
    rows: dict[int, tuple[Any, ...] | None] = {}
    to_be_read = set(unpacked(aside))
    for at, part in enumerate(parts):
        to_be_read |= {number for number in unpacked(part.stale) if number not in rows}
        for span in part.spans:
            wanted = np.array(sorted(set(numbers) - to_be_read - set(rows)), np.int64)
            rows |= _rows_of(part.segment, span, wanted, within, at)
    found = [(number, score) for number, score in zip(numbers, scores, strict=True) if number in rows]
    packed = [ROW.pack(number, score, *row) for number, score in found if (row := rows[number])]
    return b"".join(packed), [number for number in numbers if number not in rows]


def _rows_of(
    segment: WordSegment, span: tuple[int, int], wanted: NDArray[np.int64], within: Within, at: int
) -> dict[int, tuple[Any, ...] | None]:
    """What a segment says of those who are in it: session, created, place, tokens, speaker; None if it is not
    within."""
    docs = segment.within(span, wanted)
    docs = docs[segment.lengths[docs] > 0]
    names = ("sessions", "created", "places", "tokens", "speakers", "kinds")
    columns = [segment.facts.columns[name][docs] for name in names]
    if (columns[-1] > 7).any() or not np.isin(columns[-2], np.arange(len(segment.facts.names))).all():
        raise IndexError("there is no such thing")
    rows = zip(segment.numbers[docs].tolist(), *(column.tolist() for column in columns), strict=True)
    return {
        number: (max(session, 0), created, max(place, -1), tokens, speaker, at)
        if within.kinds >> kind & 1 and within.since <= created < within.until
        else None
        for number, session, created, place, tokens, speaker, kind in rows
    }
