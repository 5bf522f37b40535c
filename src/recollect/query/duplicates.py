"""Do these two texts say nearly the same? Hashes that near-duplicates are likely to share, and a check.

MinHash in bands: texts whose terms and neighbouring pairs of terms overlap by `THRESHOLD` share at least one
of their keys with a probability of 98%; whoever shares a key is compared exactly.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Sequence, Set
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

from recollect.query import compiled

THRESHOLD = 0.75
FEWEST_TERMS = 5
BANDS = 8
ROWS = 4
_BAND_BYTES = ROWS * 8


def _numbers(written: str) -> array[int]:
    return array("Q", struct.unpack(f"<{BANDS * ROWS}Q", bytes.fromhex(written)))


# Odd numbers to multiply with and numbers to add, drawn once: the keys that a store has depend on them.
_FACTORS = _numbers(
    "9303f72a1f587750530c0c01f532e94615d9d7b37c556d20176bcaba195cbf30f5cde2d4189ebb4abd8595071f77e575"
    "f3b0edacd08de03d5b6201c9efce9b4151ef3169a1590f243feb19b272b4d56f3fd6534bfd75c302213baac24d1bdc62"
    "d3d6d96785b30535431a7ce02e9b9116f11f4cf4d1ec6b7f510fb9f396ed9f5a953572e921740315e1ad74a13e474534"
    "29e3c006bca58249a384aee4e6952452a3b51deaea7d0716e9a7d1aa899f7606e1af20bed0672223d153a11e13a4a252"
    "1fcf81e3e78af075a562e6b96015ba4c6164c42e355e592411ec05052c84ae64153f91cf57522a39a50445a445b18d14"
    "e1d04214e8c2c753f19e62fd607eb305"
)
_OFFSETS = _numbers(
    "7035c961878d7e7b4741b67f8f67a14d3efeaa378b0bb37f072674e5a2bf0065137b72345e1b22461b0e0e26ef4f3a04"
    "c52c9821d8f58a472459bbee0fbbd65ecbda00e98670ae376768e13b00711c58230acfd6345f1674b866800f58876436"
    "78c629e7bec72a28dd09c7afee11ab0a4f0f67b813f05b127a4640fe10417e1369e998e1820f634af21f7f855c7efe15"
    "8e89f9f406dfbf45ee2233a36d5dcd350326d9993bafe876cd41e9a882ff7f198b0af4d4f5153c03df582e388a63aa64"
    "cd0abf4b6d4ac447927b6dcb067c962d34fbf9081e1fce74120eea673d5b7471297adcdf1ffd7269ca159302bc30423e"
    "b6b594380e43bf0db3bdd8ad58faad2f"
)


MIXED = (_FACTORS, _OFFSETS, BANDS, FEWEST_TERMS)
"""What keys are made with, for C."""


def near_keys(terms: Sequence[str]) -> tuple[int, ...]:
    """The keys of a text; none when it has too few terms to say whether another is nearly the same.

    >>> len(near_keys("the api listens on port 8080 by default".split())), near_keys(["yes", "ok"])
    (8, ())
    """
    if len(set(terms)) < FEWEST_TERMS:
        return ()
    if compiled.COMPILED:
        return compiled._text.near_keys(list(terms), _FACTORS, _OFFSETS, BANDS)
    import numpy as np

    hashes = np.array(_hashes(terms), np.uint64)
    mixed = hashes[:, None] * np.frombuffer(_FACTORS, np.uint64)
    mixed += np.frombuffer(_OFFSETS, np.uint64)
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


def overlap(mine: Set[Any], theirs: Set[Any]) -> bool:
    """Whether two texts share most of their features.

    >>> old = "the api listens on port 8080 by default unless told otherwise".split()
    >>> overlap(features(old), features([*old, "again"])), overlap(features(old), features(["the", "api"]))
    (True, False)
    """
    shared = len(mine & theirs)
    return shared >= THRESHOLD * (len(mine) + len(theirs) - shared)


def features(terms: Sequence[str]) -> Set[Any]:
    """What texts are compared by: their terms, and pairs of neighbouring ones."""
    return {*terms, *pairwise(terms)}


def alike(mine: str, others: Sequence[str]) -> list[int]:
    """The places of those that say nearly the same; each text is its terms, with a space between any two.

    >>> old = "the api listens on port 8080 by default unless told otherwise"
    >>> alike(old, ["the api", f"{old} again", old])
    [1, 2]
    """
    if compiled.COMPILED:
        return compiled._text.alike([mine, *others], compiled._text.table(()), THRESHOLD)
    said = Said(mine.split(" "))
    return [place for place, other in enumerate(others) if said.is_nearly(Said(other.split(" ")))]


class Said:
    """What a text says, by its terms. Most texts differ so much that neighbours need not be compared."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = terms
        self._different = set(terms)

    def is_nearly(self, other: Said) -> bool:
        """Whether the features of both overlap.

        >>> old = "the api listens on port 8080 by default unless told otherwise".split()
        >>> Said(old).is_nearly(Said([*old, "again"])), Said(old).is_nearly(Said(["the", "api"]))
        (True, False)
        """
        return self._could_overlap(other) and overlap(self._features, other._features)

    def _could_overlap(self, other: Said) -> bool:
        """If all neighbours were shared that can be: at least as many as different terms, less one."""
        shared = len(self._different & other._different) + min(len(self._terms), len(other._terms)) - 1
        fewest = 2 * len(self._different) - 1 + 2 * len(other._different) - 1
        return shared >= THRESHOLD * (fewest - shared)

    @cached_property
    def _features(self) -> Set[Any]:
        return features(self._terms)
