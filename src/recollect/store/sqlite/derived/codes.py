"""Vectors in few bytes: a bit and a byte for each dimension, so that most need not be looked at closely.

A vector is taken apart into the centre of its segment and what is left. Of what is left, the signs are kept
as bits; how far they may be trusted is known from two numbers for each vector. The bytes give its cosine to
three digits or more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived.files import Shape

Floats = NDArray[np.float32]
Bits = NDArray[np.uint64]

_BLOCK = 32_768
"""So many at once stay in the processor's cache."""
_STEEP = 1.5
"""The cosine of two vectors is about so many times the surplus of signs that agree, unless they are alike."""
PLANES = 4
"""A question's left-over is looked at with so many bits a dimension."""


class Coded(NamedTuple):
    """Vectors, one a column in `bits` and one a row or an element elsewhere."""

    bits: Bits
    """The signs, 64 dimensions a row."""
    length: Floats
    """How long each left-over is."""
    trust: Floats
    """By what the product of the signs with something is to be multiplied to estimate the left-over's."""
    offset: Floats
    """The product of the left-over with the centre."""
    bytes: NDArray[np.int8]
    scale: Floats


def shapes(count: int, dimensions: int) -> dict[str, Shape]:
    """What so many vectors need, by the names of `Coded`."""
    kinds = {"length": np.float32, "trust": np.float32, "offset": np.float32, "scale": np.float32}
    return {
        "bits": Shape(np.uint64, (-(-dimensions // 64), count)),
        "bytes": Shape(np.int8, (count, dimensions)),
        **{name: Shape(kind, (count,)) for name, kind in kinds.items()},
    }


def code(vectors: Floats, centre: Floats) -> Coded:
    """These vectors, seen from a centre."""
    left = vectors - centre
    length = np.sqrt(np.einsum("ij,ij->i", left, left))
    along = np.abs(left).sum(axis=1)
    scale = np.maximum(np.abs(left).max(axis=1), 1e-12) / 127
    return Coded(
        signs(left),
        length,
        (length * length / np.maximum(along, 1e-12)).astype(np.float32),
        products(left, centre),
        np.rint(left / scale[:, None]).astype(np.int8),
        scale.astype(np.float32),
    )


def products(rows: Floats, vector: Floats) -> Floats:
    """Each row's product with a vector. (For so little, BLAS would wake a thread on every core.)"""
    return np.asarray(np.einsum("ij,j->i", rows, vector), np.float32)


def signs(left: Floats) -> Bits:
    """A bit for each dimension, 64 a row; the last row is filled up with zeros."""
    packed = np.packbits(left > 0, axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


class Asked(NamedTuple):
    """A question's vector, as it is compared with codes."""

    left: Floats
    bits: Bits
    planes: Bits
    """The same as so many bits a dimension, the lowest first, in steps from `low` on."""
    low: float
    step: float

    @classmethod
    def of(cls, left: Floats) -> Asked:
        """What is left of a vector beyond the centre."""
        low, high = float(left.min()), float(left.max())
        step = max(high - low, 1e-12) / (2**PLANES - 1)
        steps = np.rint((left - low) / step).astype(np.uint8)
        rows = np.stack([left > 0, *(steps & (1 << plane) for plane in range(PLANES))])
        packed = signs(rows)
        return cls(left, packed[:, 0], packed[:, 1:].T, low, step)

    def guesses(self, bits: Bits, length: Floats, offset: Floats) -> Floats:
        """About how near each is, up to a constant: from how many signs agree."""
        own = np.float32(_STEEP * np.linalg.norm(self.left))
        each = np.float32(-2 * own / len(self.left))
        guessed = np.empty(len(length), np.float32)
        for start in range(0, len(length), _BLOCK):
            some = slice(start, start + _BLOCK)
            part = guessed[some]
            part[:] = _differing(bits[:, some], self.bits)
            part *= each
            part += own
            part *= length[some]
            part += offset[some]
        return guessed

    def estimates(self, bits: Bits, trust: Floats, offset: Floats) -> Floats:
        """How near each is, up to a constant: from the signs of the one and all of the other."""
        steps = np.zeros(bits.shape[1], np.float32)
        for plane, mask in enumerate(self.planes):
            shared = np.bitwise_count(bits & mask[:, None]).sum(axis=0, dtype=np.uint16)
            steps += shared * np.float32(2**plane)
        ones = np.bitwise_count(bits).sum(axis=0, dtype=np.uint16)
        positive = np.float32(self.low) * ones + np.float32(self.step) * steps
        product: Floats = 2 * positive - self.left.sum()
        return product * trust + offset


def _differing(bits: Bits, others: Bits) -> NDArray[np.uint16]:
    """In how many dimensions the signs differ. Three rows at once fit a byte."""
    together: NDArray[Any] = np.zeros(bits.shape[1], np.uint16)
    for first in range(0, len(bits), 3):
        some = np.bitwise_count(bits[first] ^ others[first])
        for row in range(first + 1, min(first + 3, len(bits))):
            some += np.bitwise_count(bits[row] ^ others[row])
        together += some
    return together
