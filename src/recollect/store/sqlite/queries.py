"""The statements of queries.sql by name; `{name}` in one stands for another."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import apsw

Row = tuple[Any, ...]

_HEAD = re.compile(r"^-- (\w+) -- .+$", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


@cache
def queries() -> dict[str, str]:
    """Every statement, complete but for `{filters}`."""
    pieces = _HEAD.split(files(__package__).joinpath("queries.sql").read_text("utf-8"))
    raw = dict(zip(pieces[1::2], (body.strip() for body in pieces[2::2]), strict=True))

    def complete(sql: str) -> str:
        return _PART.sub(lambda part: complete(raw[part[1]]) if part[1] in raw else part[0], sql)

    return {name: complete(sql) for name, sql in raw.items()}


@lru_cache(maxsize=500)
def statement(query: str, filters: frozenset[str] = frozenset()) -> str:
    """A named statement with the filters that a scope has: SQLite can use an index only for what is there."""
    known = queries()
    return known[query].replace("{filters}", " ".join(known[f"filter_{name}"] for name in sorted(filters)))


def run(connection: apsw.Connection, query: str, **parameters: Any) -> list[Row]:
    """Every row of a named statement."""
    return connection.execute(statement(query, parameters.pop("filters", frozenset())), parameters).fetchall()
