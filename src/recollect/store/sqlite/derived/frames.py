"""From where are vectors seen? The centre of many, and the directions in which they differ most.

A third of the dimensions is enough to hold four fifths of what tells real vectors apart. Of hundreds of
thousands, signs along those directions say who may be near in a third of the bytes. A frame is made from some
of the vectors and then kept: segments that have the same are merged by copying what they hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived.files import Arrays

Floats = NDArray[np.float32]

SAMPLE = 16_384
_HELD = 0.78
"""So much of what varies the directions hold."""
_MOST = 1 / 2
"""More directions than so many for each dimension would save nothing."""
_TOGETHER = 32
"""What so many directions come to is added up at once."""
_SPARE = 0.25


class Frame(NamedTuple):
    """A centre, and directions in bytes, perhaps none."""

    centre: Floats
    directions: NDArray[np.int8]
    """A row each, in whole numbers, as they are multiplied with a question."""
    steps: Floats
    """What one of a direction's whole numbers comes to."""
    ranges: Floats
    """With directions: from where on, and in which steps, trust and then offset are kept in a byte each."""

    @classmethod
    def of(cls, arrays: Arrays) -> Frame:
        """As it was kept."""
        return cls(*(arrays[name] for name in cls._fields))

    @classmethod
    def plain(cls, centre: Floats) -> Frame:
        """Without directions."""
        nothing = np.empty(0, np.float32)
        return cls(centre, np.empty((0, len(centre)), np.int8), nothing, nothing)

    @classmethod
    def made(cls, centre: Floats, some: Floats) -> Frame:
        """With the directions of some vectors, if few hold most of what varies."""
        some = some[np.isfinite(some - centre).all(axis=1)]  # as a damaged row may not be
        found = _directions(some - centre)
        if not len(found):
            return cls.plain(centre)
        steps = (np.abs(found).max(axis=1) / 127).astype(np.float32)
        directions = np.rint(found / steps[:, None]).astype(np.int8)
        whole = cls(centre, directions, steps, np.empty(4, np.float32))
        along = whole.along(some)
        trust = np.einsum("ij,ij->i", along, along) / np.maximum(np.abs(along).sum(axis=1), 1e-12)
        return whole._replace(
            ranges=np.array([*_range(trust), *_range((some - centre) @ centre)], np.float32)
        )

    def along(self, vectors: Floats) -> Floats:
        """How far vectors reach from the centre in each direction."""
        directions = self.directions.astype(np.float32) * self.steps[:, None]
        return np.asarray((vectors - self.centre) @ directions.T, np.float32)

    def is_same(self, other: Frame) -> bool:
        """Whether what is coded in one is coded alike in the other."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields)


def _directions(left: Floats) -> NDArray[np.float64]:
    """Those that hold most of what is left, turned so that each holds about as much as any other; none, if
    it takes too many."""
    dimensions = left.shape[1]
    values, found = np.linalg.eigh(left.T.astype(np.float64) @ left)
    held = np.cumsum(values[::-1]) / max(float(values.sum()), 1e-30)
    count = -(-(int(np.searchsorted(held, _HELD)) + 1) // _TOGETHER) * _TOGETHER
    if count > _MOST * dimensions:
        return np.empty((0, dimensions))
    turned, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((count, count)))
    directions: NDArray[np.float64] = turned @ found[:, ::-1][:, :count].T
    return directions


def _range(values: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """From where on, and in steps of what, a byte says nearly what these are; with some room for others."""
    low, high = float(values.min()), float(values.max())
    spare = _SPARE * (high - low)
    return low - spare, max(high - low + 2 * spare, 1e-12) / 255
