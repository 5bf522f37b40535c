"""How does everything get from one store to another? In parts, each complete, and compared at the end.

A copy that was interrupted is gone on with: what is there already is compared and passed over. Both stores
are read as streams of records in the same order, so that neither needs to fit into memory.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Literal

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.store.base import Store
from recollect.store.dump import TYPES, plural
from recollect.store.text import analyse
from recollect.types import Progress

RECORDS_AT_ONCE = 2_000
"""How many records are written in one transaction: what an interruption may lose."""
CHARACTERS_AT_ONCE = 8_000_000
"""How much text, for records may be long."""
TELL_EVERY = 500

Record = dict[str, Any]
State = Literal["missing", "same", "changed", "extra"]

_KEYS = {
    "generation": ("fingerprint",),
    "session": ("id",),
    "document": ("name",),
    "memory": ("id",),
    "relation": ("source", "target", "relation"),
    "link": ("session", "memory", "usage"),
    "vector": ("memory", "generation"),
}
_IN_ORDER = ("session", "document", "memory")
"""What is dumped in the order that it was written in: what is there must be the first of it."""
_LAST_CHANGES = ("updated_at", "accessed_at", "salience_at", "ended_at", "at")


@dataclass(frozen=True, slots=True)
class Moved:
    """A namespace: its records by type, how many of them were (or are to be) written, and their hash.

    `digest` is the blake2b of every record as JSON, vectors too, which both stores agree on; it is empty as
    long as nothing was verified.
    """

    namespace: str
    counts: Mapping[str, int]
    written: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What became of a migration: every namespace, and whether both stores were found to hold the same."""

    namespaces: tuple[Moved, ...]
    verified: bool


