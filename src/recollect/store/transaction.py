"""One transaction's view of one namespace: its statements, the numbers it gives, sessions, generations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from recollect.store.base import Generation, Record, Vector
from recollect.store.statements import Row, Statements
from recollect.types import Document, Session, Usage

Numbered = Literal["memory", "session", "document", "generation"]
_MANY_SESSIONS = 3


class Transaction:
    """One transaction's view of one namespace, which is made when it is not there yet.

    New rows are collected and written together before anything else is asked of the store, or at the end.
    """

    def __init__(self, statements: Statements, namespace: str, now: datetime) -> None:
        self._statements = statements
        self._now = now
        self._waiting: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {}
        self._sessions: dict[str, int] = {}
        self._positions: dict[int, int] = {}
        self._last: dict[Numbered, int] = {}
        self.namespace: Any = namespace
        self.namespace, languages, *self._generations = self._claim()
        self._languages = set(languages.split())

    def _claim(self) -> Row:
        """What the rows call the namespace, its languages, its generation and the next one."""
        self.run("make_namespace", name=self.namespace)
        return self.rows("namespace", name=self.namespace)[0]

    def finish(self) -> None:
        """Write what still waits; to be called before the transaction ends."""
        self._flush()

    def _given(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "now": self._now, **parameters}

    def run(self, query: str, /, **parameters: Any) -> int:
        """How many rows a statement changed."""
        self._flush()
        return self._statements.count(query, **self._given(parameters))

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        """The rows that a statement finds."""
        self._flush()
        return self._statements.rows(query, **self._given(parameters))

    def value(self, query: str, /, **parameters: Any) -> Any:
        """The first column of the first row, or None."""
        self._flush()
        return self._statements.value(query, **self._given(parameters))

    def soon(self, query: str, /, **parameters: Any) -> None:
        """A row that may wait for others of its kind."""
        given = self._given(parameters)
        self.soon_each(query, tuple(given), [tuple(given.values())])

    def soon_each(self, query: str, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows that may wait, each with a value for every one of the names."""
        if query not in self._waiting:
            self._waiting[query] = (names, [])
        wanted, waiting = self._waiting[query]
        assert wanted is names or wanted == names, f"{query} is always given the same"
        waiting.extend(rows)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for query, (names, rows) in waiting.items():
            self._many(query, names, rows)

    def _many(self, query: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        self._statements.many(query, names, rows)

    def next_number(self, kind: Numbered) -> int:
        """A number that no row of this kind has had."""
        self._last[kind] = self._last_of(kind) + 1
        return self._last[kind]

    def _last_of(self, kind: Numbered) -> int:
        if not self._last:
            self._last = self._last_numbers()
        return self._last[kind]

    def _last_numbers(self) -> dict[Numbered, int]:
        memory, session, document, generation = self.rows("last_numbers")[0]
        return {"memory": memory, "session": session, "document": document, "generation": generation}

    # sessions

    def session(self, id: str, started_at: datetime | None = None) -> int:
        """The number of a session, which is made when it is not there yet."""
        if id not in self._sessions:
            offered = self._last_of("session") + 1
            number = self.value("make_session", number=offered, id=id, started_at=started_at or self._now)
            self.know_session(id, number)
        return self._sessions[id]

    def _make_sessions(self, records: Sequence[Record]) -> None:
        """The sessions of these records, each begun with the earliest of them."""
        began: dict[str, datetime] = {}
        for record in records:
            if record.session is not None:
                known = began.setdefault(record.session, record.created_at)
                began[record.session] = min(known, record.created_at)
        if len(began) < _MANY_SESSIONS:
            for id, started_at in began.items():
                self.session(id, started_at)
        else:
            self._make_many_sessions(began)

    def _make_many_sessions(self, began: Mapping[str, datetime]) -> None:
        """The same by two statements instead of two for each."""
        known: dict[str, int] = dict(self.rows("copy_sessions_known", ids=list(began)))
        for id in began:
            if id not in known:
                self._positions[self.next_number("session")] = -1  # nobody is there yet
            self.know_session(id, known.get(id, self._last_of("session")))
        rows = [(self._sessions[id], self.namespace, id, started_at) for id, started_at in began.items()]
        self.soon_each("make_sessions", ("number", "namespace", "id", "started_at"), rows)

    def save_session(self, session: Session, *, extracted: bool = False) -> None:
        """Make a session, or write over it."""
        offered = self._last_of("session") + 1
        values = session_values(session, extracted=extracted)
        self.know_session(session.id, self.value("save_session", number=offered, **values))

    def know_session(self, id: str, number: int) -> None:
        """A session that is there, and its number."""
        self._sessions[id] = number
        self._last["session"] = max(number, self._last_of("session"))

    def link(self, keys: Sequence[int], session: int, usage: Usage) -> None:
        """A session used these memories; one that was removed meanwhile is passed over."""
        self.run("link", numbers=list(keys), session=session, usage=usage)

    # vectors

    def generation(self, generation: Generation) -> int:
        """Its number. The first of a namespace is searched at once, a further one when it is complete."""
        number, _ = self.make_generation(generation)
        if number not in self._generations:
            self.run("use_generation", generation=number)
            searched = self._generations[0]
            self._generations = [number, None] if searched is None else [searched, number]
        return number

    def make_generation(self, generation: Generation) -> tuple[int, bool]:
        """Its number, and whether it was not known before."""
        number: int | None = self.value("generation_number", fingerprint=generation.fingerprint)
        if number is not None:
            return number, False
        number = self.next_number("generation")
        self.run("make_generation", number=number, **generation._asdict())
        return number, True

    def set_vector(self, key: int, generation: int, hash: bytes, vector: Vector) -> None:
        """Keep a vector, unless the text that it was made from has changed."""
        self.soon("set_vector", generation=generation, memory=key, hash=hash, embedding=vector)

    def switch_generation(self, generation: Generation) -> int:
        """Search this generation from now on; the vectors of others go."""
        number = self.generation(generation)
        self.run("switch_generation", generation=number)
        return self.run("remove_other_generations", generation=number)

    def learn_languages(self, records: Sequence[Record]) -> None:
        """The languages of these records become languages of the namespace."""
        languages = {record.language for record in records}
        if not languages <= self._languages:
            self._languages |= languages
            self.run("learn_languages", languages=" ".join(sorted(self._languages)))


def session_values(session: Session, *, extracted: bool) -> dict[str, Any]:
    """A session's columns."""
    return {
        "id": session.id,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "agent": session.agent,
        "summary": session.summary,
        "extracted": extracted,
    }


def document_values(document: Document, hash: bytes) -> dict[str, Any]:
    """A document's columns."""
    return {
        "id": document.id,
        "name": document.name,
        "title": document.title,
        "hash": hash,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }
