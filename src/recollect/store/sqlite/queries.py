"""The statements of queries.sql by name; `{name}` in one stands for another."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import apsw

Row = tuple[Any, ...]

_HEAD = re.compile(r"^-- (\w+) -- .+$", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


@cache
def queries() -> dict[str, str]:
    """Every statement, complete."""
    pieces = _HEAD.split(files(__package__).joinpath("queries.sql").read_text("utf-8"))
    raw = dict(zip(pieces[1::2], (body.strip() for body in pieces[2::2]), strict=True))

    def complete(sql: str) -> str:
        return _PART.sub(lambda part: complete(raw[part.group(1)]), sql)

    return {name: complete(sql) for name, sql in raw.items()}


def run(connection: apsw.Connection, query: str, **parameters: Any) -> list[Row]:
    """Every row of a named statement."""
    return connection.execute(queries()[query], parameters).fetchall()
