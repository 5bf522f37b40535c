"""Everything in a namespace as plain records, losing nothing.

The order is fixed: the models, the sessions, the documents, the memories as they were written, then their
edges, links and vectors. Times are ISO 8601 in UTC; vectors and hashes are base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import apsw

from recollect.store.sqlite.queries import Row, queries, run
from recollect.times import from_micros

_TIMES = {
    "created_at", "updated_at", "accessed_at", "salience_at", "valid_from", "valid_until", "superseded_at",
    "expires_at", "deleted_at", "started_at", "ended_at", "at",
}  # fmt: skip
_LISTS = {"tags", "files", "headings", "metadata"}


def dump(connection: apsw.Connection, namespace: int, *, vectors: bool) -> Iterator[dict[str, Any]]:
    """The records of a namespace; its vectors only when asked for."""
    for record in _rows(connection, "dump_generations", "generation", namespace):
        yield {name: record[name] for name in ("type", "model", "dimensions", "fingerprint")}
    for name in ("session", "document", "memory"):
        for record in _rows(connection, f"dump_{plural(name)}", name, namespace):
            record.pop("number", None)
            yield record
    for a, b, type, origin, at in run(connection, "dump_relations", namespace=namespace):
        yield {
            "type": "relation",
            "source": a,
            "target": b,
            "relation": type,
            "origin": origin,
            "at": _iso(at),
        }
    for session, memory, usage, at in run(connection, "dump_links", namespace=namespace):
        yield {"type": "link", "session": session, "memory": memory, "usage": usage, "at": _iso(at)}
    if vectors:
        yield from _vectors(connection, namespace)


def _vectors(connection: apsw.Connection, namespace: int) -> Iterator[dict[str, Any]]:
    cursor: Iterator[Row] = connection.execute(queries()["dump_vectors"], {"namespace": namespace})
    for id, fingerprint, hash, blob in cursor:
        yield {
            "type": "vector",
            "memory": id,
            "generation": fingerprint,
            "hash": _base64(hash),
            "embedding": _base64(blob),
        }


def plural(type: str) -> str:
    """How records of a type are counted: sessions, memories, …"""
    return "memories" if type == "memory" else f"{type}s"


def _rows(connection: apsw.Connection, query: str, type: str, namespace: int) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(queries()[query], {"namespace": namespace})
    for row in cursor:
        names = [str(column[0]) for column in cursor.description]
        yield {"type": type} | {
            name: _plain(name, value) for name, value in zip(names, row, strict=True) if value is not None
        }


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _iso(value)
    if name in _LISTS:
        return json.loads(value)
    if name == "summary_extracted":
        return bool(value)
    return _base64(value) if isinstance(value, bytes) else value


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat()


def _base64(blob: bytes) -> str:
    return base64.b64encode(blob).decode("ascii")
