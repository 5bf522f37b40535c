"""The Store in one SQLite file: many threads and processes, no daemon."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from recollect.store import rows
from recollect.store.base import (
    Added,
    Analyser,
    Asking,
    Candidate,
    Found,
    Generation,
    Key,
    Loaded,
    NamespaceFacts,
    Nearness,
    Record,
    Words,
)
from recollect.store.sql import SqlStore
from recollect.store.sqlite import search
from recollect.store.sqlite.connections import Connections
from recollect.store.sqlite.derived.background import Background
from recollect.store.sqlite.nearkeys import NearKeys
from recollect.store.sqlite.search import Namespaces, State
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.statements import Row
from recollect.store.writing import MOST_SIMILAR, Known, New, Writer
from recollect.times import to_micros
from recollect.types import Finding, Memory, OnDuplicate, Progress, Receipt, Scope

if TYPE_CHECKING:
    from recollect.store import dumped
    from recollect.store.sqlite.asking import Legs
    from recollect.store.sqlite.derived.newer import Newer
    from recollect.store.sqlite.derived.shelf import Opened, Shelf
    from recollect.store.sqlite.vectors import Arenas
    from recollect.store.undump import Spool

Result = TypeVar("Result")
_NUMBER = itemgetter(0)

FOLDER = "-index"
"""What the folder of the segments is called, after the name of the file."""
WORTH_NUMPY = 300_000
"""FTS5 takes as long for a question in a store of so many memories, or for several in a smaller one, as
importing numpy for the segments does: whoever asks for more has it imported."""
MOST_NEWER = 20_000
"""Beyond so many memories that no segment has, FTS5 is quicker than looking at each of them."""
_LYING = (IndexError, ValueError, MemoryError)
"""What comes of a segment that is not as it should be."""
MOST_COMPLETE = MOST_LAST_FACTS = 1_000
"""Of so many namespaces it is remembered that each memory has its vector, and what was known of them."""


def _size(path: Path) -> int:
    """How long a file is; 0 if somebody has just removed it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class SqliteWriter(Writer):
    """What only SQLite's readers need: they hold vectors in memory and must learn that some are gone."""

    _statements: SqliteStatements

    def keys_in_scope(self, parameters: Mapping[str, Any]) -> list[int]:
        """The memories in a scope; deleted and expired ones too."""
        return super().keys_in_scope({**parameters, "namespaces": [self.namespace]})

    def __init__(self, statements: SqliteStatements, namespace: str, now: datetime) -> None:
        super().__init__(statements, namespace, now)
        self._near_keys = NearKeys(statements, self.namespace)

    def _insert(self, new: Sequence[New]) -> None:
        """By their columns: a value for each name and memory is not put together first to be taken apart."""
        keys, records, *places = zip(*new, strict=True)
        own = zip(*map(self.values, records), strict=True)
        columns = (*own, *places, keys, [self.namespace] * len(new))
        self._statements.many_given("add_memory", self._names, columns)

    def set_near_keys(self, key: int, near_keys: Sequence[int]) -> None:
        """What near-duplicates of this memory will be found by."""
        self._near_keys.soon(key, near_keys)
        if self._near_keys.are_many:
            self._flush_near_keys()

    def finish(self) -> None:
        """Write what still waits; to be called before the transaction ends."""
        super().finish()
        self._flush_near_keys()

    def _flush_near_keys(self) -> None:
        self._flush()
        self._near_keys.flush()

    def _sharing(self, keys: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        self._flush_near_keys()
        sharing = self._near_keys.sharing(keys, MOST_SIMILAR)
        numbers = sorted({number for memories in sharing.values() for number in memories})
        texts = json.loads(self.value("similar_texts", numbers=numbers)) if numbers else []
        known = {text[0]: Known(*text) for text in texts}
        self._known.update(known)
        for key, memories in sharing.items():
            yield key, [number for number in memories if number in known]

    def _remove_near_keys(self, numbers: Sequence[int]) -> int:
        self._flush_near_keys()
        return self._near_keys.remove(numbers)

    def _remove_vectors(self, keys: Sequence[int]) -> int:
        count = super()._remove_vectors(keys)
        self.run("count_removed", count=count)
        return count

    def _note_replaced_vector(self) -> None:
        self.run("count_removed", count=1)

    def switch_generation(self, generation: Generation) -> int:
        """Search this generation from now on; the vectors of others go."""
        count = super().switch_generation(generation)
        self.run("count_removed", count=count)
        return count


class SqliteStore(SqlStore):
    """A Store in a file; without a path, in memory."""

    def __init__(self, path: Path | None, *, create: bool = True) -> None:
        self._connections = Connections(path, create=create)
        self._background = Background(self._connections, lambda: self._shelf)
        self._struck_out = 0
        self._opened: Opened | None = None
        self._last_facts: dict[tuple[str, ...], Mapping[str, NamespaceFacts]] = {}
        self._searched = 0  # memories, by FTS5: those of the store, for each question
        self._folder = Path(f"{path.resolve()}{FOLDER}") if path else None
        self._complete: dict[tuple[str, str], Row] = {}  # states in which each memory had its vector

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    @property
    def is_far(self) -> bool:
        return False

    @cached_property
    def _arenas(self) -> Arenas:
        """Vectors in memory; numpy is imported when they are first asked for."""
        from recollect.store.sqlite.vectors import Arenas

        return Arenas()

    @cached_property
    def _legs(self) -> type[Legs]:
        """What asks both legs, imported when it is first asked for."""
        from recollect.store.sqlite.asking import Legs

        return Legs

    @cached_property
    def _newer(self) -> Newer:
        """What no segment has yet."""
        from recollect.store.sqlite.derived.newer import Newer

        return Newer()

    @cached_property
    def _shelf(self) -> Shelf:
        """The segments beside the file; numpy is imported when they are first asked for."""
        from recollect.store.sqlite.derived.shelf import Shelf

        assert self._folder is not None
        return Shelf(self._folder)

    def __str__(self) -> str:
        return str(self._connections.path or "a store in memory")

    def identity(self) -> str:
        path = self._connections.path
        if path is None:
            return f"memory:{id(self)}"
        with self._connections.translated():
            found = path.stat()
        return f"file:{found.st_dev}:{found.st_ino}"

    def close(self) -> None:
        self._background.close()
        self._connections.close()

    def settle(self) -> None:
        if self._connections.path is not None and not self.read_only:
            with self._connections.translated():
                self._connections.rest()
                self._background.settle()

    def _read(self, action: Callable[[SqliteStatements], Result]) -> Result:
        with self._connections.reading() as connection:
            return action(SqliteStatements(connection))

    def _rows(self, query: str, /, **parameters: Any) -> list[Row]:
        with self._connections.reading(once=True) as connection:
            return SqliteStatements(connection).rows(query, **parameters)

    def add(
        self,
        namespace: str,
        records: Sequence[Record],
        *,
        generation: Generation | None,
        on_duplicate: OnDuplicate,
        now: datetime,
    ) -> list[Added]:
        with self._background.writing(len(records)):
            return self._write(
                namespace, now, lambda writer: writer.add(records, generation, on_duplicate), adding=True
            )

    def _write(
        self, namespace: str, now: datetime, action: Callable[[Writer], Result], *, adding: bool = False
    ) -> Result:
        with self._connections.writing(adding=adding) as connection:
            writer = SqliteWriter(SqliteStatements(connection), namespace, now)
            result = action(writer)
            writer.finish()
            unindexed, change = writer.rows("unindexed")[0]
        self._strike_out(change)
        self._background.notice(unindexed, wrote=True)
        return result

    def _strike_out(self, change: int) -> None:
        """What was removed or changed leaves no trace in the segments."""
        if change <= self._struck_out or self._connections.path is None:
            return
        from recollect.store.sqlite.derived import scrubbing
        from recollect.store.sqlite.derived.shelf import listing

        after = self._struck_out
        outdated = self._read(lambda statements: scrubbing.Outdated.read(statements, self._shelf, after))
        if outdated.opened.is_broken:  # or others took its files away just then
            outdated = self._read(lambda statements: scrubbing.Outdated.read(statements, self._shelf, after))
        scrubbing.strike_out(self._shelf, outdated)
        scrubbing.clear_away(self._shelf, lambda: self._read(listing))
        self._struck_out = change

    def count_pending(self, namespace: str, generation: Generation) -> int:
        """How many memories have no vector of this generation: once there were none, only newer are looked
        at, unless vectors have gone since."""
        which = (namespace, generation.fingerprint)
        given = {"namespace": namespace, "fingerprint": generation.fingerprint}

        def action(statements: SqliteStatements) -> int:
            *state, newest = next(iter(statements.rows("vectors_state", namespace=namespace)), (0,))
            *known, upto = self._complete.get(which, (None,))
            if known == state:
                count = statements.value("count_newer_pending", after=upto, **given)
            else:
                count = statements.value("count_pending", **given)
            if count == 0:
                if len(self._complete) >= MOST_COMPLETE:
                    self._complete.clear()
                self._complete[which] = (*state, newest)
            return int(count)

        return self._read(action)

    # candidates

    def facts(self, namespaces: Sequence[str]) -> Mapping[str, NamespaceFacts]:
        with self._connections.reading(once=True) as connection:
            return Namespaces.read(SqliteStatements(connection), namespaces).facts

    def last_facts(self, namespaces: tuple[str, ...]) -> Mapping[str, NamespaceFacts] | None:
        return self._last_facts.get(namespaces)

    def asking(self, scopes: Sequence[Scope], nearness: Nearness | None) -> AbstractContextManager[Asking]:
        return _Asking(self, scopes, nearness)

    def _begin(
        self,
        statements: SqliteStatements,
        namespaces: Namespaces,
        scope: Scope,
        nearness: Nearness | None,
    ) -> Callable[[Words | None], Found]:
        """What finds the candidates of both legs, given the words."""
        if len(self._last_facts) > MOST_LAST_FACTS:
            self._last_facts = {}
        self._last_facts[scope.namespaces] = namespaces.facts
        opened = self._segments(statements, namespaces.state, nearness)
        ask = partial(self._asked, statements, namespaces, scope, nearness)
        if opened is None or not opened.listed:
            return ask(opened)
        try:
            return partial(self._found, ask, ask(opened))
        except _LYING:
            self._shelf.condemn()
            return ask(None)

    def _found(
        self,
        ask: Callable[[None], Callable[[Words | None], Found]],
        asked: Callable[[Words | None], Found],
        words: Words | None,
    ) -> Found:
        try:
            return asked(words)
        except _LYING:
            self._shelf.condemn()  # a file that lies; the rows do not
            return ask(None)(words)

    def _asked(
        self,
        statements: SqliteStatements,
        namespaces: Namespaces,
        scope: Scope,
        nearness: Nearness | None,
        opened: Opened | None,
    ) -> Callable[[Words | None], Found]:
        if opened is None:
            if nearness is None:
                return lambda words: Found(search.match(statements, namespaces, scope, words))
            from recollect.store.sqlite.derived.shelf import NO_SEGMENTS

            opened = NO_SEGMENTS
        return self._legs(statements, self._arenas, self._newer, opened, namespaces, scope, nearness).found

    def _segments(
        self, statements: SqliteStatements, state: State, nearness: Nearness | None
    ) -> Opened | None:
        """The segments, where they help: a few questions FTS5 has answered before numpy is imported."""
        if self._connections.path is None or not state.memory:
            return None
        if nearness is None and "numpy" not in sys.modules:
            self._searched += state.memory
            if self._searched <= WORTH_NUMPY:
                return None
        opened = self._shelf.at(state.segment, statements)
        if opened is not self._opened:  # other readers must not hold files that are gone
            self._opened = opened
            self._connections.forget(but=statements.connection)
        newer = max(state.memory - opened.words_upto, state.vector - opened.vectors_upto)
        self._background.notice(newer, wrote=False)
        return opened if state.memory - opened.words_upto <= MOST_NEWER else opened._replace(words=())

    def neighbours(self, keys: Sequence[Key], reach: int, now: datetime) -> Mapping[Key, tuple[Memory, ...]]:
        found: dict[Key, list[Memory]] = {}
        for row in self._rows("neighbours", numbers=list(keys), reach=reach, now=now):
            found.setdefault(row[0], []).append(rows.memory(row[1:]))
        return {key: tuple(memories) for key, memories in found.items()}

    def in_scope(self, scope: Scope, limit: int) -> list[Memory]:
        def action(statements: SqliteStatements) -> list[Memory]:
            namespaces = Namespaces.read(statements, scope.namespaces)
            parameters = search.scope_parameters(scope, namespaces)
            if len(namespaces) == 1:
                parameters["filters"] |= {"namespace"}
                parameters["namespace"] = namespaces.numbers[0]
            return [rows.memory(row) for row in statements.rows("in_scope", **parameters, limit=limit)]

        return self._read(action)

    # what leaves traces in memory

    def forget(
        self, namespace: str, which: Sequence[str] | Scope | Literal["all", "expired"], now: datetime
    ) -> Receipt:
        receipt = super().forget(namespace, which, now)
        self._leave_no_trace(namespace)
        return receipt

    def forget_document(self, namespace: str, name: str, now: datetime) -> Receipt:
        receipt = super().forget_document(namespace, name, now)
        self._leave_no_trace(namespace)
        return receipt

    def switch_generation(self, namespace: str, generation: Generation, now: datetime) -> int:
        removed = super().switch_generation(namespace, generation, now)
        self._forget_vectors(namespace)
        return removed

    def _leave_no_trace(self, namespace: str) -> None:
        if "_arenas" in self.__dict__:
            self._forget_vectors(namespace)
        if "_newer" in self.__dict__:
            self._newer.forget()
        self._connections.forget()
        self._connections.checkpoint()

    def _forget_vectors(self, namespace: str) -> None:
        for row in self._rows("namespace", name=namespace):
            self._arenas.forget(row[0])

    # upkeep

    def _bytes(self) -> int:
        path = self._connections.path
        if path is None or self._folder is None:
            return 0
        return path.stat().st_size + sum(map(_size, self._folder.glob("*")))

    def check(self, analyse: Analyser) -> list[Finding]:
        from recollect.store.sqlite import upkeep

        with self._connections.inspecting() as connection:
            findings = list(upkeep.check(SqliteStatements(connection), analyse))
            if not self._connections.read_only and not any(finding.check == "file" for finding in findings):
                findings += upkeep.check_words(connection)
            return findings

    def rebuild(self, analyse: Analyser, progress: Progress | None = None) -> None:
        from recollect.store.sqlite import upkeep

        with self._connections.writing() as connection:
            upkeep.rebuild(SqliteStatements(connection), analyse, progress)
        self.settle()

    def dump(self, namespace: str, *, vectors: bool) -> Iterator[dict[str, Any]]:
        records = self._dump(namespace, vectors)
        # In memory a reader keeps writers out, and who reads these may well write.
        yield from records if self._connections.path else list(records)

    def _dump(self, namespace: str, vectors: bool) -> Iterator[dict[str, Any]]:
        from recollect.store import dump

        with self._connections.reading() as connection:
            statements = SqliteStatements(connection)
            found = Namespaces.read(statements, [namespace])
            if namespace in found:
                yield from dump.dump(statements, found[namespace].number, vectors=vectors)

    def _spool(self) -> AbstractContextManager[Spool]:
        from recollect.store.undump import Spool

        path = self._connections.path
        return Spool.made(folder=str(path.absolute().parent) if path else None, in_memory=path is None)

    def _fill(self, spool: Spool, steps: Iterator[dumped.Step]) -> None:
        for step in steps:
            with self._connections.translated():
                spool.add(step)


class _Asking(AbstractContextManager[Asking]):
    """A question to one consistent state of the file."""

    __slots__ = ("_begun", "_nearness", "_reading", "_scopes", "_statements", "_store", "facts")

    def __init__(self, store: SqliteStore, scopes: Sequence[Scope], nearness: Nearness | None) -> None:
        self._store, self._scopes, self._nearness = store, scopes, nearness
        self._begun: list[Callable[[Words | None], Found]] = []
        self.facts: Mapping[str, NamespaceFacts] | None = None

    def __enter__(self) -> Self:
        self._reading = self._store._connections.reading()
        try:
            self._statements = statements = SqliteStatements(self._reading.__enter__())
            for scope in self._scopes:
                namespaces = Namespaces.read(statements, scope.namespaces)
                self.facts = namespaces.facts
                self._begun.append(self._store._begin(statements, namespaces, scope, self._nearness))
        except BaseException:
            self._reading.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        self._reading.__exit__(*error)

    def search(self, words: Words | None) -> list[Found]:
        return [found(words) for found in self._begun]

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        return search.containing(self._statements, scope, text, limit)

    def load(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        moment = to_micros(now)
        found = self._statements.rows("load", numbers=str(list(keys)), now=moment)
        return rows.loaded(map(_NUMBER, found), found, moment)
