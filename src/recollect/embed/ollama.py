"""Ollama: POST /api/embed, on this machine or another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.embed.remote import Remote


class OllamaEmbedder(Remote):
    """A model that an Ollama server runs; texts that are too long for it are cut by the server."""

    path = "/api/embed"
    most_texts = 32

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "truncate": True}
        return body | ({"dimensions": self._wanted} if self._wanted else {})

    def _read(self, answer: Any) -> list[list[float]]:
        vectors: list[list[float]] = answer["embeddings"]
        return vectors

    def _advice(self, status: int) -> str:
        if status == 404:
            return f"run ollama pull {self.model}"
        return "look at base_url, and at OLLAMA_HOST"
