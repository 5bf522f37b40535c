"""The named statements on a SQLite connection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import apsw

from recollect.store.statements import Row, Statements, statement
from recollect.times import to_micros

PACKAGE = "recollect.store.sqlite"


class SqliteStatements(Statements):
    """Times are kept as microseconds, lists as JSON, vectors as little-endian float32."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def _execute(self, query: str, parameters: dict[str, Any]) -> apsw.Cursor:
        sql = statement(PACKAGE, query, parameters.pop("filters", frozenset()))
        return self.connection.execute(sql, _bound(parameters))

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        return self._execute(query, parameters).fetchall()

    def value(self, query: str, /, **parameters: Any) -> Any:
        return self._execute(query, parameters).get

    def count(self, query: str, /, **parameters: Any) -> int:
        self._execute(query, parameters)
        return self.connection.changes()

    def many(self, query: str, /, parameters: Iterable[Mapping[str, Any]]) -> None:
        self.connection.executemany(statement(PACKAGE, query), [_bound(each) for each in parameters])

    def records(self, query: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        cursor = self._execute(query, parameters)
        for row in cursor:
            yield {str(column[0]): value for column, value in zip(cursor.description, row, strict=True)}


def _bound(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, (list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=bytes.hex)
    return value.astype("<f4").tobytes()
