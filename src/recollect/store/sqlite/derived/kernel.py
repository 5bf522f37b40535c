"""The inner loops over a segment's arrays: compiled where there was a compiler, else by numpy.

Both find the same, but for vectors: numpy estimates those alone that a guess puts ahead.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived.codes import Asked, Coded, Floats

try:
    from recollect.store.sqlite.derived import _kernel

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False

_SAMPLE = 8_192
_MANY = 100_000
_ESTIMATED = 3
"""By numpy, so many times as many are estimated as are wanted."""
_SOMETHING = 1e-30
_ALL = np.empty(0, np.bool_)

Places = NDArray[np.int64]
Positions = NDArray[np.int32]
Codes = NDArray[np.uint16]


def nearest(
    coded: Coded, left: Floats, span: tuple[int, int], most: int, among: Places | None = None
) -> Places:
    """Where those of a span are, or of those `among` it, that are nearest by their signs; in no order.

    `left` is what is left of a question's vector beyond the centre.
    """
    start, end = span
    if COMPILED and among is None:
        found = _kernel.nearest(coded.bits, left, coded.trust, coded.offset, start, end, most)
        return np.frombuffer(found, np.int64)
    asked = Asked.of(left)
    if among is None:
        guesses = asked.guesses(coded.bits[:, start:end], coded.length[start:end], coded.offset[start:end])
        among = _better(guesses, max(_ESTIMATED * most, _share(end - start))) + start
    return among[_better(_estimates(coded, asked, among), most)]


def _estimates(coded: Coded, asked: Asked, places: Places) -> Floats:
    bits = np.stack([row.take(places) for row in coded.bits])
    return asked.estimates(bits, coded.trust[places], coded.offset[places])


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
        _kernel.products(rows, scale, np.asarray(places, np.int64), np.ascontiguousarray(vector, np.float32)),
        np.float32,
    )


class _Room(threading.local):
    """Room for the scores of a thread: to ask the system for it anew would take longer than to fill it."""

    scores: Floats = np.empty(0, np.float32)


_room = _Room()


def zeros(size: int) -> Floats:
    """So many scores, all 0; the same ones each time, so a thread must be done with the last."""
    if len(_room.scores) < size:
        _room.scores = np.empty(size, np.float32)
    scores = _room.scores[:size]
    scores.fill(0)
    return scores


def add(
    scores: Floats,
    start: int,
    docs: Positions,
    codes: Codes,
    weights: Floats,
    rarity: float,
    permitted: NDArray[np.bool_] | None,
    most: int,
) -> float:
    """Add what a term counts to the scores of a span that begins at `start`.

    Returns what the last of the `most` best has of those that have the term; 0 if there are not so many.
    """
    if COMPILED:
        flags = _ALL if permitted is None else permitted
        return _kernel.add(scores, docs, codes, weights, flags, rarity, start, most)
    at = np.subtract(docs, start, dtype=np.intp)
    if permitted is not None:
        inside = permitted[at]
        at, codes = at[inside], codes[inside]
    scores[at] += weights[codes] * np.float32(rarity)
    return float(np.partition(scores[at], -most)[-most]) if len(at) >= most else 0.0


def promising(scores: Floats, least: float) -> Positions:
    """Where there are at least so much, and something at all; ascending."""
    least = max(least, _SOMETHING)
    if not COMPILED:
        return np.flatnonzero(scores >= np.float32(least)).astype(np.int32)
    return np.frombuffer(_kernel.promising(scores, least), np.int32)


def looked_up(docs: Positions, codes: Codes, wanted: Positions) -> NDArray[Any]:
    """What a term has in each of these memories (ascending); 0 where it does not stand."""
    if COMPILED:
        return np.frombuffer(_kernel.looked_up(docs, codes, wanted), np.uint16)
    if not len(docs):
        return np.zeros(len(wanted), codes.dtype)
    at = np.minimum(docs.searchsorted(wanted), len(docs) - 1)
    return np.where(docs[at] == wanted, codes[at], codes.dtype.type(0))
