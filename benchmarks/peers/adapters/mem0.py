"""mem0 without a language model: `infer=False`, its default local store, vectors given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row, Vector

_USER = "everyone"


class _Given:
    """An embedder that is told the answer beforehand."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector that was given last."""
        return self.vector

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """The same for each."""
        return [self.vector for _ in texts]


class Mem0(Peer):
    """Qdrant's local mode, as mem0 has it by default. Its BM25 wants a model from a hub, and stays off."""

    requirements = ("mem0ai==2.2.1", "numpy==2.4.6")
    environment = MappingProxyType({"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "not-used"})
    modes = ("hybrid", "vector")
    hybrid_is = "vectors alone: its BM25 model is fetched from a hub, and was not"
    durable = "SQLite commits of the store and of the history, in its default mode"
    scope_is = "a filter on metadata"

    def __init__(self, folder: Path, dimensions: int) -> None:
        from mem0 import Memory

        store = {
            "collection_name": "memories",
            "path": str(folder / "qdrant"),
            "embedding_model_dims": dimensions,
            "on_disk": True,
        }
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._given = self._memory.embedding_model = _Given()

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """One by one: there is no other way in."""
        for rows in batches:
            for row in rows:
                self.add(row)

    def add(self, row: Row) -> None:
        """As it is, without inferring anything."""
        self._given.vector = row.vector.tolist()
        metadata = {"number": row.number, "part": row.part, "created": row.created_at}
        self._memory.add(row.text, user_id=_USER, metadata=metadata, infer=False)

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One search."""
        self._given.vector = _listed(question.vector)
        filters = {"user_id": _USER} | ({} if part is None else {"part": part})
        found = self._memory.search(question.text, top_k=HITS, filters=filters, threshold=0.0)
        return [(int(hit["metadata"]["number"]), hit["memory"]) for hit in found["results"]]

    def close(self) -> None:
        """Lets go of both databases."""
        self._memory.vector_store.client.close()
        self._memory.close()


def _listed(vector: Vector) -> list[float]:
    listed: list[float] = vector.tolist()
    return listed


ADAPTER = Mem0
