"""The inner loops over a segment's arrays: compiled where there was a compiler, else by numpy.

Both find the same, but for vectors: numpy estimates those alone that a guess puts ahead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import bm25
from recollect.store.sqlite.derived.codes import Asked, Coded, Floats

try:
    from recollect.store.sqlite.derived import _matching, _nearest

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False

_SAMPLE = 8_192
_SOMETHING = 1e-30
_MANY = 100_000
_ESTIMATED = 3
"""By numpy, so many times as many are estimated as are wanted."""
_ALL = np.empty(0, np.bool_)
NEARLY = 0.96
"""A long memory's length is first known within two in a hundred: a little below the best must not be lost."""

Places = NDArray[np.int64]
Positions = NDArray[np.int32]
Codes = NDArray[np.uint16]


class Looked(NamedTuple):
    """How closely vectors are looked at: so many of the best by their signs, to find so many."""

    closely: int
    most: int


def nearest(
    coded: Coded,
    left: Floats,
    vector: Floats,
    span: tuple[int, int],
    looked: Looked,
    permitted: NDArray[np.bool_] | None = None,
) -> tuple[Places, Floats]:
    """Where the nearest `permitted` ones of a span are, and their products with a vector; in no order.

    `left` is what is left of the vector beyond the centre.
    """
    start, end = span
    if COMPILED:
        exact = coded.bytes, coded.scale, np.ascontiguousarray(vector, np.float32)
        flags = _ALL if permitted is None else permitted
        places, scores = _nearest.nearest(
            coded.signs, left, coded.trust, coded.offset, *exact, flags, start, end, *looked
        )
        return np.frombuffer(places, np.int64), np.frombuffer(scores, np.float32)
    asked = Asked(left)
    if permitted is not None:
        among = np.flatnonzero(permitted) + start
    else:
        estimated = max(_ESTIMATED * looked.closely, _share(end - start))
        among = _better(asked.guesses(coded, start, end), estimated) + start
    among = among[_better(asked.estimates(coded, among), looked.closely)]
    found = products(coded.bytes, coded.scale, among, vector)
    best = np.argpartition(-found, min(looked.most, len(found)) - 1)[: looked.most]
    return among[best], found[best]


def _share(count: int) -> int:
    """How many of so many are worth an estimate: of a million, fewer of a hundred than of ten thousand."""
    return min(count, _MANY) // 20 + max(count - _MANY, 0) // 50


def _better(scores: Floats, count: int) -> NDArray[np.intp]:
    """About so many of the highest, judged by a sample of many."""
    step = max(1, len(scores) // _SAMPLE)
    sample = scores[::step]
    wanted = min(max(count // step, 1), len(sample))
    return np.flatnonzero(scores >= np.partition(sample, -wanted)[-wanted])


def products(rows: NDArray[np.int8], scale: Floats, places: Places, vector: Floats) -> Floats:
    """The product of a vector with the rows at these places, each times its scale."""
    if not COMPILED:
        floats = rows[places].astype(np.float32)
        return np.asarray(np.einsum("ij,j->i", floats, vector) * scale[places], np.float32)
    return np.frombuffer(
        _nearest.products(
            rows, scale, np.asarray(places, np.int64), np.ascontiguousarray(vector, np.float32)
        ),
        np.float32,
    )


class Term(NamedTuple):
    """A term of a question in a segment: who has it, ascending, with a code for each."""

    docs: Positions
    codes: Codes
    rarity: float


class Scoring(NamedTuple):
    """How the occurrences in a segment are counted."""

    weights: Floats
    """By their codes: nearly, for long memories."""
    lengths: Positions
    average: float
    most: int
    """So many of the best are wanted; of those that are nearly as good, some more come."""


def best(
    terms: list[Term],
    span: tuple[int, int],
    scoring: Scoring,
    permitted: NDArray[np.bool_] | None,
    floor: float,
) -> tuple[Positions, NDArray[np.float64]]:
    """Where the best memories of a span stand, ascending, and their scores exactly; `permitted` ones alone.

    Nobody below the `floor` is wanted.
    """
    weights, lengths, average, most = scoring
    if COMPILED:
        flags = _ALL if permitted is None else permitted
        places, exact = _matching.best(terms, weights, lengths, flags, *span, most, average, floor)
        return np.frombuffer(places, np.int32), np.frombuffer(exact, np.float64)
    chosen = _best(terms, span, scoring, permitted, floor)
    often = np.stack([_looked_up(term, chosen) for term in terms]) >> 8
    counted = bm25.weight(often, lengths[chosen], average)
    return chosen, np.asarray((counted * np.array([[term.rarity] for term in terms])).sum(axis=0))


def _best(
    terms: list[Term],
    span: tuple[int, int],
    scoring: Scoring,
    permitted: NDArray[np.bool_] | None,
    floor: float,
) -> Positions:
    scores = np.zeros(span[1] - span[0], np.float32)
    for term in terms:
        first, last = np.searchsorted(term.docs, np.array(span, np.int32))
        at = np.subtract(term.docs[first:last], span[0], dtype=np.intp)
        scores[at] += scoring.weights[term.codes[first:last]] * np.float32(term.rarity)
    if permitted is not None:
        scores[~permitted] = 0
    found = np.flatnonzero(scores >= max(floor, _SOMETHING)).astype(np.int32)
    return found[_highest(scores[found], scoring.most)] + np.int32(span[0])


def _looked_up(term: Term, wanted: Positions) -> NDArray[Any]:
    """The codes of these memories (ascending); 0 where the term does not stand."""
    docs, codes = term.docs, term.codes
    if not len(docs):
        return np.zeros(len(wanted), codes.dtype)
    at = np.minimum(docs.searchsorted(wanted), len(docs) - 1)
    return np.where(docs[at] == wanted, codes[at], codes.dtype.type(0))


def _highest(scores: Floats, most: int) -> NDArray[np.intp]:
    """Where the highest scores are, with all that are nearly as high as the last of them."""
    if len(scores) <= most:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -most)[-most] * np.float32(NEARLY))


def place(letters: NDArray[np.uint8], cuts: NDArray[np.int64], wanted: bytes) -> int:
    """The first term that is not before this one. Terms that were struck out begin with a zero."""
    if COMPILED:
        return _matching.place(letters, cuts, wanted)
    low, high = 0, len(cuts) - 1
    while low < high:
        middle = (low + high) // 2
        probe = middle
        while probe >= low and (text := letters[cuts[probe] : cuts[probe + 1]].tobytes())[:1] == b"\0":
            probe -= 1
        if probe < low or text < wanted:
            low = middle + 1
        else:
            high = probe
    return low
