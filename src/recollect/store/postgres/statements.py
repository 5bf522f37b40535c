"""The named statements on a PostgreSQL connection, alone or several in one round trip."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from psycopg import Connection, sql
from psycopg.adapt import Loader
from psycopg.pq import Format

from recollect.store.statements import Row, Statements, statement

if TYPE_CHECKING:
    from psycopg.abc import Buffer

PACKAGE = "recollect.store.postgres"
SCHEMA = "recollect"
AT_ONCE = 1000
COPIED = 8
"""From how many rows on copying them in pays."""
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_INSERT = re.compile(r"INSERT INTO (\S+) \(([^()]*)\)\s+VALUES \(([^()]*)\)")
_YEAR_2000 = 946_684_800_000_000

Asked = tuple[str, Mapping[str, Any]]

PLANNED_ANEW = ("match", "near", "near_in_few", "near_within", "near_by_index")
"""What is planned for the namespace that is asked: a plan for the average one fits no large one."""
_copies: WeakKeyDictionary[Connection, bool] = WeakKeyDictionary()


class Micros(Loader):
    """A timestamptz as microseconds since 1970: what it is on the wire, and what rows have on any backend."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        """The moment that these eight bytes say."""
        return int.from_bytes(data, "big", signed=True) + _YEAR_2000


@lru_cache(maxsize=1000)
def prepared(schema: str, query: str, filters: frozenset[str], dimensions: int | None) -> sql.SQL:
    """A statement as psycopg takes it, on the tables of a schema."""
    text = statement(PACKAGE, query, filters).replace("%", "%%")
    text = _PARAMETER.sub(r"%(\1)s", text.replace("{index_dimensions}", str(dimensions)))
    return sql.SQL(in_schema(text, schema.replace("%", "%%")))  # our own text, not a caller's


@lru_cache(maxsize=200)
def copying(schema: str, query: str) -> tuple[sql.SQL, list[str]] | None:
    """What copies rows in, and the parameters of each; None where nothing is plainly inserted."""
    plain = _INSERT.fullmatch(statement(PACKAGE, query))
    if plain is None:
        return None
    table, columns, values = plain.groups()
    return sql.SQL(f"COPY {in_schema(table, schema)} ({columns}) FROM STDIN"), _PARAMETER.findall(values)


def in_schema(text: str, schema: str) -> str:
    """SQL as it is written, on the tables of another schema.

    >>> in_schema("SELECT 1 FROM recollect.memory", "team a")
    'SELECT 1 FROM "team a".memory'
    """
    return text if schema == SCHEMA else text.replace(f"{SCHEMA}.", f"{quoted(schema)}.")


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it contains."""
    return '"' + name.replace('"', '""') + '"'


class PostgresStatements(Statements):
    """Runs statements on the tables of a schema; times come back as microseconds, vectors as bytes."""

    def __init__(self, connection: Connection, schema: str = SCHEMA) -> None:
        self.connection = connection
        self._schema = schema

    def _prepared(self, query: str, parameters: dict[str, Any]) -> tuple[sql.SQL, dict[str, Any]]:
        filters, dimensions = parameters.pop("filters", frozenset()), parameters.pop("index_dimensions", None)
        return prepared(self._schema, query, filters, dimensions), _bound(parameters)

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        return self.connection.execute(*self._prepared(query, parameters), binary=True).fetchall()

    def value(self, query: str, /, **parameters: Any) -> Any:
        row = self.connection.execute(*self._prepared(query, parameters), binary=True).fetchone()
        return row[0] if row else None

    def count(self, query: str, /, **parameters: Any) -> int:
        return self.connection.execute(*self._prepared(query, parameters)).rowcount

    def many(self, query: str, /, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        """Many new rows are copied in; few, or anything else, take one round trip together."""
        rows = [[*map(_plain, row)] for row in values]
        copied = copying(self._schema, query) if len(rows) >= COPIED and self._may_copy() else None
        if copied is None:
            text = prepared(self._schema, query, frozenset(), None)
            with self.connection.pipeline():
                for row in rows:
                    self.connection.execute(text, dict(zip(names, row, strict=True)))
            return
        text, wanted = copied
        places = [names.index(name) for name in wanted]
        with self.connection.cursor() as cursor, cursor.copy(text) as copy:
            for row in rows:
                copy.write_row([row[place] for place in places])

    def _may_copy(self) -> bool:
        """Whether rows can be copied in: not by a tenant, whose every row is checked."""
        known = _copies.get(self.connection)
        if known is None:
            table = f"{quoted(self._schema)}.memory"
            row = self.connection.execute("SELECT NOT row_security_active(%s)", [table]).fetchone()
            _copies[self.connection] = known = bool(row and row[0])
        return known

    def look_again(self, memories: int) -> None:
        """Have the server look at its tables, if it knows of far fewer memories than these.

        Until then it goes by plans that it made, and keeps, for tables that were nearly empty: checking a
        foreign key reads a whole namespace. By itself it looks about once a minute.
        """
        tables = [f"{quoted(self._schema)}.{table}" for table in ("memory", "vector", "near_key")]
        query = "SELECT reltuples FROM pg_class WHERE oid = %s::regclass"
        known = self.connection.execute(query, tables[:1]).fetchone()
        if known and 4 * known[0] <= memories:
            self.connection.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(tables)}".encode())

    def records(self, query: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        with self.connection.cursor(name=query, binary=True) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(*self._prepared(query, parameters))
            names = [column.name for column in cursor.description or ()]
            for row in cursor:
                yield {name: _read(name, value) for name, value in zip(names, row, strict=True)}

    def together(self, asked: Sequence[Asked], settings: Sequence[str] = ()) -> list[list[Row]]:
        """The rows of several statements, in one round trip; with settings that hold for these alone."""
        with self.connection.pipeline():
            for command in ("BEGIN", *(f"SET LOCAL {each}" for each in settings)) if settings else ():
                self.connection.execute(command.encode())
            cursors = [
                self.connection.execute(
                    *self._prepared(query, dict(parameters)),
                    prepare=False if query in PLANNED_ANEW else None,
                    binary=True,
                )
                for query, parameters in asked
            ]
            if settings:
                self.connection.execute("COMMIT")
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]


def _bound(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "dtype"):
        return _vector_format(len(value)) % tuple(value.tolist())
    return value


@cache
def _vector_format(dimensions: int) -> str:
    """How a vector is written; nine digits tell every float32 from the next."""
    return "[" + ",".join(["%.9g"] * dimensions) + "]"


def _read(name: str, value: Any) -> Any:
    """A vector as bytes in the order that exports have; PostgreSQL sends the other one after four bytes."""
    if name != "embedding":
        return value
    import numpy as np

    return np.frombuffer(value, ">f4", offset=4).astype("<f4").tobytes()
