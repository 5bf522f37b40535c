"""Tables of word-piece vectors and numpy alone: quick, and weaker than a model.

One embeds texts and questions in a space of its own, another only questions, in the space of arctic-s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from recollect.embed.models import InstalledEmbedder, Model, Queries
from recollect.embed.wordpiece import WordPieces
from recollect.errors import EmbedderFailed

_loading = Lock()
_tables: dict[str, _Table] = {}


@dataclass(frozen=True)
class _Table:
    """Int8 rows; a piece's scale is both its row's and its weight in the sum, which starts at the bias."""

    pieces: WordPieces
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    bias: NDArray[np.float32] | float


class StaticEmbedder(InstalledEmbedder):
    """The weighted mean of a text's word pieces. The table loads at the first ``embed``."""

    files: tuple[str, ...] = ("table.npy", "scales.npy")
    embeds_at_once = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        table = _table(self._model, self.fingerprint, self.files)
        unknown = np.array([table.pieces.unknown])
        for row, pieces in enumerate(table.pieces.pieces_of_many(texts, self._model.max_tokens)):
            numbers = np.frombuffer(pieces, np.int64) if len(pieces) else unknown
            rows = table.rows.take(numbers, axis=0).astype(np.float32)
            vectors[row] = table.scales.take(numbers) @ rows + table.bias
        return _unit_rows(vectors)


class QuickQueries(StaticEmbedder):
    """Embeds questions, never stored texts, near where the model that `queries` serves would put them.

    Its fingerprint is the table's own: `queries.serves` says which vectors it may be compared with.
    """

    files = ("queries.npy", "query_scales.npy", "query_bias.npy")

    def __init__(self, model: Model, queries: Queries) -> None:
        super().__init__(model)
        self.fingerprint = queries.fingerprint
        self.weight = queries.weight
        self.unrelated = queries.unrelated


def _unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    vectors[lengths[:, 0] == 0, 0] = 1
    lengths[lengths == 0] = 1
    return vectors / lengths


def _table(model: Model, fingerprint: str, files: Sequence[str]) -> _Table:
    with _loading:
        if fingerprint not in _tables:
            _tables[fingerprint] = _load(model, files)
        return _tables[fingerprint]


def _load(model: Model, files: Sequence[str]) -> _Table:
    try:
        rows, scales, *bias = (np.load(model.file(name), allow_pickle=False) for name in files)
        return _Table(WordPieces.from_file(model.file("vocab.txt")), rows, scales, bias[0] if bias else 0.0)
    except (OSError, ValueError) as error:
        raise EmbedderFailed(
            f"{model.name} can't be loaded; pip install --force-reinstall recollect-{model.name}: {error}"
        ) from error
