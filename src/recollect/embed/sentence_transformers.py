"""sentence-transformers: any model of that library, by its name or the folder that it is in."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.embed.known import UNKNOWN
from recollect.embed.library import Library
from recollect.embed.settings import EmbedderSettings, Named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceTransformersEmbedder(Library):
    """A model that runs on PyTorch. One that known.py does not list uses its own prompts, if it has any."""

    extra, module = "sentence-transformers", "sentence_transformers"

    def __init__(self, named: Named, settings: EmbedderSettings, dimensions: int | None = None) -> None:
        super().__init__(named, settings, dimensions)
        held = settings.held_for(named)
        self._has_own_prompts = (
            self._known is UNKNOWN and held.query_prefix is None and held.document_prefix is None
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        if not self._has_own_prompts:
            return super().embed_query(text)
        given = self._model().encode_query([text], show_progress_bar=False)
        vector: NDArray[np.float32] = self._finished(self._as_rows(given))[0]
        return vector

    def _load(self, library: Any) -> Any:
        with _quiet_unless_watched():
            return library.SentenceTransformer(self.model, truncate_dim=self._wanted)

    def _run(self, model: Any, texts: Sequence[str]) -> Any:
        how = {"batch_size": self._batch, "show_progress_bar": False}
        if self._has_own_prompts:
            return model.encode_document(list(texts), **how)
        return model.encode(list(texts), prompt="", **how)


@contextmanager
def _quiet_unless_watched() -> Iterator[None]:
    """No bars for loading and fetching in the output of a script."""
    bars: Any = import_module("transformers.utils.logging")
    if sys.stderr.isatty() or not bars.is_progress_bar_enabled():
        yield
        return
    bars.disable_progress_bar()
    try:
        yield
    finally:
        bars.enable_progress_bar()
