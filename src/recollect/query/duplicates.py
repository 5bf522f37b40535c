"""Do these two texts say nearly the same? Hashes that near-duplicates are likely to share, and a check.

MinHash in bands: texts whose terms and neighbouring pairs of terms overlap by `THRESHOLD` share at least one
of their keys with a probability of 98%; whoever shares a key is compared exactly.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence, Set
from functools import cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING

from recollect.query import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD = 0.75
FEWEST_TERMS = 5
BANDS = 8
ROWS = 4
_BAND_BYTES = ROWS * 8


@cache
def _multipliers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    random = np.random.default_rng(20_260_115)
    odd = random.integers(1, 2**63, BANDS * ROWS, dtype=np.uint64) | np.uint64(1)
    return odd, random.integers(0, 2**63, BANDS * ROWS, dtype=np.uint64)


def near_keys(terms: Sequence[str]) -> tuple[int, ...]:
    """The keys of a text; none when it has too few terms to say whether another is nearly the same.

    >>> len(near_keys("the api listens on port 8080 by default".split())), near_keys(["yes", "ok"])
    (8, ())
    """
    if len(set(terms)) < FEWEST_TERMS:
        return ()
    factor, offset = _multipliers()
    if compiled.COMPILED:
        return compiled._text.near_keys(list(terms), factor, offset, BANDS)
    import numpy as np

    hashes = np.array(_hashes(terms), np.uint64)
    mixed = hashes[:, None] * factor
    mixed += offset
    lowest = np.minimum.reduce(mixed) >> np.uint64(16)
    bands = lowest.tobytes()
    return tuple(
        zlib.crc32(bands[number * _BAND_BYTES : (number + 1) * _BAND_BYTES], number) << 3 | number
        for number in range(BANDS)
    )


def _hashes(terms: Sequence[str]) -> list[int]:
    """The CRC-32 of every feature; that of a pair goes on from that of its first term."""
    encoded = list(map(str.encode, terms))
    alone = list(map(zlib.crc32, encoded))
    begun = map(zlib.crc32, repeat(b" "), alone)
    return [*alone, *map(zlib.crc32, encoded[1:], begun)]


def overlap(mine: Set[str], theirs: Set[str]) -> bool:
    """Whether two texts share most of their features.

    >>> old = "the api listens on port 8080 by default unless told otherwise".split()
    >>> overlap(features(old), features([*old, "again"])), overlap(features(old), features(["the", "api"]))
    (True, False)
    """
    shared = len(mine & theirs)
    return shared >= THRESHOLD * (len(mine) + len(theirs) - shared)


def features(terms: Sequence[str]) -> Set[str]:
    """What texts are compared by: their terms, and pairs of neighbouring ones."""
    return {*terms, *(f"{first} {second}" for first, second in pairwise(terms))}
