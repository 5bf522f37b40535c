"""Everything in a namespace as plain records, losing nothing.

The order is fixed: the models, the sessions, the documents, the memories as they were written, then their
edges, links and vectors. Times are ISO 8601 in UTC; vectors and hashes are base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from recollect.store.statements import Statements
from recollect.times import from_micros

_TIMES = {
    "created_at", "updated_at", "accessed_at", "salience_at", "valid_from", "valid_until", "superseded_at",
    "expires_at", "deleted_at", "started_at", "ended_at", "at",
}  # fmt: skip
_JSON = {"tags", "files", "headings", "metadata", "tuned", "tuned_before"}


TYPES = ("generation", "session", "document", "memory", "relation", "link", "vector")
"""Every type of record, in the order of a dump."""


def dump(statements: Statements, namespace: Any, *, vectors: bool) -> Iterator[dict[str, Any]]:
    """The records of a namespace; its vectors only when asked for."""
    for name in TYPES if vectors else TYPES[:-1]:
        yield from _records(statements, name, namespace)


def _records(statements: Statements, name: str, namespace: Any) -> Iterator[dict[str, Any]]:
    for record in statements.records(f"dump_{plural(name)}", namespace=namespace):
        yield {"type": name} | {
            column: _plain(column, value) for column, value in record.items() if value is not None
        }


def plural(type: str) -> str:
    """How records of a type are counted: sessions, memories, …"""
    return "memories" if type == "memory" else f"{type}s"


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _iso(value)
    if name in _JSON:
        return json.loads(value) if isinstance(value, str) else value
    if name == "summary_extracted":
        return bool(value)
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat()
