"""The named statements on a SQLite connection."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import apsw

from recollect.store.statements import Row, Statements, statement
from recollect.times import to_micros

PACKAGE = "recollect.store.sqlite"
_PARAMETER = re.compile(r":(\w+)")
_json = json.JSONEncoder(ensure_ascii=False, default=bytes.hex).encode
_VALUES = re.compile(r"\bVALUES (\(.+?\))", re.DOTALL)
_BETWEEN = re.compile(r",\s+")
_LISTED = re.compile(r"\(([^()]+)\)")
_ROWS_AT_ONCE = (2_000, 250, 32, 8)
_LONGEST = 16_000
"""Statements that are longer are not kept prepared by apsw."""
_MOST_KNOWN = 100
_FOR_TRIGGERS = {"add_memory": "add_keyword_entries"}
"""What does the same as a statement's triggers, for all rows between two. FTS5 writes what it has gathered
whenever a statement with triggers begins, and merges it with the rest: once for many rows is far less."""
_MANY_IN_A_ROW = 100
Known = TypeVar("Known")
_PLAIN = frozenset({str, int, float, bytes, type(None)})
_WHOLE = frozenset({int})
"""A list of these, or an empty one, is written alike in Python and in JSON."""


class Reader(apsw.Connection):
    """A connection that only reads, and what it has read: as of which version of the file, and by what."""

    version: int | None = None
    known: Mapping[Hashable, Any] = {}


class Keeper(apsw.Connection):
    """A connection that writes, and what it holds from one transaction to the next, as of which version."""

    version: int | None = None
    held: dict[int, Any] = {}  # noqa: RUF012 - never filled: each connection gets its own

    def let_go(self) -> None:
        """Hold nothing any more: a transaction was undone, or no other is expected soon."""
        self.version, self.held = None, {}


class SqliteStatements(Statements):
    """Times are kept as microseconds, lists as JSON, vectors as little-endian float32."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def _execute(self, query: str, parameters: dict[str, Any]) -> apsw.Cursor:
        sql = statement(PACKAGE, query, parameters.pop("filters", frozenset()))
        if not _PLAIN.issuperset(map(type, parameters.values())):
            parameters = {name: _plain(value) for name, value in parameters.items()}
        return self.connection.execute(sql, parameters)

    def unchanged(self, key: Hashable, read: Callable[[], Known]) -> Known:
        """What was read by this key; once more, if anything was written since on another connection."""
        connection = self.connection
        if isinstance(connection, Reader):
            version = connection.execute("PRAGMA data_version").get
            if version != connection.version or len(connection.known) > _MOST_KNOWN:
                connection.known, connection.version = {}, version
            elif key in connection.known:
                known: Known = connection.known[key]
                return known
        return self.still(key, read)

    def still(self, key: Hashable, read: Callable[[], Known]) -> Known:
        """The same within a transaction that has asked for something `unchanged` already."""
        connection = self.connection
        if not isinstance(connection, Reader):
            return read()
        if key not in connection.known:
            connection.known = {**connection.known, key: read()}
        known: Known = connection.known[key]
        return known

    def held(self) -> dict[int, Any]:
        """What this connection holds since earlier transactions; nothing, if another one wrote since. To be
        asked once within a transaction that writes, and filled with what will be so when it ends."""
        connection = self.connection
        if not isinstance(connection, Keeper):
            return {}
        version = connection.execute("PRAGMA data_version").get
        if version != connection.version:
            connection.version, connection.held = version, {}
        return connection.held

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        return self._execute(query, parameters).fetchall()

    def value(self, query: str, /, **parameters: Any) -> Any:
        return self._execute(query, parameters).get

    def count(self, query: str, /, **parameters: Any) -> int:
        self._execute(query, parameters)
        return self.connection.changes()

    def many(self, query: str, /, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        self.many_columns(query, names, list(zip(*values, strict=True)))

    def many_columns(self, query: str, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        """The same, given all values of each name."""
        self._many_columns(statement(PACKAGE, query), names, columns)

    def many_given(self, query: str, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        """The same with a statement that says which columns it writes, but for those of which no row has a
        value: NULL stands there anyway. What a trigger would do for each of many is done for all at once."""
        absent = frozenset(
            name for name, column in zip(names, columns, strict=True) if column.count(None) == len(column)
        )
        given = [(name, column) for name, column in zip(names, columns, strict=True) if name not in absent]
        sql = _without(statement(PACKAGE, query), absent)
        written = [name for name, _ in given], [column for _, column in given]
        numbers = columns[names.index("number")]
        if query not in _FOR_TRIGGERS or not _are_many_in_a_row(numbers):
            self._many_columns(sql, *written)
            return
        with self._without_triggers():
            self._many_columns(sql, *written)
        self.count(_FOR_TRIGGERS[query], first=numbers[0], last=numbers[-1])

    @contextmanager
    def _without_triggers(self) -> Iterator[None]:
        try:
            self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            yield
        finally:
            self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)

    def _many_columns(self, sql: str, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        count = len(columns[0]) if columns else 0
        bound, width = _bound_in_order(_in_order(sql, tuple(names))(columns) if columns else (), count)
        done = 0
        for most in _ROWS_AT_ONCE:
            together = _together(sql, most)
            while count - done >= together.rows:
                end = done + together.rows
                self.connection.execute(together.sql, bound[done * width : end * width])
                done = end
        if done < count:
            rest = range(done * width, count * width, width)
            self.connection.executemany(sql, [bound[at : at + width] for at in rest])

    def records(self, query: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        cursor = self._execute(query, parameters)
        try:
            for row in cursor:
                yield {str(column[0]): value for column, value in zip(cursor.description, row, strict=True)}
        finally:
            cursor.close(
                True
            )  # here, not wherever it would be thrown away: others may use the connection then


def _are_many_in_a_row(numbers: Sequence[int]) -> bool:
    return len(numbers) >= _MANY_IN_A_ROW and list(numbers) == list(range(numbers[0], numbers[-1] + 1))


@lru_cache(maxsize=200)
def _without(sql: str, absent: frozenset[str]) -> str:
    """A statement that writes all but these columns, each of which is written from the value of its name.

    >>> _without("INSERT INTO spoon (number, size) VALUES (:number, :size)", frozenset(["size"]))
    'INSERT INTO spoon (number) VALUES (:number)'
    """

    def kept(listed: re.Match[str]) -> str:
        names = [each for each in _BETWEEN.split(listed[1].strip()) if each.lstrip(":") not in absent]
        return f"({', '.join(names)})"

    return _LISTED.sub(kept, sql)


class _Together(NamedTuple):
    """A statement that inserts so many rows: one by one, memories take twice as long."""

    rows: int
    sql: str


@lru_cache(maxsize=200)
def _together(sql: str, most: int) -> _Together:
    """From one that inserts a row of values, each of them given; with any other, no rows are that many."""
    given = _VALUES.search(sql)
    names = _PARAMETER.findall(sql)
    if given is None or _PARAMETER.findall(given[1]) != names or len(set(names)) < len(names):
        return _Together(sys.maxsize, sql)
    row = _BETWEEN.sub(",", _PARAMETER.sub("?", given[1])) + ","
    rows = min(most, (_LONGEST - len(sql)) // len(row))
    return _Together(rows, sql[: given.start(1)] + (row * rows)[:-1] + sql[given.end(1) :])


def _bound_in_order(columns: Iterable[Sequence[Any]], count: int) -> tuple[list[Any], int]:
    """The values of rows one after the other as SQLite knows them, from their columns; how many a row has."""
    ordered = list(columns)
    bound: list[Any] = [None] * (count * len(ordered))
    for place, column in enumerate(ordered):
        bound[place :: len(ordered)] = _plain_column(column)
    return bound, len(ordered)


@lru_cache(maxsize=200)
def _in_order(
    sql: str, names: tuple[str, ...]
) -> Callable[[Sequence[Sequence[Any]]], Iterable[Sequence[Any]]]:
    """What takes a statement's parameters out of values of these names: they are bound by their place."""
    places = [names.index(name) for name in dict.fromkeys(_PARAMETER.findall(sql))]
    return itemgetter(*places) if len(places) > 1 else lambda row: [row[place] for place in places]


def _plain_column(values: Sequence[Any]) -> Iterable[Any]:
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        return values
    kind = kinds.pop() if len(kinds) == 1 else object
    if kind.__name__ == "ndarray":
        return [vector.astype("<f4", order="C", copy=False) for vector in values]  # read where they are
    return map(_SOONER.get(kind, _plain), values)


_micros = lru_cache(maxsize=10_000)(to_micros)
"""Many rows of one transaction have the same moments, and each row has its own several times."""


@lru_cache(maxsize=10_000)
def _labels(values: tuple[Any, ...]) -> str:
    """Many rows have the same, too."""
    return _json(values) if values else "[]"


_SOONER: dict[type, Callable[[Any], Any]] = {datetime: _micros, tuple: _labels}
"""What `_plain` makes of one kind."""


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    if isinstance(value, datetime):
        return _micros(value)
    if isinstance(value, (list, tuple)):
        return str(list(value)) if _WHOLE.issuperset(map(type, value)) else _json(value)
    return value.astype("<f4").tobytes()
