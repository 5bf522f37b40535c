"""The named statements on a SQLite connection."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

import apsw

from recollect.store.statements import Row, Statements, statement
from recollect.times import to_micros

PACKAGE = "recollect.store.sqlite"
_PARAMETER = re.compile(r":(\w+)")
_json = json.JSONEncoder(ensure_ascii=False, default=bytes.hex).encode
_PLAIN = frozenset({str, int, float, bytes, type(None)})


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

    def many(self, query: str, /, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        sql = statement(PACKAGE, query)
        in_order = _in_order(sql, tuple(names))
        rows = [[v if v.__class__ in _PLAIN else _plain(v) for v in in_order(row)] for row in values]
        self.connection.executemany(sql, rows)

    def records(self, query: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        cursor = self._execute(query, parameters)
        for row in cursor:
            yield {str(column[0]): value for column, value in zip(cursor.description, row, strict=True)}


@lru_cache(maxsize=200)
def _in_order(sql: str, names: tuple[str, ...]) -> Callable[[Sequence[Any]], Iterable[Any]]:
    """What takes a statement's parameters out of values of these names: they are bound by their place."""
    places = [names.index(name) for name in dict.fromkeys(_PARAMETER.findall(sql))]
    return itemgetter(*places) if len(places) > 1 else lambda row: [row[place] for place in places]


def _bound(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, (list, tuple)):
        return _json(value) if value else "[]"
    return value.astype("<f4").tobytes()
