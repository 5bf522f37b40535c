"""An operation: how it is asked for, what it needs, what it gives. All are listed in reading and writing."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from recollect.doors.http.inputs import Properties, Schema
from recollect.doors.http.problems import Problem
from recollect.doors.schema import Schemas
from recollect.memories import Memories
from recollect.types import Place

Answer = Callable[[Schemas], Schema]


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked for.

    `run` gets the memories of the namespace and what was given, by name; with `progress`, also what to call
    as the work goes on; with `asks_who`, also the token. `reach` says whether it concerns one namespace or
    the whole store, `location` where what was made is found.
    """

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    summary: str
    run: Callable[..., object]
    answer: Any
    query: Properties = field(default_factory=dict)
    body: Schema | None = None
    writes: bool = False
    reach: Literal["namespace", "store"] = "namespace"
    status: int = 200
    progress: bool = False
    lines: bool = False
    asks_who: bool = False
    location: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Page:
    """Some of a list, and where to go on; None at its end."""

    items: Sequence[object]
    next: str | None


def page_of(item: Any) -> Answer:
    """The schema of a page of such items."""

    def schema(schemas: Schemas) -> Schema:
        return {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": schemas.of(item)},
                "next": {"type": ["string", "null"], "description": "The cursor of the next page."},
            },
            "required": ["items", "next"],
            "additionalProperties": False,
        }

    return schema


def with_more(kind: Any, **more: Any) -> Answer:
    """The schema of a type with some further properties."""

    def schema(schemas: Schemas) -> Schema:
        schemas.of(kind)
        named = schemas.named[kind.__name__]
        properties = named["properties"] | {name: schemas.of(each) for name, each in more.items()}
        return {**named, "properties": properties, "required": list(properties)}

    return schema


def cursor(at: datetime, id: str) -> str:
    """A place in a list, as text that means nothing to its reader."""
    return base64.urlsafe_b64encode(json.dumps([at.isoformat(), id]).encode()).decode()


def place(cursor: str | None) -> Place | None:
    """The place that a cursor names."""
    if cursor is None:
        return None
    try:
        moment, id = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        at = datetime.fromisoformat(moment)
        if at.tzinfo is None or not isinstance(id, str) or "\0" in id:
            raise ValueError
        id.encode()
        return Place(at, id)
    except (binascii.Error, ValueError, TypeError) as error:
        raise Problem(422, "That is no cursor: give `next` of the page before, as it is.") from error


def sliced(named: Mapping[str, object], limit: int, cursor: str | None) -> Page:
    """A page of things that are listed by their names."""
    after = place(cursor)
    names = [name for name in sorted(named) if after is None or name > after.id]
    shown = names[:limit]
    more = _after(shown[-1]) if len(names) > limit else None
    return Page([named[name] for name in shown], more)


def _after(name: str) -> str:
    return cursor(datetime.fromisoformat("1970-01-01T00:00:00+00:00"), name)


def within(memories: Memories, session: str | None) -> Memories:
    """The same memories, in a session if one was named."""
    return memories if session is None else memories.in_session(session)
