"""A Store on a database that runs named statements: all that does not depend on which database it is."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from recollect.errors import StoreError
from recollect.store import rows
from recollect.store.base import (
    Added,
    Analyser,
    Candidate,
    Found,
    Generation,
    Key,
    Loaded,
    Nearness,
    Pending,
    Record,
    Store,
    Vector,
    Words,
)
from recollect.store.statements import Row, Statements
from recollect.store.text import embedded_text
from recollect.store.writing import Writer
from recollect.times import from_micros, from_micros_or_none
from recollect.types import (
    Document,
    Memory,
    OnDuplicate,
    Place,
    Receipt,
    Relation,
    Scope,
    Session,
    Tuned,
    Usage,
)

_STATS = (
    "memories", "passages", "superseded", "deleted", "expired", "first", "last", "documents", "sessions",
    "relations", "vectors", "generations",
)  # fmt: skip

if TYPE_CHECKING:  # only needed to bring records in: a search starts sooner without
    from recollect.store import dumped
    from recollect.store.undump import Spool, Undump

Result = TypeVar("Result")


class SqlStore(Store):
    """What SQLite and PostgreSQL have in common: the statements have the same names on both."""

    @abstractmethod
    def _read(self, action: Callable[[Statements], Result]) -> Result:
        """What an action reads."""

    @abstractmethod
    def _write(self, namespace: str, now: datetime, action: Callable[[Writer], Result]) -> Result:
        """What an action writes in one transaction; it may be tried again: no other effects."""

    @abstractmethod
    def _spool(self) -> AbstractContextManager[Spool]:
        """Where steps lie before they are written."""

    def _rows(self, query: str, /, **parameters: Any) -> list[Row]:
        return self._read(lambda statements: statements.rows(query, **parameters))

    # candidates

    def search(self, scopes: Sequence[Scope], words: Words | None, nearness: Nearness | None) -> list[Found]:
        with self.asking(scopes, nearness) as asking:
            return asking.search(words)

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        with self.asking((), None) as asking:
            return asking.containing(scope, text, limit)

    def load(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        with self.asking((), None) as asking:
            return asking.load(keys, now)

    # reading

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> list[Memory]:
        found = self._rows("get", namespace=namespace, ids=list(ids), now=now)
        by_id = {row[2]: rows.memory(row) for row in found}
        return [by_id[id] for id in dict.fromkeys(ids) if id in by_id]

    def ids_ending(self, namespace: str, ending: str) -> list[str]:
        ends = f"%{rows.pattern(ending)}"
        return [row[0] for row in self._rows("ids_ending", namespace=namespace, pattern=ends)]

    def around(
        self, namespace: str, anchor: Memory, before: int, after: int, now: datetime
    ) -> tuple[list[Memory], list[Memory]]:
        number = self.keys_of(namespace, [anchor.id])[0]
        place = {"namespace": namespace, "at": anchor.created_at, "number": number, "now": now}
        earlier = [rows.memory(row) for row in self._rows("before", **place, limit=before)]
        later = [rows.memory(row) for row in self._rows("after", **place, limit=after)]
        return earlier[::-1], later

    def sessions(
        self,
        namespace: str,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        older_than: Place | None = None,
        limit: int = 100,
    ) -> list[Session]:
        found = self._rows(
            "sessions",
            namespace=namespace,
            ids=None if ids is None else list(ids),
            since=since,
            until=until,
            older_than=older_than.at if older_than else None,
            older_than_id=older_than.id if older_than else None,
            limit=limit,
        )
        return [rows.session(row) for row in found]

    def last_use(self, namespace: str, id: str) -> tuple[str, Usage, int] | None:
        found = self._rows("last_use", namespace=namespace, id=id)
        return (found[0][0], found[0][1], found[0][2]) if found else None

    def relations(self, namespace: str, ids: Sequence[str], limit: int) -> list[Relation]:
        found = self._rows("relations", namespace=namespace, ids=list(ids), limit=limit)
        return [Relation(a, b, type, origin, from_micros(at)) for a, b, type, origin, at in found]

    def history(self, namespace: str, id: str, limit: int, now: datetime) -> list[Memory]:
        found = self._rows("history", namespace=namespace, id=id, limit=limit, now=now)
        return [rows.memory(row) for row in found]

    def documents(self, namespace: str, name: str | None = None) -> list[tuple[Document, bytes]]:
        return [
            (Document(id, namespace, name, title, count, from_micros(created), from_micros(updated)), hash)
            for id, name, title, count, created, updated, hash in self._rows(
                "documents", namespace=namespace, name=name
            )
        ]

    def keys_of(self, namespace: str, ids: Sequence[str]) -> list[int]:
        return [row[0] for row in self._rows("keys_of", namespace=namespace, ids=list(ids))]

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
        return self._write(namespace, now, lambda writer: writer.add(records, generation, on_duplicate))

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
        return self._write(
            namespace,
            now,
            lambda writer: writer.replace_passages(writer.document(document, hash), records, generation),
        )

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
        self._write(namespace, now, lambda writer: writer.change(id, rewrite, generation, session))

    def supersede(self, namespace: str, old: str, new: str, at: datetime, now: datetime) -> None:
        self._write(namespace, now, lambda writer: writer.supersede(old, new, at))

    def unsupersede(self, namespace: str, id: str, now: datetime) -> str | None:
        return self._write(namespace, now, lambda writer: writer.unsupersede(id))

    def relate(self, namespace: str, relation: Relation) -> None:
        self._write(namespace, relation.created_at, lambda writer: writer.relate(relation))

    def unrelate(self, namespace: str, source: str, target: str, type: str | None, now: datetime) -> int:
        return self._write(namespace, now, lambda writer: writer.unrelate(source, target, type))

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
        def action(writer: Writer) -> None:
            if amount or uses:
                writer.touch(keys, amount, uses)
            if session is not None:
                writer.link(keys, writer.session(session), usage)

        self._write(namespace, now, action)

    def set_deleted(self, namespace: str, ids: Sequence[str], at: datetime | None, now: datetime) -> int:
        return self._write(namespace, now, lambda writer: writer.set_deleted(ids, at))

    def forget(
        self, namespace: str, which: Sequence[str] | Scope | Literal["all", "expired"], now: datetime
    ) -> Receipt:
        def action(writer: Writer) -> Receipt:
            if isinstance(which, Scope):
                receipt = writer.forget(writer.keys_in_scope(rows.scope_parameters(which)))
                return replace(receipt, sessions=writer.forget_empty_sessions(which.sessions))
            if isinstance(which, str):
                receipt = writer.forget(writer.all_keys(expired=which == "expired"))
            else:
                receipt = writer.forget(writer.keys(which))
            return replace(receipt, sessions=writer.forget_sessions()) if which == "all" else receipt

        return self._write(namespace, now, action)

    def forget_document(self, namespace: str, name: str, now: datetime) -> Receipt:
        return self._write(namespace, now, lambda writer: writer.forget_document(name))

    def save_session(self, session: Session, now: datetime, *, extracted: bool = False) -> None:
        self._write(session.namespace, now, lambda writer: writer.save_session(session, extracted=extracted))

    # vectors

    def pending(self, namespace: str, generation: Generation, after: int, limit: int) -> list[Pending]:
        found = self._rows(
            "pending",
            namespace=namespace,
            fingerprint=generation.fingerprint,
            after=after,
            limit=limit,
        )
        return [
            Pending(key, hash, embedded_text(content, speaker, rows.strings(headings), title))
            for key, hash, content, speaker, headings, title in found
        ]

    def count_pending(self, namespace: str, generation: Generation) -> int:
        found = self._rows("count_pending", namespace=namespace, fingerprint=generation.fingerprint)
        return int(found[0][0])

    def set_vectors(
        self, namespace: str, generation: Generation, vectors: Sequence[tuple[Pending, Vector]], now: datetime
    ) -> None:
        def action(writer: Writer) -> None:
            number = writer.generation(generation)
            for pending, vector in vectors:
                writer.set_vector(pending.key, number, pending.hash, vector)

        self._write(namespace, now, action)

    def switch_generation(self, namespace: str, generation: Generation, now: datetime) -> int:
        return self._write(namespace, now, lambda writer: writer.switch_generation(generation))

    def use_weights(self, namespace: str, tuned: Tuned | None, now: datetime) -> None:
        self._write(namespace, now, lambda writer: writer.run("use_weights", tuned=rows.tuned_column(tuned)))

    # upkeep

    def settle(self) -> None:
        pass

    def stats(self, namespace: str, now: datetime) -> Mapping[str, Any]:
        found = self._rows("stats", namespace=namespace, now=now)
        numbers: dict[str, Any] = dict(zip(_STATS, found[0] if found else [0] * len(_STATS), strict=True))
        for name in ("first", "last"):
            numbers[name] = from_micros_or_none(numbers[name] if found else None)
        numbers["generations"] = rows.strings(numbers["generations"]) if found else ()
        numbers |= {"sectors": Counter(), "languages": Counter()}
        for sector, language, count in self._rows("tally", namespace=namespace):
            numbers["sectors"][sector] += count
            numbers["languages"][language] += count
        return numbers | {"bytes": self._bytes()}

    def growth(self, namespace: str, now: datetime) -> tuple[list[tuple[int, str, int]], Mapping[int, int]]:
        days = [(day, sector, count) for day, sector, count in self._rows("growth", namespace=namespace)]
        return days, dict(self._rows("saliences", namespace=namespace, now=now))

    @abstractmethod
    def _bytes(self) -> int:
        """How much room the store takes on the disk."""

    def namespaces(self) -> Mapping[str, int]:
        return dict(self._rows("namespace_names"))

    def contents(self, namespace: str) -> Mapping[str, int]:
        from recollect.store import dump

        found = self._rows("contents", namespace=namespace)
        return dict(zip(map(dump.plural, dump.TYPES), found[0], strict=True)) if found else {}

    def undump(
        self,
        namespace: str,
        records: Iterable[Mapping[str, Any]],
        analyse: Analyser,
        now: datetime,
        *,
        as_it_was: bool = False,
    ) -> Mapping[str, int]:
        """The records are read before the transaction: what goes wrong in them is not the store's trouble."""
        from recollect.store import dumped
        from recollect.store.copying import Copying
        from recollect.store.undump import Undump

        if as_it_was:
            reader = dumped.Reader(analyse, partial(self._title, namespace))
            return self._undump(namespace, now, Copying, list(reader.steps(records)))
        with self._spool() as spool:
            self._fill(spool, dumped.Reader(analyse).steps(records))
            return self._undump(namespace, now, Undump, spool)

    def _undump(
        self, namespace: str, now: datetime, how: type[Undump], steps: Iterable[dumped.Step]
    ) -> Mapping[str, int]:
        def action(writer: Writer) -> Mapping[str, int]:
            undump = how(writer)
            undump.write(steps)
            undump.finish()
            return undump.counts

        return self._write(namespace, now, action)

    def _title(self, namespace: str, document: str) -> str | None:
        return next((found.title for found, _ in self.documents(namespace, document)), None)

    def _fill(self, spool: Spool, steps: Iterator[dumped.Step]) -> None:
        for step in steps:
            try:
                spool.add(step)
            except OSError as error:
                raise StoreError(
                    f"Records can't be kept in the folder for temporary files ({error}): make room there."
                ) from error
