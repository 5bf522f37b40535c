"""The static embedder: a table of word-piece vectors and numpy alone; quick and weaker than a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from recollect.embed.models import InstalledEmbedder, Model
from recollect.embed.wordpiece import WordPieces
from recollect.errors import EmbedderFailed

_loading = Lock()
_tables: dict[str, _Table] = {}


@dataclass(frozen=True)
class _Table:
    """Int8 rows; a piece's scale is both its row's and its weight in the sum."""

    pieces: WordPieces
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]


class StaticEmbedder(InstalledEmbedder):
    """The weighted mean of a text's word pieces. The table loads at the first ``embed``."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        table = _table(self._model)
        for row, text in enumerate(texts):
            numbers = table.pieces.pieces(text, self._model.max_tokens) or [table.pieces.unknown]
            vectors[row] = table.scales[numbers] @ table.rows[numbers]
        return _unit_rows(vectors)


def _unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    vectors[lengths[:, 0] == 0, 0] = 1
    lengths[lengths == 0] = 1
    return vectors / lengths


def _table(model: Model) -> _Table:
    with _loading:
        if model.fingerprint not in _tables:
            _tables[model.fingerprint] = _load(model)
        return _tables[model.fingerprint]


def _load(model: Model) -> _Table:
    try:
        return _Table(
            pieces=WordPieces.from_file(model.file("vocab.txt")),
            rows=np.load(model.file("table.npy"), allow_pickle=False),
            scales=np.load(model.file("scales.npy"), allow_pickle=False),
        )
    except (OSError, ValueError) as error:
        raise EmbedderFailed(
            f"{model.name} can't be loaded; pip install --force-reinstall recollect-{model.name}: {error}"
        ) from error