def migrate(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Migrated:
    """Copy namespaces, all unless some are named, into another store, and verify that nothing was lost.

    Interrupted at any point it can be run again and goes on. InvalidInput, before anything is written, when
    the target holds something else in one of these namespaces; StoreError when both differ at the end.
    """
    planned = plan(source, target, namespaces=namespaces, progress=progress)
    for each in planned:
        if each.written:
            _copy(source, target, each, progress)
        else:
            _Part().write(target, each.namespace)  # even one that holds nothing comes along
    return Migrated(tuple(_verify(source, target, each, progress) for each in planned), verified=True)


def plan(
    source: Store,
    target: Store | None,
    *,
    namespaces: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Moved, ...]:
    """What `migrate` would write, namespace by namespace; None is a target that is yet to be made."""
    names = chosen(source, namespaces)
    if target is not None and source.identity() == target.identity():
        raise InvalidInput(f"{target} is source and target at once: name another store as the target.")
    return tuple(_plan(source, target, name, progress) for name in names)


def chosen(source: Store, namespaces: Sequence[str] | None) -> list[str]:
    """The namespaces that are meant, each once; NotFound for one that the source does not have."""
    known = source.namespaces()
    if namespaces is None:
        return list(known)
    for name in namespaces:
        if name not in known:
            raise NotFound(f"There is no namespace {name!r} in {source}: recollect namespaces lists them.")
    return list(dict.fromkeys(namespaces))


# comparing


def _line(record: Mapping[str, Any] | None) -> str:
    """A record as text: the same only for records that are the same to the bit."""
    return json.dumps(record, ensure_ascii=False)


def _key(record: Mapping[str, Any]) -> tuple[str, ...]:
    kind = record["type"]
    return (kind, *(record[name] for name in _KEYS[kind]))


def _named(record: Mapping[str, Any]) -> str:
    kind, *names = _key(record)
    return f"{kind} {' / '.join(names)}"


def _walk(
    source: Iterable[Record], target: Iterator[Record]
) -> Iterator[tuple[State, Record, Record | None]]:
    """Every record of the source, whether the target has it, and as what; then what only the target has.

    What both have must stand in the same order: what the target has elsewhere counts as missing, and extra.
    """
    there = next(target, None)
    for record in source:
        while there is not None and _comes_before(there, record):
            yield "extra", there, there
            there = next(target, None)
        if there is None or _key(there) != _key(record):
            yield "missing", record, None
        else:
            yield "same" if _line(there) == _line(record) else "changed", record, there
            there = next(target, None)
    while there is not None:
        yield "extra", there, there
        there = next(target, None)


def _comes_before(one: Record, other: Record) -> bool:
    return TYPES.index(one["type"]) < TYPES.index(other["type"])


def _plan(source: Store, target: Store | None, namespace: str, progress: Progress | None) -> Moved:
    counts = source.contents(namespace)
    total = sum(counts.values())
    if target is None or not any(target.contents(namespace).values()):
        return Moved(namespace, counts, total)
    bar = _Bar(f"checking {namespace}", total, progress)
    written, missing = 0, set[str]()
    with _dumped(source, namespace) as ours, _dumped(target, namespace) as theirs:
        for state, record, there in _walk(ours, theirs):
            reason = _objection(state, record, there, missing)
            if reason:
                raise InvalidInput(
                    f"The namespace {namespace!r} of {target} is not a part of this copy ({reason}): "
                    "choose an empty store, or forget what is there first."
                )
            if state == "missing":
                missing.add(record["type"])
            written += state != "same"
            bar.advance()
    bar.finish()
    return Moved(namespace, counts, written)


def _objection(state: State, record: Record, there: Record | None, missing: set[str]) -> str | None:
    """Why a target can't become the copy: nothing that is there may get lost."""
    if state == "extra":
        return f"{_named(record)} is there and not in the source, or in another order"
    if there is None:
        return None
    if record["type"] in _IN_ORDER and record["type"] in missing:
        return f"{_named(record)} is there, and one that comes before it is not"
    if state == "changed" and record.get("content") != there.get("content"):
        return f"{_named(record)} has another text there"
    if state == "changed" and any(there.get(name, "") > record.get(name, "") for name in _LAST_CHANGES):
        return f"{_named(record)} was used or changed there since"
    return None


def _dumped(store: Store, namespace: str) -> closing[Any]:
    return closing(store.dump(namespace, vectors=True))


# copying


@dataclass(slots=True)
class _Part:
    """Records on their way into one transaction; the generations go with each, for vectors refer to them."""

    generations: list[Record] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    size: int = 0

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.size += sum(len(value) for value in record.values() if isinstance(value, str))

    @property
    def is_full(self) -> bool:
        return len(self.records) >= RECORDS_AT_ONCE or self.size >= CHARACTERS_AT_ONCE

    def write(self, target: Store, namespace: str) -> None:
        records = [*self.generations, *self.records]
        target.undump(namespace, records, analyse, datetime.now(UTC), as_it_was=True)
        self.records, self.size = [], 0


def _copy(source: Store, target: Store, planned: Moved, progress: Progress | None) -> None:
    """Write what the target does not have yet, or has otherwise, part by part."""
    namespace = planned.namespace
    bar = _Bar(f"copying {namespace}", sum(planned.counts.values()), progress)
    part = _Part()
    with _dumped(source, namespace) as ours, _dumped(target, namespace) as theirs:
        for state, record, _ in _walk(ours, theirs):
            if record["type"] == "generation" and state != "extra":
                part.generations.append(record)
            elif state in ("missing", "changed"):
                part.add(record)
            if part.is_full:
                part.write(target, namespace)
            bar.advance()
    part.write(target, namespace)
    bar.finish()


# verifying


def _verify(source: Store, target: Store, planned: Moved, progress: Progress | None) -> Moved:
    """Read both once more: every record must be the same, in the same order."""
    namespace = planned.namespace
    bar = _Bar(f"verifying {namespace}", sum(planned.counts.values()), progress)
    digest, counts = hashlib.blake2b(digest_size=32), Counter[str]()
    with _dumped(source, namespace) as ours, _dumped(target, namespace) as theirs:
        for record, copy in zip_longest(ours, theirs):
            line = _line(record)
            if line != _line(copy):
                raise StoreError(
                    f"{target} does not hold the same as {source} in the namespace {namespace!r}, first at "
                    f"{_named(record or copy)}: if one was written to meanwhile, run it again; it goes on."
                )
            digest.update(f"{line}\n".encode())
            counts[plural(record["type"])] += 1
            bar.advance()
    bar.finish()
    by_type = {plural(kind): counts[plural(kind)] for kind in TYPES}
    return Moved(namespace, by_type, planned.written, digest.hexdigest())


class _Bar:
    """Tells how far it is, every few hundred records and at the end."""

    def __init__(self, what: str, total: int, progress: Progress | None) -> None:
        self._what = what
        self._total = total
        self._progress = progress
        self._done = 0

    def advance(self) -> None:
        self._done += 1
        if self._done % TELL_EVERY == 0:
            self.finish()

    def finish(self) -> None:
        if self._progress is not None:
            self._progress(self._what, self._done, max(self._done, self._total))
