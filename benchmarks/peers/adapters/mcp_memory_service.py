"""mcp-memory-service: its SQLite storage used directly, with a model that is told the answers."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
from collections.abc import Coroutine, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row


class _Given:
    """Stands where its sentence-transformers model would."""

    def __init__(self) -> None:
        self.known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str], **_: Any) -> NDArray[np.float32]:
        """The vectors that were given for these texts."""
        return np.array([self.known[text] for text in texts], np.float32)


class McpMemoryService(Peer):
    """Trigrams for the words, sqlite-vec (exact) for the vectors, its weighted sum.

    Some Pythons are built without SQLite's extensions, which it needs: pysqlite3 then stands in.
    """

    requirements = ("mcp-memory-service==12.2.0", "numpy==2.4.6", "pysqlite3-binary==0.5.4.post2")
    environment = MappingProxyType({"MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec", "LOG_LEVEL": "ERROR"})
    hybrid_is = "FTS5 trigrams + sqlite-vec, its weighted sum"
    durable = "committed, synchronous=NORMAL: not fsynced by each"
    scope_is = "a tag on the vector leg alone; its hybrid takes none"
    words_are = "plain lowercase words: its trigrams match any part of a word, which is not the same"

    def __init__(self, folder: Path, dimensions: int) -> None:
        logging.disable(logging.WARNING)
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            sys.modules["sqlite3"] = import_module("pysqlite3")
        from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

        self._given, self._copies = _Given(), list[int]()
        given = self._given

        class Storage(SqliteVecMemoryStorage):  # type: ignore[misc]
            async def _initialize_embedding_model(self) -> None:
                self.embedding_model, self.embedding_dimension = given, dimensions

        self._loop = asyncio.new_event_loop()
        self._storage: Any = Storage(str(folder / "memories.db"))
        self._run(self._storage.initialize())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _memory(self, row: Row) -> Any:
        from mcp_memory_service.models.memory import Memory
        from mcp_memory_service.utils.hashing import generate_content_hash

        self._given.known[row.text] = row.vector
        return Memory(
            content=row.text,
            content_hash=generate_content_hash(row.text),
            tags=[row.part],
            metadata={"number": row.number},
            created_at_iso=row.created_at,
        )

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """In batches; a text that is there already is not kept twice.

        ANALYZE is a favour: without it newer versions of SQLite take seconds for its keyword query.
        """
        for rows in batches:
            kept = self._run(self._storage.store_batch([self._memory(row) for row in rows]))
            self._copies += [row.number for row, (is_kept, _) in zip(rows, kept, strict=True) if not is_kept]
            self._given.known.clear()
        self._storage.conn.execute("ANALYZE")
        self._storage.conn.commit()

    def add(self, row: Row) -> None:
        """Its own look for near-duplicates included."""
        was_kept, why = self._run(self._storage.store(self._memory(row)))
        if not was_kept:
            raise RuntimeError(why)

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """`retrieve_hybrid`, or one of the legs that it asks."""
        self._given.known[question.text] = question.vector
        if part is not None:
            found = self._run(self._storage.retrieve(question.text, HITS, tags=[part], store=None))
        elif mode == "hybrid":
            found = self._run(self._storage.retrieve_hybrid(question.text, HITS, store=None))
        elif mode == "vector":
            found = self._run(self._storage.retrieve(question.text, HITS, store=None))
        else:
            ranked = self._run(self._storage._search_bm25(question.text, HITS))
            memories = [self._run(self._storage.get_by_hash(hash)) for hash, _ in ranked]
            return [(int(memory.metadata["number"]), memory.content) for memory in memories]
        return [(int(hit.memory.metadata["number"]), hit.memory.content) for hit in found]

    def left_out(self) -> Sequence[int]:
        """Texts that were there already."""
        return self._copies

    def close(self) -> None:
        """Lets go of the database."""
        self._run(self._storage.close())


ADAPTER = McpMemoryService
