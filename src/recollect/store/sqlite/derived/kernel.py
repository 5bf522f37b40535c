"""The inner loops over a segment's arrays: compiled where there was a compiler, else by numpy.

Both find the same, but for vectors: numpy estimates those alone that a guess puts ahead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.packed import ROW, Scored
from recollect.store.sqlite.derived import bm25, files, spans
from recollect.store.sqlite.derived.codes import Asked, AskedByRows, Coded, Floats, decoded, products

try:
    from recollect.store.sqlite.derived import _matching, _nearest

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False
_BUILT = COMPILED
"""Handles are kept, so they are made even while somebody wants to see what numpy finds."""

if TYPE_CHECKING:
    from recollect.store.sqlite.derived.bm25 import Statistics
    from recollect.store.sqlite.derived.vectors import VectorSegment
    from recollect.store.sqlite.derived.words import Occurrences, WordSegment

_SAMPLE = 8_192
_SOMETHING = 1e-30
_MANY = 100_000
_ESTIMATED = 3
"""By numpy, so many times as many are estimated as are wanted."""
_COMPARED = 256
"""So many are compared with their estimates, whoever they are."""
_WIDEST = 8
"""No more than one of so many is looked at closely, however little estimates say."""
WORTH_HELP, WORTH_HELP_AT = 32_768, 2_048
"""Among fewer vectors, or fewer that are each looked at closely, waking another thread takes as long as it
saves."""
NEARLY = 0.96
"""A long memory's length is first known within two in a hundred: a little below the best must not be lost."""

Positions = NDArray[np.int32]


PAIRS = np.dtype([("memory", np.int64), ("score", np.float64)])
"""As `Scored` has them."""


def scored(memories: NDArray[np.int64], scores: Floats) -> Scored:
    """What memories score, packed."""
    pairs = np.empty(len(memories), PAIRS)
    pairs["memory"], pairs["score"] = memories, scores
    return Scored(pairs.tobytes())


