"""OpenAI, and every server that speaks its protocol: POST /embeddings under a base URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.embed.remote import Remote
from recollect.embed.settings import OPENAI
from recollect.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OpenAIEmbedder(Remote):
    """A model behind OpenAI's protocol: OpenAI itself, or vLLM, LM Studio, llama.cpp, LiteLLM and others."""

    path = "/embeddings"
    most_texts = 128

    def _vectors(self, texts: Sequence[str], *, soon: bool) -> NDArray[np.float32]:
        if self._access.key is None and self._access.base_url == OPENAI and not self._access.problem:
            raise EmbedderUnavailable(
                f"{self.name} needs a key: set {self._access.key_from or 'api_key_env'}"
            )
        return super()._vectors(texts, soon=soon)

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self.model, "input": list(texts)}

    def _read(self, answer: Any) -> list[list[float]]:
        """In the order of `index`, which need not be the order of the list."""
        data = answer["data"]
        places = [item.get("index", number) for number, item in enumerate(data)]
        if sorted(places) != list(range(len(data))):
            raise ValueError("the indexes are not those of the texts")
        vectors = dict(zip(places, (item["embedding"] for item in data), strict=True))
        return [vectors[place] for place in range(len(data))]

    def _advice(self, status: int, told: str) -> str:
        if status in (401, 403):
            named = self._access.key_from or "api_key_env"
            return f"it refuses the key in {named}" if self._access.key else f"it wants a key: set {named}"
        if status == 404:
            return f"it has no model {self.model}, or base_url is wrong (it mostly ends in /v1)"
        return "look at base_url"
