"""Qdrant Edge: sparse BM25 vectors of its own embedder and dense vectors, fused by it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.base import HITS, Hit, Mode, Peer, Question, Row

_DEPTH = 50
_K = 1.2
_EVERY = 10


class QdrantEdge(Peer):
    """HNSW for the vectors as it comes, Modifier.Idf for the words, an index on the part."""

    requirements = ("qdrant-edge-py==0.9.0", "numpy==2.4.6")
    hybrid_is = "sparse BM25 + HNSW, its RRF, 50 of each"
    durable = "flush() included; it is not optimised after each"
    words_are = "its embedder's token ids"
    known_settings = ("ef",)

    def __init__(self, folder: Path, dimensions: int) -> None:
        import qdrant_edge

        self._q: Any = qdrant_edge
        self._shard_folder, self._settings = folder / "shard", folder / "settings.json"
        # without normalisation by length a value tells how often a token occurs
        self._counter = self._q.Bm25(self._q.Bm25Config(k=_K, b=0.0))
        if self._settings.exists():
            self._shard = self._q.EdgeShard.load(str(self._shard_folder))
            self._embed_with(json.loads(self._settings.read_text("utf-8"))["average"])
            return
        self._shard_folder.mkdir()
        dense = self._q.EdgeVectorParams(size=dimensions, distance=self._q.Distance.Cosine)
        sparse = self._q.EdgeSparseVectorParams(modifier=self._q.Modifier.Idf)
        config = self._q.EdgeConfig(vectors={"dense": dense}, sparse_vectors={"words": sparse})
        self._shard = self._q.EdgeShard.create(str(self._shard_folder), config)

    def _embed_with(self, average: float) -> None:
        self._bm25 = self._q.Bm25(self._q.Bm25Config(k=_K, b=0.75, avg_len=average))

    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """The average length, which BM25 needs beforehand, comes from rows of all times."""
        all_rows = list(batches)
        sample = [row for rows in all_rows for row in rows[::_EVERY]]
        average = sum(len(self.words(row.text)) for row in sample) / len(sample)
        self._settings.write_text(json.dumps({"average": average}), "utf-8")
        self._embed_with(average)
        index = self._q.UpdateOperation.create_field_index("part", self._q.PayloadSchemaType.Keyword)
        self._shard.update(index)
        for rows in all_rows:
            self._shard.update(self._q.UpdateOperation.upsert_points([self._point(row) for row in rows]))
        self._shard.optimize()
        self._shard.flush()

    def _point(self, row: Row) -> Any:
        vectors = {"dense": row.vector.tolist(), "words": self._bm25.embed_document(row.text)}
        payload = {"text": row.text, "created_at": row.created_at, "part": row.part}
        return self._q.Point(row.number, vectors, payload)

    def add(self, row: Row) -> None:
        """An upsert and a flush."""
        self._shard.update(self._q.UpdateOperation.upsert_points([self._point(row)]))
        self._shard.flush()

    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """One query."""
        q = self._q
        within = None
        if part is not None:
            within = q.Filter(must=[q.FieldCondition("part", match=q.MatchValue(part))])
        legs = []
        if mode != "vector":
            legs.append(q.Query.Nearest(self._bm25.embed_query(question.text), using="words"))
        if mode != "keyword":
            legs.append(q.Query.Nearest(question.vector.tolist(), using="dense"))
        how = q.SearchParams(hnsw_ef=self.settings.get("ef"))
        if len(legs) == 1:
            request = q.QueryRequest(
                limit=HITS, query=legs[0], filter=within, params=how, with_payload=["text"]
            )
        else:
            prefetches = [q.Prefetch(limit=_DEPTH, query=leg, filter=within, params=how) for leg in legs]
            request = q.QueryRequest(
                limit=HITS, query=q.Fusion.Rrf(k=60), prefetches=prefetches, with_payload=["text"]
            )
        return [(int(point.id), point.payload["text"]) for point in self._shard.query(request)]

    def words(self, text: str) -> Sequence[int]:
        """Token ids, each as often as it occurs."""
        counted = self._counter.embed_document(text)
        return [
            token
            for token, value in zip(counted.indices, counted.values, strict=True)
            for _ in range(round(value * _K / (_K + 1 - value)))
        ]

    def close(self) -> None:
        """Lets go of the files."""
        self._shard.close()


ADAPTER = QdrantEdge
