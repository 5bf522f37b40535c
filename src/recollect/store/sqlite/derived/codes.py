"""Vectors in few bytes: a bit and a byte for each dimension, so that most need not be looked at closely.

A vector is taken apart into the centre of its segment and what is left. Of what is left, the signs are kept
as bits; how far they may be trusted is known from two numbers for each vector. The bytes give its cosine to
three digits or more. Where directions are known in which most of what is left lies (frames.py), its signs
along those are looked at first, and those of its dimensions only if it may be near.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived.files import Arrays, Shape
from recollect.store.sqlite.derived.frames import Frame

try:
    from recollect.store.sqlite.derived import _coding

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False

Floats = NDArray[np.float32]
Signs = NDArray[np.uint8]

TOGETHER = 32
"""So many vectors' signs stand together: a processor looks at eight dimensions of all of them at once."""
FINER = 254
STEPS = 31
"""What four dimensions of a question come to is known in so many steps."""
_MANY = 2_000
_AT_ONCE = 64
"""So many vectors that numpy codes in one step stay in the processor's cache."""
_BLOCK = 128
"""So many groups at once stay in the processor's cache."""
_SOME = 2_000
_LINE, _WORD = 64, 8


class Coded(NamedTuple):
    """Vectors, one a row or an element, but for their signs."""

    signs: Signs
    """A bit for each dimension, by group, byte and place in the group. With directions: a bit for each of
    those, then a byte each for what would be trust and offset."""
    trust: Floats
    """By what the product of the signs with something is to be multiplied to estimate the left-over's."""
    offset: Floats
    """The product of the left-over with the centre."""
    bytes: NDArray[np.int8]
    scale: Floats
    fine: NDArray[np.int8]
    """What the bytes leave, in 254ths of a step: the nearest few are compared by it, too."""
    rows: NDArray[np.uint8]
    """With directions: the signs of all dimensions, up to a whole word, then trust, offset and scale. What is
    to be known of one that may be near stands together."""


