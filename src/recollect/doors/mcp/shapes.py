"""The structured content of each tool, described: JSON Schema made from the types."""

from __future__ import annotations

from typing import Any

from recollect.doors.schema import Schema, Schemas
from recollect.types import (
    Context,
    Hit,
    Memory,
    Preview,
    Recall,
    Receipt,
    Relation,
    Remembered,
    Session,
    Successor,
)

_ALWAYS: dict[type[Any], tuple[str, ...]] = {
    Hit: ("memory", "score"),
    Memory: ("id",),
    Preview: ("id",),
    Session: ("id",),
    Successor: ("id",),
}
"""What is there even where a budget leaves no room for the rest."""

_MORE: Schema = {"type": "string", "description": "What was left out, and how to get it."}


def schema_of(tool: str) -> Schema:
    """The output schema of a tool."""
    schemas = Schemas(required=_ALWAYS)
    properties, required = _PROPERTIES[tool](schemas)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **({"$defs": schemas.named} if schemas.named else {}),
    }


_Described = tuple[dict[str, Schema], list[str]]


def _search(schemas: Schemas) -> _Described:
    return schemas.properties(Recall) | {"more": _MORE}, ["confidence", "hits"]


def _timeline(schemas: Schemas) -> _Described:
    listed = {"type": "array", "items": schemas.of(Preview), "description": "Oldest first."}
    anchor = {"type": ["string", "null"], "description": "The id that was asked for."}
    return {"previews": listed, "anchor": anchor, "more": _MORE}, ["previews", "anchor"]


def _get(schemas: Schemas) -> _Described:
    whole: Schema = {
        "type": "object",
        "properties": schemas.properties(Memory)
        | {
            "relations": schemas.of(list[Relation]),
            "part": {"type": "integer", "description": "Which part of a long text `content` is."},
            "parts": {"type": "integer", "description": "How many parts the text has."},
        },
        "required": ["id", "content"],
        "additionalProperties": False,
    }
    return {"memories": {"type": "array", "items": whole}, "more": _MORE}, ["memories"]


def _context(schemas: Schemas) -> _Described:
    return schemas.properties(Context), [
        "text",
        "tokens",
        "memories",
        "left_out",
        "confidence",
    ]


def _sessions(schemas: Schemas) -> _Described:
    return {"sessions": schemas.of(list[Session]), "more": _MORE}, ["sessions"]


def _remember(schemas: Schemas) -> _Described:
    properties = schemas.properties(Remembered)
    return properties, ["id", "outcome", "embedded"]


def _supersede(schemas: Schemas) -> _Described:
    ids = {"old": schemas.of(str), "new": schemas.of(str)}
    return ids, list(ids)


def _relate(schemas: Schemas) -> _Described:
    properties = schemas.properties(Relation)
    return properties, list(properties)


def _forget(schemas: Schemas) -> _Described:
    properties = schemas.properties(Receipt)
    return properties, list(properties)


_PROPERTIES = {
    "timeline": _timeline,
    "search": _search,
    "get": _get,
    "remember": _remember,
    "supersede": _supersede,
    "relate": _relate,
    "forget": _forget,
    "context": _context,
    "sessions": _sessions,
}
