"""The hashing embedder: no model, the same vectors everywhere; for tests, and better than nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

DEFAULT_DIMENSIONS = 256

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.3
_VERSION = 1


class HashingEmbedder:
    """Words and their trigrams, each hashed to one signed place: texts that share words are near."""

    query_prefix = ""

    def __init__(self, dimensions: int = DEFAULT_DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.name = "hash" if dimensions == DEFAULT_DIMENSIONS else f"hash:{dimensions}"
        self.fingerprint = f"hash-{dimensions}-v{_VERSION}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        for row, text in enumerate(texts):
            for feature, weight in _features(text):
                hashed = crc32(feature.encode("utf-8", "surrogatepass"))
                vectors[row, (hashed >> 1) % self.dimensions] += weight if hashed & 1 else -weight
            if not vectors[row].any():
                vectors[row, 0] = 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / lengths, dtype=np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text.casefold()) or [text]
    for word in words:
        yield word, 1.0
        framed = f"<{word}>"
        for start in range(len(framed) - 2):
            yield framed[start : start + 3], _TRIGRAM_WEIGHT
