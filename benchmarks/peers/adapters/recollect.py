"""Recollect, from the tree that this file lies in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row

if TYPE_CHECKING:
    from recollect.query.terms import KeywordQuery
    from recollect.types import DraftFields

_FILE = "memories.db"


class GivenVectors:
    """An embedder that knows its answers: the vectors of the questions, by their text."""

    name = "given"
    query_prefix = ""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.fingerprint = f"given-{dimensions}"
        self.known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """KeyError for a text whose vector was not given."""
        return np.array([self.known[text] for text in texts], np.float32)


class Recollect(Peer):
    """The public API; the legs by themselves are asked of the store, as `recall` asks it."""

    requirements = ("",)
    hybrid_is = "BM25 + vectors, fused, weighed by time and salience"
    durable = "fsynced, in both indexes"
    words_are = "its own analyser's"
    idf = "fts5"

    def __init__(self, folder: Path, dimensions: int) -> None:
        import recollect

        self._embedder = GivenVectors(dimensions)
        self._memories = recollect.open(folder / _FILE, embedder=self._embedder)

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """Rows, words and vectors."""
        from recollect import Draft

        for rows in batches:
            drafts = [Draft(row.text, **_fields(row)) for row in rows]
            self._memories.remember_many(drafts, on_duplicate="keep")
        self._memories.settle()

    def add(self, row: Row) -> None:
        """One `remember`."""
        self._memories.remember(row.text, **_fields(row))

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One `recall`."""
        self._embedder.known[question.text] = question.vector
        found = self._memories.recall(
            question.text,
            limit=HITS,
            mode="semantic" if mode == "vector" else mode,
            tags=part,
            reinforce=False,
        )
        return [(int(hit.memory.id), hit.memory.content) for hit in found]

    def leg(self, mode: Mode, question: Question) -> list[int]:
        """The leg alone: a recall also weighs time and salience, and puts a quoted phrase first."""
        from recollect.meaning import generation_of
        from recollect.store.base import Nearness, Words

        store, scope = self._memories._store, self._memories.scope()
        words = Words(replace(self._keywords(question.text), phrases=()), HITS) if mode == "keyword" else None
        near = Nearness(generation_of(self._embedder), question.vector, HITS) if mode == "vector" else None
        (found,) = store.search([scope], words, near)
        best = [each.key for each in (found.by_words if words else found.by_meaning)][:HITS]
        loaded = store.load(best, scope.now)
        return [int(loaded[key].id) for key in best]

    def _keywords(self, text: str) -> KeywordQuery:
        """What `recall` looks for in the keyword index."""
        from recollect.query.terms import parse_query

        facts = self._memories._store.facts(self._memories.scope().namespaces)
        languages = {language for fact in facts.values() for language in fact.languages}
        return parse_query(text, languages=sorted(languages, key=lambda code: code != "en"))

    def words(self, text: str) -> Sequence[str]:
        """The terms of a text; its tag and its namespace are two more in the index."""
        from recollect.query.languages import detect
        from recollect.query.terms import terms_of

        return [*terms_of(text, detect(text)), "", ""]

    def asked(self, question: str) -> Sequence[str]:
        """The terms of a question, and the beginnings that a short one looks for."""
        query = self._keywords(question)
        whole = [term for word in query.words for term in word.terms]
        return [*whole, *(f"{term}*" for term in query.prefixes)]

    def close(self) -> None:
        """The write-ahead log goes into the file."""
        self._memories.close()


def _fields(row: Row) -> DraftFields:
    vector = cast("Sequence[float]", row.vector)
    return {"id": str(row.number), "created_at": row.created_at, "tags": [row.part], "vector": vector}


ADAPTER = Recollect
