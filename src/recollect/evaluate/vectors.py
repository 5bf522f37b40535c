"""Vectors that cost next to nothing, so that a measure of a store is not one of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
_DIRECTIONS = 4096
_HALF = 125
"""After so many directions, one that is half as long comes: a third of them hold four fifths of what varies,
as with models' vectors of real texts."""
_WORD = re.compile(r"\w+")


class WordVectors:
    """An embedder: each word has a direction drawn by chance, and a text points where its words do.

    A long word counts for more: it is likely to be a rare one. As long as the default model's vectors, and
    varying in as few directions as a model's.
    """

    name = "bench"
    dimensions = DIMENSIONS
    fingerprint = f"bench-{DIMENSIONS}-v2"
    query_prefix = ""

    def __init__(self) -> None:
        chance = np.random.RandomState(1)
        drawn = chance.standard_normal((_DIRECTIONS, DIMENSIONS)) * 0.5 ** (np.arange(DIMENSIONS) / _HALF)
        turned, _ = np.linalg.qr(chance.standard_normal((DIMENSIONS, DIMENSIONS)))
        self._directions = (drawn @ turned).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 a text, in order."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            words = _WORD.findall(text.lower()) or [text or "-"]
            places = [crc32(word.encode("utf-8", "surrogatepass")) % _DIRECTIONS for word in words]
            lengths = np.array([len(word) for word in words], np.float32)
            vectors[row] = lengths @ self._directions[places]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
