"""Chroma, embedded: its ranked keyword search is not in the local product. Words can filter, not rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row


class Chroma(Peer):
    """HNSW by cosine, everything else as it comes."""

    requirements = ("chromadb==1.5.9", "numpy==2.4.6")
    modes = ("hybrid", "vector")
    hybrid_is = "vectors alone: it ranks by no words; with words=1, of what contains any of them as it stands"
    durable = "in SQLite's log, not fsynced by each"
    scope_is = "a filter on metadata"
    known_settings = ("words",)

    def __init__(self, folder: Path, dimensions: int) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self._memories: Any = client.get_or_create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """In the batches that come."""
        for rows in batches:
            self._add(rows)

    def _add(self, rows: Sequence[Row]) -> None:
        self._memories.add(
            ids=[str(row.number) for row in rows],
            embeddings=[row.vector for row in rows],
            documents=[row.text for row in rows],
            metadatas=[{"created_at": row.created_at, "part": row.part} for row in rows],
        )

    def add(self, row: Row) -> None:
        """A batch of one."""
        self._add([row])

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One query."""
        filters = mode == "hybrid" and self.settings.get("words")
        found = self._memories.query(
            query_embeddings=[question.vector],
            n_results=HITS,
            where=None if part is None else {"part": part},
            where_document=_with_any(question.text) if filters else None,
            include=["documents"],
        )
        return [(int(id), text) for id, text in zip(found["ids"][0], found["documents"][0], strict=True)]

    def close(self) -> None:
        """It is written as it goes."""


def _with_any(text: str) -> dict[str, Any]:
    """Documents that contain a word of the question.

    >>> _with_any("lost update lost")
    {'$or': [{'$contains': 'lost'}, {'$contains': 'update'}]}
    """
    words = [{"$contains": word} for word in dict.fromkeys(text.split())]
    return words[0] if len(words) == 1 else {"$or": words}


ADAPTER = Chroma
