"""txtai: its hybrid index with content, vectors given through an external transform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row


class Txtai(Peer):
    """`hybrid=True`, `content=True`, everything else as it comes."""

    requirements = ("txtai==9.14.0", "numpy==2.4.6")
    hybrid_is = "its BM25 + faiss, its fusion"
    durable = "upsert and save(): the whole index is written each time"
    scope_is = "a filter after the cut, as its SQL has it"
    words_are = "its tokeniser's"

    def __init__(self, folder: Path, dimensions: int) -> None:
        from txtai.embeddings import Embeddings

        self._known: dict[str, NDArray[np.float32]] = {}
        self._path = folder / "index"
        settings = {"method": "external", "transform": self._transform(), "hybrid": True, "content": True}
        self._embeddings: Any = Embeddings(settings)
        if self._path.exists():
            self._embeddings.load(str(self._path), config=settings)

    def _transform(self) -> Any:
        def transform(texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([self._known[text] for text in texts], np.float32)

        return transform

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """One `index` of everything, then saved."""
        self._embeddings.index(self._document(row) for rows in batches for row in rows)
        self._embeddings.save(str(self._path))
        self._known.clear()

    def _document(self, row: Row) -> tuple[int, dict[str, str]]:
        self._known[row.text] = row.vector
        return row.number, {"text": row.text, "created": row.created_at, "part": row.part}

    def add(self, row: Row) -> None:
        """Both, since what is not saved is lost."""
        self._embeddings.upsert([self._document(row)])
        self._embeddings.save(str(self._path))

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """`search`; a single leg is asked of the index by itself, and its texts of the database."""
        self._known[question.text] = question.vector
        if part is not None:
            asked = "select id, text from txtai where similar(:question) and part = :part"
            found = self._embeddings.search(asked, HITS, parameters={"question": question.text, "part": part})
            return [(int(hit["id"]), hit["text"]) for hit in found]
        if mode == "hybrid":
            return [(int(hit["id"]), hit["text"]) for hit in self._embeddings.search(question.text, HITS)]
        if mode == "keyword":
            best = self._embeddings.scoring.search(question.text, HITS)
        else:
            best = self._embeddings.ann.search(question.vector[None], HITS)[0]
        return [self._told(number) for number, _ in best]

    def _told(self, number: int) -> Hit:
        cursor = self._embeddings.database.cursor
        cursor.execute("SELECT id, text FROM sections WHERE indexid = ?", [number])
        id, text = cursor.fetchone()
        return int(id), text

    def words(self, text: str) -> Sequence[str]:
        """As its scoring counts them."""
        told: list[str] = self._embeddings.scoring.tokenize(text)
        return told

    def asked(self, question: str) -> Sequence[str]:
        """A word that is asked twice counts twice."""
        return self.words(question)

    def close(self) -> None:
        """Lets go of the database."""
        self._embeddings.close()


ADAPTER = Txtai
