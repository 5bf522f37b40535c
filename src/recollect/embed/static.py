"""Tables of word-piece vectors and numpy alone: quick, and weaker than a model.

One embeds texts and questions in a space of its own, another only questions, in the space of arctic-s.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from recollect.embed.models import InstalledEmbedder, Model, Queries
from recollect.embed.wordpiece import WordPieces
from recollect.errors import EmbedderFailed

try:
    from recollect.embed import _static

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False

_AT_ONCE = 256
"""So many vectors stay in the processor's cache."""
_loading = Lock()
_tables: dict[str, _Table] = {}


@dataclass(frozen=True)
class _Table:
    """Int8 rows; a piece's scale is both its row's and its weight in the sum, which starts at the bias."""

    pieces: WordPieces
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    bias: NDArray[np.float32] | float

    def sums(self, texts: Sequence[str], most: int, dimensions: int) -> NDArray[np.float32]:
        """What the first `most` pieces of each text come to; others go on meanwhile, if they are many."""
        unknown = array("q", [self.pieces.unknown])
        found = [pieces or unknown for pieces in self.pieces.pieces_of_many(texts, most)]
        vectors = np.empty((len(texts), dimensions), np.float32)
        vectors[...] = self.bias
        if COMPILED and self.rows.dtype == np.int8:
            counts = array("q", map(len, found))
            _static.add(vectors, b"".join(found), counts, self.rows, self.scales)
        else:
            self._add(vectors, found)
        return vectors

    def _add(self, vectors: NDArray[np.float32], found: Sequence[array[int] | memoryview[int]]) -> None:
        """The same in numpy."""
        for row, pieces in enumerate(found):
            numbers = np.frombuffer(pieces, np.int64)
            rows = self.rows.take(numbers, axis=0).astype(np.float32)
            vectors[row] += self.scales.take(numbers) @ rows


class StaticEmbedder(InstalledEmbedder):
    """The weighted mean of a text's word pieces. The table loads at the first ``embed``."""

    files: tuple[str, ...] = ("table.npy", "scales.npy")
    embeds_at_once = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        table = _table(self._model, self.fingerprint, self.files)
        vectors = table.sums(texts, self._model.max_tokens, self.dimensions)
        _make_unit_rows(vectors)
        return vectors


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


def _make_unit_rows(vectors: NDArray[np.float32]) -> None:
    for begin in range(0, len(vectors), _AT_ONCE):
        some = vectors[begin : begin + _AT_ONCE]
        lengths: NDArray[np.float32] = np.sqrt((some * some).sum(axis=1, keepdims=True))
        some[lengths[:, 0] == 0, 0] = 1
        lengths[lengths == 0] = 1
        some /= lengths


def _table(model: Model, fingerprint: str, files: Sequence[str]) -> _Table:
    with _loading:
        if fingerprint not in _tables:
            _tables[fingerprint] = _load(model, files)
        return _tables[fingerprint]


def _load(model: Model, files: Sequence[str]) -> _Table:
    try:
        rows, scales, *bias = (np.load(model.file(name), allow_pickle=False) for name in files)
        rows, scales = np.ascontiguousarray(rows), np.ascontiguousarray(scales, np.float32)
        return _Table(WordPieces.from_file(model.file("vocab.txt")), rows, scales, bias[0] if bias else 0.0)
    except (OSError, ValueError) as error:
        raise EmbedderFailed(
            f"{model.name} can't be loaded; pip install --force-reinstall recollect-{model.name}: {error}"
        ) from error
