"""fastembed: ONNX models from its list, run in this process and fetched by the library when first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.embed.library import Library


class FastembedEmbedder(Library):
    """A model of fastembed's list, or one that was added to it."""

    extra = module = "fastembed"

    def _load(self, library: Any) -> Any:
        return library.TextEmbedding(self.model)

    def _run(self, model: Any, texts: Sequence[str]) -> Any:
        return list(model.embed(list(texts), batch_size=self._batch))