def shapes(count: int, dimensions: int, directions: int = 0) -> dict[str, Shape]:
    """What so many vectors need, by the names of `Coded`."""
    signs = directions // 8 + 2 if directions else -(-dimensions // 8)
    return {
        "signs": Shape(np.uint8, (-(-count // TOGETHER), signs, TOGETHER)),
        "bytes": Shape(np.int8, (count, dimensions)),
        "fine": Shape(np.int8, (count, dimensions)),
        "scale": Shape(np.float32, (count,)),
        "rows": Shape(np.uint8, (count if directions else 0, _row_size(dimensions))),
        **{name: Shape(np.float32, (0 if directions else count,)) for name in ("trust", "offset")},
    }


def _numbers_at(dimensions: int) -> int:
    """Where in a row the three numbers begin."""
    return -(-dimensions // (8 * _WORD)) * _WORD


def _row_size(dimensions: int) -> int:
    return -(-(_numbers_at(dimensions) + 3 * 4) // _LINE) * _LINE


def put(room: Arrays, places: NDArray[np.intp], vectors: Floats, frame: Frame) -> None:
    """Code these vectors, seen in a frame, into the arrays of `shapes`; not one whose place is -1."""
    at_once = _SOME if len(frame.directions) else len(places) if COMPILED else _AT_ONCE
    for first in range(0, len(places), max(at_once, 1)):
        some, where = vectors[first : first + at_once], places[first : first + at_once]
        if COMPILED:
            seen = frame.along(some) if len(frame.directions) else None
            _coding.put(_columns(room), where, np.ascontiguousarray(some), frame.centre, seen, frame.ranges)
        else:
            _put_some(room, where, some, frame.centre)


def move(
    room: Arrays,
    places: NDArray[np.intp],
    frame: Frame,
    coded: Coded,
    kept: NDArray[np.intp],
    seen_in: Frame,
) -> None:
    """The same with vectors that are coded already, seen in another frame: those that stand at `kept`."""
    if frame.is_same(seen_in):
        _copy(room, places, coded, kept)
    elif COMPILED and not len(frame.directions):
        _coding.move(_columns(room), places, frame.centre, tuple(coded), kept, seen_in.centre)
    else:
        for first in range(0, len(places), _SOME):
            vectors = decoded(coded, kept[first : first + _SOME]) + seen_in.centre
            put(room, places[first : first + _SOME], vectors, frame)


def _copy(room: Arrays, places: NDArray[np.intp], coded: Coded, kept: NDArray[np.intp]) -> None:
    """As they are coded."""
    kept, places = kept[places >= 0], places[places >= 0]
    for first in range(0, len(places), _SOME):
        old, new = kept[first : first + _SOME], places[first : first + _SOME]
        room["signs"][new // TOGETHER, :, new % TOGETHER] = coded.signs[old // TOGETHER, :, old % TOGETHER]
        for name in Coded._fields[1:]:
            if len(room[name]):
                room[name][new] = getattr(coded, name)[old]


def _columns(room: Arrays) -> tuple[NDArray[Any], ...]:
    return tuple(room[name] for name in Coded._fields)


def _put_some(room: Arrays, places: NDArray[np.intp], vectors: Floats, centre: Floats) -> None:
    left = (vectors - centre)[places >= 0]
    places = places[places >= 0]
    along = np.abs(left).sum(axis=1)
    scale = np.maximum(np.abs(left).max(axis=1), 1e-12) / 127
    room["signs"][places // TOGETHER, :, places % TOGETHER] = np.packbits(left > 0, axis=1)
    room["trust"][places] = np.einsum("ij,ij->i", left, left) / np.maximum(along, 1e-12)
    room["offset"][places] = products(left, centre)
    left /= scale[:, None]
    whole = np.rint(left)
    left -= whole
    left *= FINER
    room["bytes"][places] = whole
    room["fine"][places] = np.rint(left)
    room["scale"][places] = scale


def decoded(coded: Coded, places: NDArray[np.intp]) -> Floats:
    """What is left of these vectors beyond the centre, to five digits."""
    left = coded.fine[places].astype(np.float32)
    left /= FINER
    left += coded.bytes[places]
    left *= coded.scale[places, None]
    return left


def clear(room: Arrays, places: NDArray[np.intp]) -> None:
    """Leave nothing of the vectors at these places."""
    room["signs"][places // TOGETHER, :, places % TOGETHER] = 0
    for name in Coded._fields[1:]:
        if len(room[name]):
            room[name][places] = 0


def code(vectors: Floats, frame: Frame) -> Coded:
    """These vectors, seen in a frame."""
    wanted = shapes(len(vectors), len(frame.centre), len(frame.directions))
    room = {name: np.zeros(shape, dtype) for name, (dtype, shape) in wanted.items()}
    put(room, np.arange(len(vectors)), vectors, frame)
    return Coded(*(room[name] for name in Coded._fields))


def products(rows: Floats, vector: Floats) -> Floats:
    """Each row's product with a vector. (For few, BLAS would wake a thread on every core.)"""
    if len(rows) > _MANY:
        return np.asarray(rows @ vector, np.float32)
    return np.asarray(np.vecdot(rows, vector), np.float32)


class Asked:
    """A question's left-over, as it is compared with signs: what each byte of them comes to, in steps."""

    def __init__(self, left: Floats) -> None:
        self._dimensions, self._mean = len(left), np.abs(left).mean(dtype=np.float32)
        self._signs = np.packbits(left > 0)[:, None]
        fours = np.pad(left, (0, -len(left) % 8)).reshape(-1, 4)
        size = np.abs(fours)
        steps = max(1, min(STEPS, 65_535 // (len(fours) + 1)))
        self._step = np.maximum(_added(size).max(initial=0), np.float32(1e-12)) / np.float32(steps)
        self._least = 2 * np.minimum(left, 0).sum() - left.sum()
        bits = np.unpackbits(np.arange(16, dtype=np.uint8)[:, None], axis=1)[:, 4:].astype(np.bool_)
        counted = np.where(bits == (fours > 0)[:, None], size[:, None], np.float32(0))
        halves = (_added(counted) / self._step + np.float32(0.5)).astype(np.uint16).reshape(-1, 2, 16)
        self._tables = (halves[:, 0, :, None] + halves[:, 1, None, :]).reshape(-1, 256)

    def guesses(self, coded: Coded, start: int, end: int) -> Floats:
        """About how near each from one place to another is, if all dimensions of the question were equal."""
        first, last = start // TOGETHER, -(-end // TOGETHER)
        differing = np.empty((last - first, TOGETHER), np.uint16)
        for group in range(first, last, _BLOCK):
            counts = np.bitwise_count(coded.signs[group : min(group + _BLOCK, last)] ^ self._signs)
            differing[group - first : group - first + len(counts)] = counts.sum(axis=1, dtype=np.uint16)
        inside = differing.reshape(-1)[start - first * TOGETHER : end - first * TOGETHER]
        agreeing: Floats = self._mean * (np.float32(self._dimensions) - 2 * inside.astype(np.float32))
        return agreeing * coded.trust[start:end] + coded.offset[start:end]

    def estimates(self, coded: Coded, places: NDArray[np.intp]) -> Floats:
        """How near those at these places are, up to a constant."""
        signs = coded.signs[places // TOGETHER, :, places % TOGETHER]
        sums = self._tables[np.arange(len(self._tables)), signs].sum(axis=1, dtype=np.uint16)
        return self._near(sums, coded.trust[places], coded.offset[places])

    def _near(self, sums: NDArray[np.uint16], trust: Floats, offset: Floats) -> Floats:
        return np.asarray((self._least + 2 * self._step * sums) * trust + offset, np.float32)


class AskedByRows:
    """The same, where signs of all dimensions stand in rows."""

    def __init__(self, left: Floats) -> None:
        self._left, self._signs = left, np.packbits(left > 0)
        self._mean, self._numbers = np.abs(left).mean(dtype=np.float32), _numbers_at(len(left))

    def guesses(self, coded: Coded, start: int, end: int) -> Floats:
        """About how near each from one place to another is, if all dimensions of the question were equal."""
        rows, differing = coded.rows[start:end], np.empty(end - start, np.float32)
        for first in range(0, len(rows), _SOME):
            some = rows[first : first + _SOME, : len(self._signs)]
            differing[first : first + _SOME] = np.bitwise_count(some ^ self._signs).sum(axis=1)
        trust, offset = self._trust_and_offset(rows)
        return np.asarray(self._mean * (len(self._left) - 2 * differing) * trust + offset, np.float32)

    def estimates(self, coded: Coded, places: NDArray[np.intp]) -> Floats:
        """How near those at these places are, up to a constant."""
        rows = coded.rows[places]
        signs = np.unpackbits(rows[:, : len(self._signs)], axis=1, count=len(self._left))
        trust, offset = self._trust_and_offset(rows)
        sums = 2 * (signs.astype(np.float32) @ self._left) - self._left.sum()
        return np.asarray(sums * trust + offset, np.float32)

    def _trust_and_offset(self, rows: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        numbers = np.ascontiguousarray(rows[:, self._numbers : self._numbers + 8]).view(np.float32)
        return numbers[:, 0], numbers[:, 1]


def _added(fours: Floats) -> Floats:
    """The sums of four each, in their order: to the last bit as the compiled loop adds them."""
    return np.asarray(((fours[..., 0] + fours[..., 1]) + fours[..., 2]) + fours[..., 3])
