"""The floor: SQLite's FTS5 and a faiss index by hand, fused in Python. No product, just its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row, Vector

_DEPTH, _RESCORED = 50, 200
_LARGE = 500_000
"""From so many rows on, the index is divided into lists."""
_LISTS = 64
_SCHEMA = """
CREATE TABLE memory (number INTEGER PRIMARY KEY, text TEXT, created_at TEXT, part TEXT, vector BLOB);
CREATE INDEX memory_part ON memory (part);
CREATE VIRTUAL TABLE words USING fts5 (text, content='memory', content_rowid='number', tokenize='unicode61');
"""
_MATCH = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
_MATCH_IN_PART = """
SELECT words.rowid FROM words CROSS JOIN memory ON memory.number = words.rowid
WHERE words MATCH ? AND memory.part = ? ORDER BY rank LIMIT ?
"""


class RawParts(Peer):
    """FTS5 (unicode61, any word), RaBitQ fast-scan with the nearest 200 scored again, and RRF."""

    requirements = ("faiss-cpu==1.15.1", "apsw==3.54.1.0", "numpy==2.4.6")
    hybrid_is = "FTS5 any word + RaBitQ fast-scan, RRF in Python"
    durable = "fsynced rows and words; its vector index is in memory until it is written anew"
    words_are = "FTS5's unicode61, told by SQLite"
    idf = "fts5"

    def __init__(self, folder: Path, dimensions: int) -> None:
        import apsw
        import faiss

        self._faiss, self._folder, self._dimensions = faiss, folder, dimensions
        is_new = not (folder / "memories.db").exists()
        self._db: Any = apsw.Connection(str(folder / "memories.db"))
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", 2)
        if is_new:
            self._db.execute(_SCHEMA)
            self._vectors: Vector = np.empty((0, dimensions), np.float32)
        else:
            self._index = faiss.read_index(str(folder / "near.index"))
            self._vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        self._newer: list[Vector] = []
        self._tokenise, self._as_text = self._db.fts5_tokenizer("unicode61"), apsw.FTS5_TOKENIZE_DOCUMENT

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """Rows in one transaction, then the keyword index, then the vectors'."""
        vectors: list[Vector] = []
        with self._db:
            for rows in batches:
                self._db.executemany("INSERT INTO memory VALUES (?, ?, ?, ?, ?)", map(_values, rows))
                vectors.append(np.array([row.vector for row in rows]))
            self._db.execute("INSERT INTO words (words) VALUES ('rebuild')")
        self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._db.pragma("wal_checkpoint(truncate)")
        np.save(self._folder / "vectors.npy", np.vstack(vectors))
        self._vectors = np.load(self._folder / "vectors.npy", mmap_mode="r")
        lists = f"IVF{int(len(self._vectors) ** 0.5)}," if len(self._vectors) >= _LARGE else ""
        self._index = self._faiss.index_factory(
            self._dimensions, f"{lists}RaBitQfs", self._faiss.METRIC_INNER_PRODUCT
        )
        self._index.train(self._vectors[:: max(1, len(self._vectors) // 100_000)])
        self._index.add(np.ascontiguousarray(self._vectors))
        self._faiss.write_index(self._index, str(self._folder / "near.index"))

    def add(self, row: Row) -> None:
        """One transaction; the vector index learns of it in memory."""
        with self._db:
            self._db.execute("INSERT INTO memory VALUES (?, ?, ?, ?, ?)", _values(row))
            self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row.number, row.text))
        self._index.add(row.vector[None])
        self._newer.append(row.vector)

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """Both legs one after the other, the sum of their reciprocal ranks, then the texts."""
        legs = []
        if mode != "vector":
            legs.append(self._match(question.text, part))
        if mode != "keyword":
            legs.append(self._near(question.vector, part))
        scores: dict[int, float] = {}
        for leg in legs:
            for rank, number in enumerate(leg, 1):
                scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
        best = sorted(scores, key=lambda number: -scores[number])[:HITS]
        return [(number, self._text(number)) for number in best]

    def _text(self, number: int) -> str:
        return str(self._db.execute("SELECT text FROM memory WHERE number = ?", (number,)).get)

    def _match(self, text: str, part: str | None) -> list[int]:
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(self.words(text)))
        if not expression:
            return []
        if part is None:
            return [row[0] for row in self._db.execute(_MATCH, (expression, _DEPTH))]
        return [row[0] for row in self._db.execute(_MATCH_IN_PART, (expression, part, _DEPTH))]

    def _near(self, vector: Vector, part: str | None) -> list[int]:
        if part is None:
            found = self._index.search(vector[None], _RESCORED, params=self._how())[1][0]
            numbers = found[found >= 0]
        else:
            rows = self._db.execute("SELECT number FROM memory WHERE part = ?", (part,))
            numbers = np.array([row[0] for row in rows])
        scores = np.array([self._vector(number) @ vector for number in numbers])
        return [int(number) for number in numbers[np.argsort(-scores)[:_DEPTH]]]

    def _how(self) -> Any:
        has_lists = isinstance(self._index, self._faiss.IndexIVF)
        return self._faiss.IVFRaBitQSearchParameters(nprobe=_LISTS) if has_lists else None

    def _vector(self, number: int) -> Vector:
        kept = len(self._vectors)
        row: Vector = self._vectors[number] if number < kept else self._newer[number - kept]
        return row

    def words(self, text: str) -> Sequence[str]:
        """As the index has them."""
        told = self._tokenise(
            text.encode(), self._as_text, None, include_offsets=False, include_colocated=False
        )
        return [str(word) for word in told]

    def close(self) -> None:
        """The database alone has something open."""
        self._db.close()


def _values(row: Row) -> tuple[int, str, str, str, bytes]:
    return row.number, row.text, row.created_at, row.part, row.vector.tobytes()


ADAPTER = RawParts
