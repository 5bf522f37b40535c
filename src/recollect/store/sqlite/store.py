"""The Store in one SQLite file: many threads and processes, no daemon."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import apsw

from recollect.query.terms import KeywordQuery
from recollect.store.base import (
    Added,
    Analyser,
    Candidate,
    Generation,
    Loaded,
    NamespaceFacts,
    Pending,
    Record,
    Store,
    Vector,
)
from recollect.store.sqlite import dump, dumped, rows, search, undump, upkeep
from recollect.store.sqlite.connections import Connections
from recollect.store.sqlite.queries import Row, run
from recollect.store.sqlite.writing import Writer
from recollect.store.text import embedded_text
from recollect.times import from_micros, from_micros_or_none, micros_or_none, to_micros
from recollect.types import (
    Document,
    Finding,
    Memory,
    OnDuplicate,
    Progress,
    Receipt,
    Relation,
    Scope,
    Session,
    Usage,
)

if TYPE_CHECKING:
    from recollect.store.sqlite.vectors import Arenas

_STATS = (
    "memories", "passages", "superseded", "deleted", "expired", "first", "last", "documents", "sessions",
    "relations", "vectors", "generations",
)  # fmt: skip


class SqliteStore(Store):
    """A Store in a file; without a path, in memory."""

    def __init__(self, path: Path | None, *, create: bool = True) -> None:
        self._connections = Connections(path, create=create)

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    @cached_property
    def _arenas(self) -> Arenas:
        """Vectors in memory; numpy is imported when they are first asked for."""
        from recollect.store.sqlite.vectors import Arenas

        return Arenas()

    def close(self) -> None:
        self._connections.close()

    def facts(self, namespaces: Sequence[str]) -> Mapping[str, NamespaceFacts]:
        with self._connections.reading() as connection:
            found = search.Namespaces.read(connection, namespaces)
            return {name: space.facts for name, space in found.items()}

    def match(self, scope: Scope, query: KeywordQuery, limit: int) -> list[Candidate]:
        with self._connections.reading() as connection:
            return search.match(connection, scope, query, limit)

    def near(
        self, scope: Scope, generation: Generation, vector: Vector, limit: int, also: Iterable[int] = ()
    ) -> tuple[list[Candidate], Mapping[int, float]]:
        from recollect.store.sqlite.near import near

        with self._connections.reading() as connection:
            return near(connection, self._arenas, scope, generation, vector, limit, also)

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        with self._connections.reading() as connection:
            return search.containing(connection, scope, text, limit)

    def load(self, keys: Sequence[int], now: datetime) -> Mapping[int, Loaded]:
        with self._connections.reading() as connection:
            return search.load(connection, keys, now)

    def neighbours(self, keys: Sequence[int], reach: int, now: datetime) -> Mapping[int, tuple[Memory, ...]]:
        with self._connections.reading() as connection:
            return search.neighbours(connection, keys, reach, now)

    # reading

    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        with self._connections.reading() as connection:
            return run(connection, query, **parameters)

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> list[Memory]:
        found = self._rows("get", namespace=namespace, ids=json.dumps(list(ids)), now=to_micros(now))
        by_id = {row[2]: rows.memory(row) for row in found}
        return [by_id[id] for id in dict.fromkeys(ids) if id in by_id]

    def ids_ending(self, namespace: str, ending: str) -> list[str]:
        escaped = ending.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return [row[0] for row in self._rows("ids_ending", namespace=namespace, pattern=f"%{escaped}")]

    def around(
        self, namespace: str, anchor: Memory, before: int, after: int, now: datetime
    ) -> tuple[list[Memory], list[Memory]]:
        number = self.keys_of(namespace, [anchor.id])[0]
        place = {
            "namespace": namespace,
            "at": to_micros(anchor.created_at),
            "number": number,
            "now": to_micros(now),
        }
        earlier = [rows.memory(row) for row in self._rows("before", **place, limit=before)]
        later = [rows.memory(row) for row in self._rows("after", **place, limit=after)]
        return earlier[::-1], later

    def in_scope(self, scope: Scope, limit: int) -> list[Memory]:
        with self._connections.reading() as connection:
            numbers = search.Namespaces.read(connection, scope.namespaces).numbers
            parameters = rows.scope_parameters(scope, numbers) | {"limit": limit}
            return [rows.memory(row) for row in run(connection, "in_scope", **parameters)]

    def sessions(
        self,
        namespace: str,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> list[Session]:
        found = self._rows(
            "sessions",
            namespace=namespace,
            ids=None if ids is None else json.dumps(list(ids)),
            since=micros_or_none(since),
            until=micros_or_none(until),
            limit=limit,
        )
        return [rows.session(row) for row in found]

    def last_use(self, namespace: str, id: str) -> tuple[str, Usage, int] | None:
        found = self._rows("last_use", namespace=namespace, id=id)
        return (found[0][0], found[0][1], found[0][2]) if found else None

    def relations(self, namespace: str, id: str) -> list[Relation]:
        found = self._rows("relations", namespace=namespace, id=id)
        return [Relation(a, b, type, origin, from_micros(at)) for a, b, type, origin, at in found]

    def documents(self, namespace: str, name: str | None = None) -> list[tuple[Document, bytes]]:
        return [
            (Document(id, space, name, title, count, from_micros(created), from_micros(updated)), hash)
            for id, space, name, title, count, created, updated, hash, _ in self._rows(
                "documents", namespace=namespace, name=name
            )
        ]

    def keys_of(self, namespace: str, ids: Sequence[str]) -> list[int]:
        return [row[0] for row in self._rows("keys_of", namespace=namespace, ids=json.dumps(list(ids)))]

    # writing

    def add(
        self,
        namespace: str,
        records: Sequence[Record],
        *,
        generation: Generation | None,
        on_duplicate: OnDuplicate,
        now: datetime,
    ) -> list[Added]:
        with self._connections.writing() as connection:
            return Writer(connection, namespace, now).add(records, generation, on_duplicate)

    def replace_document(
        self,
        namespace: str,
        document: Document,
        hash: bytes,
        records: Sequence[Record],
        *,
        generation: Generation | None,
        now: datetime,
    ) -> Receipt:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            return writer.replace_passages(writer.document(document, hash), records, generation)

    def change(
        self,
        namespace: str,
        id: str,
        rewrite: Callable[[Memory], Record],
        *,
        generation: Generation | None,
        now: datetime,
        session: str | None,
    ) -> None:
        with self._connections.writing() as connection:
            Writer(connection, namespace, now).change(id, rewrite, generation, session)

    def supersede(self, namespace: str, old: str, new: str, at: datetime, now: datetime) -> None:
        with self._connections.writing() as connection:
            Writer(connection, namespace, now).supersede(old, new, at)

    def relate(self, namespace: str, relation: Relation) -> None:
        with self._connections.writing() as connection:
            Writer(connection, namespace, relation.created_at).relate(relation)

    def unrelate(self, namespace: str, source: str, target: str, type: str | None, now: datetime) -> int:
        with self._connections.writing() as connection:
            return Writer(connection, namespace, now).unrelate(source, target, type)

    def touch(
        self,
        namespace: str,
        keys: Sequence[int],
        amount: float,
        now: datetime,
        *,
        session: str | None,
        usage: Usage,
        uses: int = 1,
    ) -> None:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            if amount or uses:
                writer.touch(keys, amount, uses)
            if session is not None:
                writer.link(keys, writer.session(session), usage)

    def set_deleted(self, namespace: str, ids: Sequence[str], at: datetime | None, now: datetime) -> int:
        with self._connections.writing() as connection:
            return Writer(connection, namespace, now).set_deleted(ids, at)

    def forget(
        self, namespace: str, which: Sequence[str] | Scope | Literal["all", "expired"], now: datetime
    ) -> Receipt:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            receipt = writer.forget(self._which(connection, writer, which))
            if which == "all":
                receipt = replace(receipt, sessions=writer.forget_sessions())
        self._leave_no_trace(writer.number)
        return receipt

    @staticmethod
    def _which(
        connection: apsw.Connection, writer: Writer, which: Sequence[str] | Scope | Literal["all", "expired"]
    ) -> list[int]:
        if isinstance(which, Scope):
            parameters = rows.scope_parameters(which, [writer.number])
            found = run(connection, "to_forget_in_scope", **parameters)
        elif isinstance(which, str):
            found = writer.all_keys(expired=which == "expired")
        else:
            return writer.keys(which)
        return [row[0] for row in found]

    def forget_document(self, namespace: str, name: str, now: datetime) -> Receipt:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            receipt = writer.forget_document(name)
        self._leave_no_trace(writer.number)
        return receipt

    def _leave_no_trace(self, namespace: int) -> None:
        if "_arenas" in self.__dict__:
            self._arenas.forget(namespace)
        self._connections.checkpoint()

    def save_session(self, session: Session, now: datetime, *, extracted: bool = False) -> None:
        with self._connections.writing() as connection:
            Writer(connection, session.namespace, now).save_session(session, extracted=extracted)

    # vectors

    def pending(self, namespace: str, generation: Generation, after: int, limit: int) -> list[Pending]:
        with self._connections.reading() as connection:
            numbers = self._numbers(connection, namespace, generation)
            found = run(connection, "pending", **numbers, after=after, limit=limit)
            return [
                Pending(key, hash, embedded_text(content, speaker, json.loads(headings), title))
                for key, hash, content, speaker, headings, title in found
            ]

    def count_pending(self, namespace: str, generation: Generation) -> int:
        with self._connections.reading() as connection:
            numbers = self._numbers(connection, namespace, generation)
            return int(run(connection, "count_pending", **numbers)[0][0])

    @staticmethod
    def _numbers(connection: apsw.Connection, namespace: str, generation: Generation) -> dict[str, Any]:
        space = run(connection, "namespace", name=namespace)
        found = run(connection, "generation_number", fingerprint=generation.fingerprint)
        return {"namespace": space[0][0] if space else None, "generation": found[0][0] if found else None}

    def set_vectors(
        self, namespace: str, generation: Generation, vectors: Sequence[tuple[Pending, Vector]], now: datetime
    ) -> None:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            number = writer.generation(generation)
            for pending, vector in vectors:
                writer.set_vector(pending.key, number, pending.hash, vector)

    def switch_generation(self, namespace: str, generation: Generation, now: datetime) -> int:
        with self._connections.writing() as connection:
            writer = Writer(connection, namespace, now)
            removed = writer.switch_generation(generation)
        self._arenas.forget(writer.number)
        return removed

    # upkeep

    def stats(self, namespace: str, now: datetime) -> Mapping[str, Any]:
        found = self._rows("stats", namespace=namespace, now=to_micros(now))
        numbers: dict[str, Any] = dict(zip(_STATS, found[0] if found else [0] * len(_STATS), strict=True))
        for name in ("first", "last"):
            numbers[name] = from_micros_or_none(numbers[name] if found else None)
        numbers["generations"] = tuple(json.loads(numbers["generations"])) if found else ()
        numbers |= {"sectors": Counter(), "languages": Counter()}
        for sector, language, count in self._rows("tally", namespace=namespace):
            numbers["sectors"][sector] += count
            numbers["languages"][language] += count
        path = self._connections.path
        return numbers | {"bytes": path.stat().st_size if path else 0}

    def namespaces(self) -> Mapping[str, int]:
        return dict(self._rows("namespace_names"))

    def check(self, analyse: Analyser) -> list[Finding]:
        with self._connections.inspecting() as connection:
            findings = list(upkeep.check(connection, analyse))
            if not self._connections.read_only and not any(finding.check == "file" for finding in findings):
                findings += upkeep.check_words(connection)
            return findings

    def rebuild(self, analyse: Analyser, progress: Progress | None = None) -> None:
        with self._connections.writing() as connection:
            upkeep.rebuild(connection, analyse, progress)

    def dump(self, namespace: str, *, vectors: bool) -> Iterator[dict[str, Any]]:
        records = self._dump(namespace, vectors)
        # In memory a reader keeps writers out, and who reads these may well write.
        yield from records if self._connections.path else list(records)

    def _dump(self, namespace: str, vectors: bool) -> Iterator[dict[str, Any]]:
        with self._connections.reading() as connection:
            found = search.Namespaces.read(connection, [namespace])
            if namespace in found:
                yield from dump.dump(connection, found[namespace].number, vectors=vectors)

    def undump(
        self, namespace: str, records: Iterable[Mapping[str, Any]], analyse: Analyser, now: datetime
    ) -> Mapping[str, int]:
        """The records are read before the transaction: what goes wrong in them is not the store's trouble."""
        with undump.Spool.beside(self._connections.path) as spool:
            for step in dumped.Reader(analyse).steps(records):
                with self._connections.translated():
                    spool.add(step)
            with self._connections.writing() as connection:
                writer = undump.Undump(undump.Restorer(connection, namespace, now))
                for step in spool:
                    writer.write(step)
                writer.finish()
                return writer.counts
