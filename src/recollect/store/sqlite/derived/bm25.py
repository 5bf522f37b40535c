"""BM25 exactly as FTS5 reckons it, over arrays of occurrences."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
LEAST = 1e-6
"""What a word counts that more than half of all memories have."""
MOST_TIMES = 63
_EXACT = 128
_STEP = 1.04

Codes = NDArray[np.uint16]
"""How often a word stands in a memory (the high byte), and how long the memory is (the low byte)."""


def _lengths() -> NDArray[np.int64]:
    """The length that each low byte stands for: exact at first, then in steps of a few in a hundred."""
    longer = [math.ceil(_EXACT * _STEP**step) for step in range(256 - _EXACT)]
    return np.array([*range(_EXACT), *longer], np.int64)


LENGTHS = _lengths()
_MIDDLES = np.append((LENGTHS[:-1] + LENGTHS[1:] - 1) / 2, LENGTHS[-1])


def codes(times: NDArray[np.int64], lengths: NDArray[np.int64]) -> Codes:
    """Occurrences, each in a memory of that length.

    >>> codes(np.array([1, 500]), np.array([12, 128])).tolist()
    [268, 16256]
    """
    low = np.searchsorted(LENGTHS, lengths, side="right") - 1
    high = np.minimum(times, MOST_TIMES) << 8
    return np.asarray(high | low, np.uint16)


def times(coded: Codes) -> NDArray[np.uint16]:
    """How often the word stands in each of the memories."""
    return np.right_shift(coded, np.uint16(8))


class Statistics(NamedTuple):
    """Of all memories: how many there are, and how many terms they have together."""

    memories: int
    terms: int

    @property
    def average(self) -> float:
        """How long a memory is in the mean."""
        return self.terms / self.memories if self.memories and self.terms else 1.0

    def rarity(self, having: int) -> float:
        """What a word counts that so many memories have."""
        idf = math.log(max(self.memories - having + 0.5, LEAST) / (having + 0.5))
        return idf if idf > 0 else LEAST


@lru_cache(maxsize=2)
def weights(average: float) -> NDArray[np.float32]:
    """What an occurrence counts, by its code, before the word's rarity: nearly, for long memories."""
    often = np.arange(MOST_TIMES + 1, dtype=np.float32)[:, None]
    return weight(often, _MIDDLES.astype(np.float32)[None, :], average).astype(np.float32).ravel()


def weight(often: NDArray[Any], lengths: NDArray[Any], average: float) -> NDArray[Any]:
    """The same exactly: of a word that stands so often in a memory of that length."""
    return often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / average))


def counts(often: int, length: int, average: float) -> float:
    """The same of one occurrence alone."""
    times = min(often, MOST_TIMES)
    return times * (K1 + 1) / (times + K1 * (1 - B + B * length / average))
