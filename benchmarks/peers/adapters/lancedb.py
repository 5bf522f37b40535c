"""LanceDB: its full-text index and an IVF_RQ index, fused by its RRF reranker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row

_WORD = re.compile(r"[^\W_]+")
_SAMPLE, _COMMON = 20_000, 1_500
"""How many rows say which words are common, and how many of those may be left out by its analyser."""
_REFINED = 5
_COLUMNS = ["number", "text"]


class LanceDB(Peer):
    """Defaults for the words; the nearest vectors are scored again, as its documentation advises."""

    requirements = ("lancedb==0.40.0", "pyarrow==26.0.1", "numpy==2.4.6", "PyStemmer==3.1.0")
    known_settings = ("nprobes", "refine")
    environment = MappingProxyType({"LANCE_LOG": "error"})
    hybrid_is = "its FTS + IVF_RQ (refined), its RRF"
    durable = "not fsynced; not indexed until optimize(), found all the same"
    words_are = (
        "its analyser's rules, copied (letters and digits, English stems), without words it does not index"
    )

    def __init__(self, folder: Path, dimensions: int) -> None:
        import lancedb
        import pyarrow
        import Stemmer
        from lancedb.rerankers import RRFReranker

        self._stem = Stemmer.Stemmer("english").stemWord
        self._reranker = RRFReranker()
        self._schema = pyarrow.schema(
            [
                ("number", pyarrow.int64()),
                ("text", pyarrow.string()),
                ("created_at", pyarrow.string()),
                ("part", pyarrow.string()),
                ("vector", pyarrow.list_(pyarrow.float32(), dimensions)),
            ]
        )
        self._arrow: Any = pyarrow
        self._connect: Any = lancedb.connect
        database = lancedb.connect(str(folder))
        self._table: Any = database.create_table("memories", schema=self._schema, exist_ok=True)

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """Rows, then its three indexes."""
        self._table.add(self._arrow.RecordBatchReader.from_batches(self._schema, map(self._batch, batches)))
        self._table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_RQ")
        self._table.create_fts_index("text")
        self._table.create_scalar_index("part", index_type="BITMAP")
        self._table.optimize()

    def _batch(self, rows: Sequence[Row]) -> Any:
        columns = [
            [row.number for row in rows],
            [row.text for row in rows],
            [row.created_at for row in rows],
            [row.part for row in rows],
            [row.vector for row in rows],
        ]
        typed = zip(columns, self._schema.types, strict=True)
        return self._arrow.record_batch([self._arrow.array(*pair) for pair in typed], schema=self._schema)

    def add(self, row: Row) -> None:
        """A new version of the table."""
        self._table.add(self._arrow.Table.from_batches([self._batch([row])]))

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One search."""
        if mode == "keyword":
            search = self._table.search(question.text, query_type="fts")
        elif mode == "vector":
            search = self._precise(self._table.search(question.vector))
        else:
            search = self._table.search(query_type="hybrid").vector(question.vector).text(question.text)
            search = self._precise(search).rerank(self._reranker)
        if part is not None:
            search = search.where(f"part = '{part}'", prefilter=True)
        found = search.limit(HITS).select(_COLUMNS).to_arrow()
        return list(zip(found["number"].to_pylist(), found["text"].to_pylist(), strict=True))

    def _precise(self, search: Any) -> Any:
        """How many lists of vectors it looks into, and how many of the nearest it compares exactly."""
        search = search.distance_type("cosine").refine_factor(self.settings.get("refine", _REFINED))
        return search.nprobes(self.settings["nprobes"]) if "nprobes" in self.settings else search

    def words(self, text: str) -> Sequence[str]:
        """Letters and digits, folded and stemmed, without stop words."""
        told = _WORD.findall(text.lower())
        return [self._stem(word) for word in told if word not in self._stops and len(word) <= 40]

    @cached_property
    def _stops(self) -> frozenset[str]:
        """The common words that it does not find in a table of them: its list is not told otherwise."""
        sample = self._table.head(_SAMPLE)["text"].to_pylist()
        counts = Counter(word for text in sample for word in set(_WORD.findall(text.lower())))
        common = [word for word, _ in counts.most_common(_COMMON)]
        table = self._connect("memory://").create_table("words", [{"text": word} for word in common])
        table.create_fts_index("text")
        return frozenset(word for word in common if not _has(table, word))

    def asked(self, question: str) -> Sequence[str]:
        """A word that is asked twice counts twice."""
        return self.words(question)

    def close(self) -> None:
        """Nothing is kept open."""


def _has(table: Any, word: str) -> bool:
    return bool(table.search(word, query_type="fts").limit(1).to_list())


ADAPTER = LanceDB
