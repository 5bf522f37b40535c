"""What the contract is told with: a fixed moment, short records, vectors of three numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from recollect import drafting
from recollect.query.terms import parse_query
from recollect.store.base import (
    Added,
    Candidate,
    Found,
    Generation,
    Key,
    Nearness,
    Record,
    Store,
    Text,
    Vector,
    Words,
)
from recollect.store.text import analyse
from recollect.types import Document, Draft, OnDuplicate, Scope

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
HERE = "here"
MODEL = Generation("toy", 3, "toy-1")
NEWER_MODEL = Generation("toy", 2, "toy-2")
_OWN = {field for field in Record.__dataclass_fields__ if field not in Draft.__dataclass_fields__}


def at(hours: float) -> datetime:
    """So many hours after `NOW`, or before it."""
    return NOW + timedelta(hours=hours)


def vector(*numbers: float) -> Vector:
    """A vector of unit length that points there."""
    made = np.array(numbers, np.float32)
    unit: Vector = (made / np.linalg.norm(made)).astype(np.float32)
    return unit


def record(text: str, id: str, **fields: Any) -> Record:
    """A record as Recollect makes them, with some fields set; it was made at `NOW`, unless said otherwise."""
    said = {name: value for name, value in fields.items() if name not in _OWN and name != "vector"}
    written = drafting.record(Draft(text, id=id, **said), NOW)
    return replace(written, **{name: value for name, value in fields.items() if name not in said})


def keep(
    store: Store,
    *records: Record,
    namespace: str = HERE,
    generation: Generation | None = MODEL,
    on_duplicate: OnDuplicate = "reinforce",
    now: datetime = NOW,
) -> list[Added]:
    """Add records."""
    return store.add(namespace, records, generation=generation, on_duplicate=on_duplicate, now=now)


def document(name: str = "guide.md", *, id: str = "d1", title: str = "Guide", hours: float = 0) -> Document:
    """A document without its passages."""
    return Document(id, HERE, name, title, 0, at(hours), at(hours))


def passage(text: str, id: str, *, title: str = "Guide", **fields: Any) -> Record:
    """A passage of a document with this title."""
    analysed = analyse(Text(0, HERE, text, None, "en", (), (), (), "passage", title))
    return record(text, id, kind="passage", near_keys=(), terms=analysed.terms, language="en", **fields)


def keep_document(
    store: Store, *passages: tuple[str, str], namespace: str = HERE, hash: bytes = bytes(16), **about: Any
) -> None:
    """A document with passages, each an id and a text."""
    made = document(**about)
    records = [passage(text, id, title=made.title) for id, text in passages]
    store.replace_document(namespace, made, hash, records, generation=None, now=NOW)


def scope(*namespaces: str, **filters: Any) -> Scope:
    """What may answer: all of the namespace that everything is in, unless said otherwise."""
    return Scope(namespaces or (HERE,), **{"now": NOW, **filters})


def words(text: str, *, limit: int = 100, prefix: bool = True) -> Words:
    """What the keyword leg is asked for a question."""
    return Words(parse_query(text, prefix=prefix), limit)


def nearness(*numbers: float, limit: int = 100, generation: Generation = MODEL) -> Nearness:
    """What the semantic leg is asked for a direction."""
    return Nearness(generation, vector(*numbers), limit)


def names(store: Store, candidates: Iterable[Candidate]) -> list[str]:
    """The ids of candidates, in their order."""
    keys = [candidate.key for candidate in candidates]
    loaded = store.load(keys, NOW)
    return [loaded[key].id for key in keys]


def find(store: Store, text: str, where: Scope | None = None, **asked: Any) -> list[str]:
    """The ids that the keyword leg finds."""
    return names(store, found(store, where or scope(), words(text, **asked), None).by_words)


def find_near(store: Store, *numbers: float, where: Scope | None = None, **asked: Any) -> list[str]:
    """The ids that the semantic leg finds."""
    return names(store, found(store, where or scope(), None, nearness(*numbers, **asked)).by_meaning)


def found(store: Store, where: Scope, asked: Words | None, near: Nearness | None) -> Found:
    """What both legs find in one scope."""
    (only,) = store.search([where], asked, near)
    return only


def similarities(store: Store, answer: Found) -> dict[str, float]:
    """How near what the words found is, by id."""
    keys: list[Key] = [candidate.key for candidate in answer.by_words]
    loaded = store.load(keys, NOW)
    return {loaded[key].id: answer.similarity[key] for key in keys if key in answer.similarity}


def everything(store: Store, namespace: str = HERE) -> list[dict[str, Any]]:
    """All that a namespace holds."""
    return list(store.dump(namespace, vectors=True))


def ids_of(store: Store, namespace: str = HERE) -> list[str]:
    """The id of every memory and passage that is there, deleted ones too, in the order of writing."""
    return [each["id"] for each in everything(store, namespace) if each["type"] == "memory"]
