"""Milvus Lite: its BM25 function and its vectors, fused by its RRF ranker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row

_DEPTH = 50
_AT_ONCE = 1_000
_NAME = "memories"
_LONGEST = 65_535


class MilvusLite(Peer):
    """AUTOINDEX for the vectors, the inverted index for the words."""

    requirements = ("milvus-lite==3.2.2", "pymilvus==3.0.2", "numpy==2.4.6")
    hybrid_is = "its BM25 + its vector index, its RRF, 50 of each"
    durable = "not fsynced"
    words_are = "its analyser's"

    def __init__(self, folder: Path, dimensions: int) -> None:
        import pymilvus
        from milvus_lite.analyzer.standard import StandardAnalyzer

        self._m: Any = pymilvus
        self._analyser: Any = StandardAnalyzer()
        self._client: Any = pymilvus.MilvusClient(str(folder / "milvus.db"))
        if self._client.has_collection(_NAME):
            self._client.load_collection(_NAME)
        else:
            schema = self._schema(dimensions)
            self._client.create_collection(_NAME, schema=schema, index_params=self._indexes())

    def _schema(self, dimensions: int) -> Any:
        kind = self._m.DataType
        schema = self._client.create_schema(auto_id=False)
        schema.add_field("number", kind.INT64, is_primary=True)
        schema.add_field("text", kind.VARCHAR, max_length=_LONGEST, enable_analyzer=True)
        schema.add_field("created_at", kind.VARCHAR, max_length=40)
        schema.add_field("part", kind.VARCHAR, max_length=16)
        schema.add_field("vector", kind.FLOAT_VECTOR, dim=dimensions)
        schema.add_field("words", kind.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            self._m.Function(
                name="bm25",
                function_type=self._m.FunctionType.BM25,
                input_field_names=["text"],
                output_field_names=["words"],
            )
        )
        return schema

    def _indexes(self) -> Any:
        indexes = self._client.prepare_index_params()
        indexes.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
        how = {"bm25_k1": 1.2, "bm25_b": 0.75}
        indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=how)
        return indexes

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """In batches, then written."""
        for rows in batches:
            for start in range(0, len(rows), _AT_ONCE):
                self._client.insert(_NAME, [_record(row) for row in rows[start : start + _AT_ONCE]])
        self._client.flush(_NAME)
        self._client.load_collection(_NAME)

    def add(self, row: Row) -> None:
        """A batch of one."""
        self._client.insert(_NAME, [_record(row)])

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One search, or a hybrid one."""
        within = "" if part is None else f'part == "{part}"'
        legs = []
        if mode != "vector":
            legs.append(("words", question.text, {"metric_type": "BM25"}))
        if mode != "keyword":
            legs.append(("vector", question.vector.tolist(), {"metric_type": "COSINE"}))
        if len(legs) == 1:
            field, data, how = legs[0]
            found = self._client.search(
                _NAME,
                [data],
                filter=within,
                limit=HITS,
                output_fields=["text"],
                anns_field=field,
                search_params=how,
            )
        else:
            requests = [
                self._m.AnnSearchRequest([data], field, how, limit=_DEPTH, expr=within or None)
                for field, data, how in legs
            ]
            ranker = self._m.RRFRanker(60)
            found = self._client.hybrid_search(_NAME, requests, ranker, limit=HITS, output_fields=["text"])
        return [(int(hit["number"]), hit["entity"]["text"]) for hit in found[0]]

    def words(self, text: str) -> Sequence[str]:
        """As its standard analyser has them."""
        told: list[str] = self._analyser.tokenize(text)
        return told

    def asked(self, question: str) -> Sequence[str]:
        """A word that is asked twice counts twice."""
        return self.words(question)

    def close(self) -> None:
        """Lets go of the file."""
        self._client.close()


def _record(row: Row) -> dict[str, Any]:
    return {
        "number": row.number,
        "text": row.text[: _LONGEST // 4],
        "created_at": row.created_at,
        "part": row.part,
        "vector": row.vector.tolist(),
    }


ADAPTER = MilvusLite
