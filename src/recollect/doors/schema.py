"""The JSON that the doors give, described: JSON Schema (2020-12) made from the types themselves."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from recollect.types import Hit, Recall

Schema = dict[str, Any]
REFERENCE = "#/$defs/"
_SIMPLE: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Any: {},
    object: {},
}


class Schemas:
    """Schemas that refer to each other: `of` gives one for a type, `named` holds those referred to.

    A door that may leave something out says in `required` what is always there, type by type.

    >>> from recollect.types import Leg
    >>> schemas = Schemas()
    >>> schemas.of(tuple[Leg, ...])
    {'type': 'array', 'items': {'$ref': '#/$defs/Leg'}}
    >>> schemas.named["Leg"]["properties"]["rank"]
    {'type': 'integer'}
    """

    def __init__(
        self, reference: str = REFERENCE, required: Mapping[type[Any], Sequence[str]] | None = None
    ) -> None:
        self.named: dict[str, Schema] = {}
        self._reference = reference
        self._required = required or {}

    def properties(self, kind: type[Any]) -> dict[str, Schema]:
        """The schema of each property of what `plain` makes of a value of this type."""
        if kind is Recall:
            return {name: self.of(hint) for name, hint in _recall().items()}
        if not is_dataclass(kind):
            raise TypeError(f"There is no schema for {kind!r}.")
        hints = get_type_hints(kind)
        named = {field.name: self.of(hints[field.name]) for field in fields(kind)}
        return named | {"is_superseded": self.of(bool)} if kind is Hit else named

    def of(self, annotation: Any) -> Schema:
        """The schema of what `plain` makes of a value of this type."""
        if annotation in _SIMPLE:
            return dict(_SIMPLE[annotation])
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            return {"type": "string", "enum": list(inner)}
        if origin in (Union, types.UnionType):
            return self._any_of(inner)
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if origin is not None and issubclass(origin, (Sequence, Iterable)):
            return {"type": "array", "items": self.of(inner[0])}
        return self._reference_to(annotation)

    def _any_of(self, choices: Iterable[Any]) -> Schema:
        schemas = [self.of(choice) for choice in choices]
        simple = [schema["type"] for schema in schemas if schema.keys() == {"type"}]
        return {"type": simple} if len(simple) == len(schemas) else {"anyOf": schemas}

    def _reference_to(self, kind: type[Any]) -> Schema:
        name = kind.__name__
        if name not in self.named:
            self.named[name] = {}  # it may refer to itself
            self.named[name] = self._object(kind)
        return {"$ref": f"{self._reference}{name}"}

    def _object(self, kind: type[Any]) -> Schema:
        properties = self.properties(kind)
        return {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": properties,
            "required": list(self._required.get(kind, properties)),
            "additionalProperties": False,
        }


def _recall() -> dict[str, Any]:
    hints = get_type_hints(Recall.__init__)
    for name in ("confidence", "likelihood"):
        hints[name] = get_type_hints(getattr(Recall, name).fget)["return"]
    named = ("query", "mode", "fusion", "timeframe", "confidence", "likelihood", "notes")
    return {name: hints[name] for name in named} | {"hits": list[Hit]}
