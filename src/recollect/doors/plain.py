"""What Memories answers, as plain JSON values: every door gives the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from recollect.types import Hit, Recall

_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def plain(value: object) -> Any:
    """Dataclasses become dicts, datetimes ISO 8601 text, sequences lists; the rest is left alone.

    >>> from recollect.types import Finding
    >>> plain((Finding("entries", 2, "2 memories have no keyword entry"),))[0]["count"]
    2
    >>> plain(Recall(query="who?", notes=("keywords answered alone",)))["notes"]
    ['keywords answered alone']
    """
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    names = _field_names(kind)
    if names is not None:
        named = {name: plain(getattr(value, name)) for name in names}
        return named | {"is_superseded": value.is_superseded} if isinstance(value, Hit) else named
    if isinstance(value, Recall):
        return _recall(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted(plain(item) for item in value)
    return str(value) if isinstance(value, PurePath) else value


@lru_cache(maxsize=200)
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _recall(found: Recall) -> dict[str, Any]:
    return {
        "query": found.query,
        "mode": found.mode,
        "fusion": found.fusion,
        "timeframe": plain(found.timeframe),
        "confidence": found.confidence,
        "likelihood": found.likelihood,
        "notes": list(found.notes),
        "hits": [plain(hit) for hit in found],
    }
