"""The Store in PostgreSQL: as many writers as there are namespaces, and three round trips a recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from recollect.errors import StoreError
from recollect.store import dump, rows, upkeep
from recollect.store.base import (
    Analyser,
    Asking,
    Candidate,
    Found,
    Key,
    Loaded,
    NamespaceFacts,
    Nearness,
    Words,
)
from recollect.store.postgres import administration, search
from recollect.store.postgres.address import Address
from recollect.store.postgres.connections import Connections, is_read_only, may_write
from recollect.store.postgres.failures import translated
from recollect.store.postgres.indexes import SETTINGS, WITHOUT_INDEX, Indexed, pays
from recollect.store.postgres.statements import Asked, PostgresStatements
from recollect.store.postgres.writing import PostgresWriter, entry
from recollect.store.sql import SqlStore
from recollect.store.statements import Row, Statements
from recollect.store.undump import Spool
from recollect.store.writing import Writer
from recollect.times import to_micros
from recollect.types import Finding, Memory, Place, Progress, Scope

Result = TypeVar("Result")
_MENDED = ("vectors", "relations", "links", "successors", "sessions", "documents", "near_keys")


class PostgresStore(SqlStore):
    """A Store in a schema of a database; every statement names its namespace."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        address = Address.parse(url)
        self._connections = Connections(address)
        self._large: dict[str, search.Large] = {}
        with translated(address), self._connections.connect() as connection:
            administration.make(connection, address, create=create)
            self._connections.read_only = is_read_only(connection)
            self._connections.may_write = may_write(connection, address)

    @property
    def read_only(self) -> bool:
        return self._connections.read_only or not self._connections.may_write

    @property
    def is_far(self) -> bool:
        return True

    def __str__(self) -> str:
        return str(self._connections.address)

    def identity(self) -> str:
        address = self._connections.address
        try:
            found = self._rows("identity")
        except StoreError:  # not every server tells
            return str(address)
        return "/".join(["postgresql:", *found[0], address.schema])

    def close(self) -> None:
        self._connections.close()

    def _read(self, action: Callable[[Statements], Result]) -> Result:
        return self._connections.read(action)

    def _write(self, namespace: str, now: datetime, action: Callable[[Writer], Result]) -> Result:
        def attempt(statements: PostgresStatements) -> tuple[Result, int | None]:
            writer = PostgresWriter(statements, namespace, now)
            result = action(writer)
            writer.finish()
            return result, writer.memories_if_outgrown

        result, memories = self._connections.write(attempt)
        if memories is not None:
            self._connections.try_once(lambda statements: statements.look_again(memories))
        return result

    def _together(self, asked: Sequence[Asked], settings: Sequence[str] = ()) -> list[list[Row]]:
        """The rows of several statements, in one round trip."""
        if not asked:
            return []
        return self._connections.read(lambda statements: statements.together(asked, settings))

    # candidates

    def facts(self, namespaces: Sequence[str]) -> Mapping[str, NamespaceFacts]:
        found = self._together([("facts", {"namespace": namespace}) for namespace in namespaces])
        facts: dict[str, NamespaceFacts] = {}
        for namespace, answer in zip(namespaces, found, strict=True):
            for languages, indexed, memories, tuned, before, *generations in answer:
                facts[namespace] = rows.facts(languages, tuned, before, tuple(generations))
                searched, _, dimensions, fingerprint = generations[:4]
                is_indexed = indexed is not None and indexed == searched
                index = Indexed(indexed, dimensions, fingerprint) if is_indexed else None
                if index is not None or memories > search.FEW:  # for the search that follows
                    self._large[namespace] = search.Large(memories, index)
                else:
                    self._large.pop(namespace, None)
        return facts

    def last_facts(self, namespaces: tuple[str, ...]) -> None:
        """They are always read: a search needs to know how large a namespace is."""

    def asking(self, scopes: Sequence[Scope], nearness: Nearness | None) -> AbstractContextManager[Asking]:
        return nullcontext(_Asking(self, scopes, nearness))

    def _candidates(
        self, scopes: Sequence[Scope], words: Words | None, nearness: Nearness | None
    ) -> list[Found]:
        """Of both legs in each of the scopes, all asked in one journey."""
        questions = list(search.questions(scopes, words, nearness, self._large))
        settings = SETTINGS if any(question.asked[0] == "near_by_index" for question in questions) else ()
        answers = self._together([question.asked for question in questions], settings)
        more = {i: search.again(question, answers[i]) for i, question in enumerate(questions)}
        further = {i: question for i, question in more.items() if question is not None}
        for i, answer in zip(further, self._together([each.asked for each in further.values()]), strict=True):
            questions[i], answers[i] = further[i], answer
        return search.found(len(scopes), list(zip(questions, answers, strict=True)))

    def _containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        if "\0" in text:
            return []
        found = self._in_namespaces("substring", scope, pattern=f"%{rows.pattern(text)}%", limit=limit)
        candidates = [rows.candidate(row[1:], row[0], namespace) for namespace, row in found]
        return sorted(candidates, key=lambda each: each.created, reverse=True)[:limit]

    def in_scope(self, scope: Scope, limit: int) -> list[Memory]:
        found = [
            rows.memory(row)
            for part in self._after_the_last(scope)
            for _, row in self._in_namespaces("in_scope", part, limit=limit)
        ]
        newest = sorted(found, key=lambda memory: memory.created_at, reverse=True)[:limit]
        return newest[::-1]

    def _after_the_last(self, scope: Scope) -> list[Scope]:
        """What may follow the last one seen: of its moment, nothing of the namespaces before its own."""
        last, names = scope.older_than, scope.namespaces
        if last is None or len(names) == 1:
            return [scope]
        own = max((i for i, name in enumerate(names) if self.keys_of(name, [last.id])), default=0)
        before = Place(last.at - timedelta(microseconds=1), "")
        return [
            replace(scope, namespaces=names[:own], older_than=before),
            replace(scope, namespaces=names[own:]),
        ]

    def _in_namespaces(self, query: str, scope: Scope, **parameters: Any) -> list[tuple[str, Row]]:
        given = rows.scope_parameters(scope) | parameters
        found = self._together([(query, given | {"namespace": each}) for each in scope.namespaces])
        return [(name, row) for name, answer in zip(scope.namespaces, found, strict=True) for row in answer]

    def _loaded(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        """These memories, as they stand."""
        found = self._by_namespace("load", keys, now=now)
        known = [(namespace, row[0]) for namespace, row in found]
        return rows.loaded(known, [row for _, row in found], to_micros(now))

    def neighbours(self, keys: Sequence[Key], reach: int, now: datetime) -> Mapping[Key, tuple[Memory, ...]]:
        found: dict[Key, list[Memory]] = {}
        for namespace, row in self._by_namespace("neighbours", keys, reach=reach, now=now):
            found.setdefault((namespace, row[0]), []).append(rows.memory(row[1:]))
        return {key: tuple(memories) for key, memories in found.items()}

    def _by_namespace(self, query: str, keys: Sequence[Key], **parameters: Any) -> list[tuple[str, Row]]:
        numbers: dict[str, list[int]] = {}
        for namespace, number in keys:  # type: ignore[misc]  # keys of ours come with their namespace
            numbers.setdefault(namespace, []).append(number)
        found = self._together(
            [(query, parameters | {"namespace": name, "numbers": some}) for name, some in numbers.items()]
        )
        return [(name, row) for name, answer in zip(numbers, found, strict=True) for row in answer]

    # upkeep

    def stats(self, namespace: str, now: datetime) -> Mapping[str, Any]:
        numbers = super().stats(namespace, now)
        facts = self.facts([namespace]).get(namespace)
        large = self._large.get(namespace)
        if facts is None or facts.generation is None or large is None or large.indexed is not None:
            return numbers
        note = WITHOUT_INDEX.format(vectors=numbers["vectors"])
        return {**numbers, "notes": [note] if pays(numbers["vectors"], facts.generation.dimensions) else []}

    def _bytes(self) -> int:
        address = self._connections.address
        return self._connections.read(lambda each: administration.size(each.connection, address))

    def check(self, analyse: Analyser) -> list[Finding]:
        found: Counter[str] = Counter()
        names = [name for name in upkeep.CHECKS if name != "ghosts"]
        for namespace in self.namespaces():
            count = partial(upkeep.counts, names=names, analyse=analyse, stored=entry, namespace=namespace)
            found += self._connections.read(count)
        return list(upkeep.findings(found))

    def rebuild(self, analyse: Analyser, progress: Progress | None = None) -> None:
        """One namespace after the other, each in one transaction."""
        total, done = sum(self.namespaces().values()), 0
        for namespace in self.namespaces():
            done += self._connections.write(partial(_rebuild, namespace=namespace, analyse=analyse))
            if progress:
                progress("rebuilding", done, max(total, done))

    def dump(self, namespace: str, *, vectors: bool) -> Iterator[dict[str, Any]]:
        with self._connections.snapshot() as statements:
            # All will be read: without this, PostgreSQL prefers what gives the first rows soon and the rest
            # very late, at least where it has not counted the tables yet.
            statements.connection.execute("SET LOCAL cursor_tuple_fraction = 1")
            yield from dump.dump(statements, namespace, vectors=vectors)

    def _spool(self) -> AbstractContextManager[Spool]:
        return Spool.made()


class _Asking(NamedTuple):
    """A question: the server is asked for both legs at once, when the words are known, too."""

    store: PostgresStore
    scopes: Sequence[Scope]
    nearness: Nearness | None
    facts: None = None

    def search(self, words: Words | None) -> list[Found]:
        return self.store._candidates(self.scopes, words, self.nearness)

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        return self.store._containing(scope, text, limit)

    def load(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        return self.store._loaded(keys, now)


def _rebuild(statements: Statements, namespace: str, analyse: Analyser) -> int:
    """Everything derived of a namespace, made anew from its rows; how many there are."""
    statements.rows("namespace", namespace=namespace)  # nobody else writes there meanwhile
    for name in _MENDED:
        statements.count(f"mend_{name}", namespace=namespace)
    done = 0
    for text, terms in upkeep.texts(statements, namespace=namespace):
        analysed = analyse(text)
        upkeep.rewrite(statements, text, terms, analysed, entry)
        keys = [(text.namespace, key, text.key) for key in set(analysed.near_keys)]
        statements.many("add_near_key", ("namespace", "key", "memory"), keys)
        done += 1
    statements.count("mend_namespaces", namespace=namespace)
    return done