def among(memories: NDArray[np.int64], scores: Floats, numbers: bytes, apart: int) -> Scored:
    """Those of memories who are wanted, with their scores. The wanted numbers stand so many bytes apart."""
    if COMPILED:
        return Scored(_nearest.among(memories, np.ascontiguousarray(scores, np.float32), numbers, apart))
    inside = np.isin(memories, np.frombuffer(numbers, np.int64)[:: apart // 8])
    return scored(memories[inside], scores[inside])


def latest(parts: Sequence[Scored]) -> Scored:
    """Everyone of several parts; who is in more than one, as the last of them says."""
    together = Scored(b"".join([part.pairs for part in reversed(parts)]))
    numbers = together.numbers()
    if len(set(numbers)) == len(numbers):
        return together
    pairs = np.frombuffer(together.pairs, PAIRS)
    return Scored(pairs[np.unique(pairs["memory"], return_index=True)[1]].tobytes())


class Nearest(NamedTuple):
    """What is near, nearest first."""

    vectors: bytes
    """Their numbers, in eight bytes each."""
    memories: Scored
    """Those that they belong to, and how near each is."""

    @classmethod
    def of(cls, vectors: NDArray[np.int64], memories: NDArray[np.int64], scores: Floats) -> Nearest:
        """These."""
        return cls(vectors.tobytes(), scored(memories, scores))

    def columns(self) -> tuple[list[int], list[int], list[float]]:
        """Vectors, memories and scores."""
        return memoryview(self.vectors).cast("q").tolist(), self.memories.numbers(), self.memories.scores()


def best(parts: Sequence[Nearest], most: int) -> Nearest:
    """The nearest of all parts, the largest of which comes first; equal ones by number."""
    vectors, pairs = (
        b"".join([part.vectors for part in parts]),
        b"".join([part.memories.pairs for part in parts]),
    )
    if COMPILED:
        vectors, pairs = _nearest.best(vectors, pairs, most)
        return Nearest(vectors, Scored(pairs))
    numbers, scores = np.frombuffer(vectors, np.int64), np.frombuffer(pairs, PAIRS)
    order = np.lexsort((numbers, -scores["score"]))[:most]
    return Nearest(numbers[order].tobytes(), Scored(scores[order].tobytes()))


class Looked(NamedTuple):
    """How closely vectors are looked at: so many of the best by their signs, to find so many, of which the
    first few to all digits."""

    closely: int
    most: int
    exact: int


def held_vectors(*arrays: NDArray[Any], path: Path | None = None) -> Any:
    """The arrays of a segment of vectors, to be asked again and again.

    With a path, the few rows that are looked at to all digits are read from that file: around each that is
    looked at where it is mapped, the system would map sixteen pages, and in the end most of the array.
    """
    if not _BUILT:
        return None
    try:
        place = files.place_of(path, "fine") if path else -1
        file = os.open(path, os.O_RDONLY) if path else -1
    except (OSError, files.Unreadable):  # it was removed meanwhile: what is mapped stays
        return _nearest.hold(-1, -1, *arrays)
    try:
        return _nearest.hold(file, place, *arrays)
    finally:
        if file >= 0:
            os.close(file)


def nearest(
    segment: VectorSegment,
    vector: Floats,
    span: tuple[int, int],
    looked: Looked,
    permitted: NDArray[np.bool_] | None = None,
) -> Callable[[], Nearest]:
    """What gives the nearest `permitted` ones of a span. Among many, another thread begins meanwhile."""
    if COMPILED:
        flags = b"" if permitted is None else permitted
        return partial(_finished, _nearest.begin(segment.handle, vector, flags, *span, *looked, WORTH_HELP))
    return partial(_nearest_by_numpy, segment, vector, span, looked, permitted)


def _finished(begun: Any) -> Nearest:
    vectors, pairs = _nearest.finish(begun)
    return Nearest(vectors, Scored(pairs))


def _nearest_by_numpy(
    segment: VectorSegment,
    vector: Floats,
    span: tuple[int, int],
    looked: Looked,
    permitted: NDArray[np.bool_] | None,
) -> Nearest:
    coded, (start, end) = segment.coded, span
    left = np.asarray(vector - segment.frame.centre, np.float32)
    asked = AskedByRows(left) if len(coded.rows) else Asked(left)
    are_alive = coded.scale[start:end] > 0
    everyone = np.flatnonzero(are_alive if permitted is None else are_alive & permitted) + start
    among = everyone
    if permitted is None and are_alive.all():
        estimated = max(_ESTIMATED * looked.closely, _share(end - start))
        among = _better(asked.guesses(coded, start, end), estimated) + start
    estimates = asked.estimates(coded, among)
    chosen = _better(estimates, looked.closely)
    among = among[chosen]
    if 0 < looked.exact <= len(among) < len(everyone):
        nearest = np.partition(_by_bytes(coded, among, vector), -looked.exact)[-looked.exact]
        least = _least_estimate(asked, coded, vector, everyone, float(nearest))
        if least < estimates[chosen].min():
            estimates = asked.estimates(coded, everyone)
            further = min(int((estimates >= least).sum()), len(everyone) // _WIDEST)
            among = spans.union(among, everyone[_better(estimates, further)])
    return _nearest_at_by_numpy(segment, vector, among, looked)


def _least_estimate(
    asked: Asked | AskedByRows, coded: Coded, vector: Floats, everyone: NDArray[np.intp], near: float
) -> float:
    """What is seldom more than the estimate of one that is so near: see `tendency_of` in _nearest.c."""
    some = everyone[:: max(1, len(everyone) // _COMPARED)]
    estimates, scores = asked.estimates(coded, some), _by_bytes(coded, some, vector)
    varies = max(float(scores.var()), _SOMETHING)
    slope = float(((estimates - estimates.mean()) * (scores - scores.mean())).mean()) / varies
    far = 2 * float((estimates - slope * scores).std())
    return float(estimates.mean()) + slope * (near - float(scores.mean())) - far


def _by_bytes(coded: Coded, places: NDArray[np.intp], vector: Floats) -> Floats:
    """How near those at some places are, to three digits, beside the centre's part."""
    return products(coded.bytes[places].astype(np.float32), vector) * coded.scale[places]


def nearest_at(
    segment: VectorSegment, vector: Floats, places: NDArray[np.intp], looked: Looked
) -> Callable[[], Nearest]:
    """What gives the nearest of those at some places, each of which is looked at closely. Of many, another
    thread begins meanwhile."""
    if COMPILED:
        _, most, exact = looked
        return partial(
            _finished, _nearest.begin_at(segment.handle, vector, places, most, exact, WORTH_HELP_AT)
        )
    return partial(_nearest_at_by_numpy, segment, vector, places, looked)


def _nearest_at_by_numpy(
    segment: VectorSegment, vector: Floats, places: NDArray[np.intp], looked: Looked
) -> Nearest:
    _, most, exact = looked
    coded = segment.coded
    among = places[coded.scale[places] > 0]
    found = _by_bytes(coded, among, vector)
    order = np.lexsort((among, -found))[: max(most, exact)]
    chosen, scores = among[order], found[order]
    scores[:exact] = products(decoded(coded, chosen[:exact]), vector)
    scores += segment.frame.centre @ vector
    order = np.lexsort((chosen, -scores))[:most]
    chosen = chosen[order]
    return Nearest.of(segment.numbers[chosen], segment.memories[chosen], scores[order])


def similar(
    segment: VectorSegment, vector: Floats, numbers: bytes, apart: int, span: tuple[int, int]
) -> Scored:
    """How near the vectors of memories are that stand in a span, to three digits; ascending by memory.

    Their `numbers` (eight bytes each) stand so many bytes `apart`.
    """
    if COMPILED:
        return Scored(_nearest.similar(segment.handle, vector, numbers, apart, *span))
    coded = segment.coded
    wanted = np.sort(np.frombuffer(numbers, np.int64)[:: apart // 8])
    places = spans.positions(segment.memories, span, wanted)
    places = places[coded.scale[places] > 0]
    scores = _by_bytes(coded, places, vector) + segment.frame.centre @ vector
    return scored(segment.memories[places], scores)


def _share(count: int) -> int:
    """How many of so many are worth an estimate: of a million, fewer of a hundred than of ten thousand."""
    return min(count, _MANY) // 20 + max(count - _MANY, 0) // 50


def _better(scores: Floats, count: int) -> NDArray[np.intp]:
    """About so many of the highest, judged by a sample of many."""
    step = max(1, len(scores) // _SAMPLE)
    sample = scores[::step]
    wanted = min(max(count // step, 1), len(sample))
    return np.flatnonzero(scores >= np.partition(sample, -wanted)[-wanted])


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
    stale: frozenset[int]
    """The memories that it has otherwise than they are."""
    spans: list[tuple[int, int]]
    """From where to where it is asked."""
    segment: WordSegment


def told(
    ranking: Scored, parts: list[Part], within: Within, aside: frozenset[int]
) -> tuple[bytes, list[int]]:
    """Of a ranking those who are wanted, packed, and who has to be read: no segment tells, or `aside` has it.
    Of several segments the first that has a memory tells."""
    if COMPILED:
        return _matching.told(ranking.pairs, parts, *within, aside)
    numbers, scores = ranking.numbers(), ranking.scores()
    rows: dict[int, tuple[Any, ...] | None] = {}
    to_be_read = set(aside)
    for at, part in enumerate(parts):
        to_be_read |= {number for number in part.stale if number not in rows}
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
