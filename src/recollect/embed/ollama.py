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
        return {"model": self.model, "input": list(texts), "truncate": True}

    def _read(self, answer: Any) -> list[list[float]]:
        vectors: list[list[float]] = answer["embeddings"]
        return vectors

    def _advice(self, status: int, told: str) -> str:
        if status == 404 and not told:  # where it knows the path, it says what it has not found
            return f"it knows no {self.path}: update Ollama, or look at base_url, and at OLLAMA_HOST"
        if status == 404:
            return f"run ollama pull {self.model}"
        return "look at base_url, and at OLLAMA_HOST"
