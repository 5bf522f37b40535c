"""Which vectors of a segment are nearest? The inner loops: compiled where there was a compiler, or by numpy.

Both find nearly the same: at first numpy estimates those alone that a guess puts ahead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.packed import Scored
from recollect.store.sqlite.derived import files, spans
from recollect.store.sqlite.derived.codes import Asked, AskedByRows, Coded, Floats, decoded, products

try:
    from recollect.store.sqlite.derived import _nearest

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False
_BUILT = COMPILED
"""Handles are kept, so they are made even while somebody wants to see what numpy finds."""

if TYPE_CHECKING:
    from recollect.store.sqlite.derived.vectors import VectorSegment

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


def held(*arrays: NDArray[Any], path: Path | None = None) -> Any:
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
    if not len(everyone):
        return _nearest_at_by_numpy(segment, vector, everyone, looked)
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
            some = np.array_split(everyone, -(-len(everyone) // _SAMPLE))
            estimates = np.concatenate([asked.estimates(coded, each) for each in some])
            further = min(int((estimates >= least).sum()), (end - start) // _WIDEST)
            among = spans.union(among, everyone[_better(estimates, further)])
    return _nearest_at_by_numpy(segment, vector, among, looked)


def _least_estimate(
    asked: Asked | AskedByRows, coded: Coded, vector: Floats, everyone: NDArray[np.intp], near: float
) -> float:
    """What is seldom more than the estimate of one that is so near: see `Tendency` in tendency.h."""
    some = everyone[:: max(1, len(everyone) // _COMPARED)]
    estimates, scores = asked.estimates(coded, some), _by_bytes(coded, some, vector)
    varies = max(float(scores.var()), _SOMETHING)
    slope = float(((estimates - estimates.mean()) * (scores - scores.mean())).mean()) / varies
    far = 2 * float((estimates - slope * scores).std())
    return float(estimates.mean()) + slope * (near - float(scores.mean())) - far


def _by_bytes(coded: Coded, places: NDArray[np.intp], vector: Floats) -> Floats:
    """How near those at some places are, to three digits, beside the centre's part."""
    some = np.array_split(places, max(1, -(-len(places) // _SAMPLE)))
    found = [products(coded.bytes[each].astype(np.float32), vector) * coded.scale[each] for each in some]
    return found[0] if len(found) == 1 else np.concatenate(found)


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
    """How near the vectors of memories are that stand in a span, to three digits; in the order of `numbers`.

    Their `numbers` (eight bytes each) stand so many bytes `apart`.
    """
    if COMPILED:
        return Scored(_nearest.similar(segment.handle, vector, numbers, apart, *span))
    coded = segment.coded
    wanted = np.frombuffer(numbers, np.int64)[:: apart // 8]
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
