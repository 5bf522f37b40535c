"""The named statements of a backend's queries.sql, and the connection that runs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

Row = tuple[Any, ...]

_HEAD = re.compile(r"^-- (\w+) -- (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


class Statements(Protocol):
    """A connection that runs a backend's statements by name.

    Times are given as datetimes and come back as microseconds since 1970; lists are given as lists, vectors
    as arrays. `filters` are the names of those that a scope has.
    """

    def rows(self, query: str, /, **parameters: Any) -> list[Row]:
        """Every row that a statement finds."""

    def value(self, query: str, /, **parameters: Any) -> Any:
        """The first column of the first row, or None."""

    def count(self, query: str, /, **parameters: Any) -> int:
        """How many rows a statement changed."""

    def many(self, query: str, /, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        """A statement that writes, once for each row of values; `names` says which parameters they are."""

    def records(self, query: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Rows by the names of their columns, read as they are taken."""


@cache
def queries(package: str) -> dict[str, str]:
    """Every statement of a backend, complete but for `{filters}`; `{name}` in one stands for another.

    >>> queries("recollect.store.sqlite")["has_vector"]
    'SELECT 1 FROM vector WHERE memory = :memory AND generation = :generation'
    """
    pieces = _HEAD.split(_text(package))
    raw = dict(zip(pieces[1::3], (_COMMENT.sub("", body).strip() for body in pieces[3::3]), strict=True))

    def complete(sql: str) -> str:
        return _PART.sub(lambda part: complete(raw[part[1]]) if part[1] in raw else part[0], sql)

    return {name: complete(sql) for name, sql in raw.items()}


@cache
def purposes(package: str) -> dict[str, str]:
    """The sentence that says what each statement is for."""
    pieces = _HEAD.split(_text(package))
    return dict(zip(pieces[1::3], pieces[2::3], strict=True))


def _text(package: str) -> str:
    return file_beside(package, "queries.sql").read_text("utf-8")


def file_beside(package: str, name: str) -> Path:
    """A file of a package; importlib.resources would import more than a search does."""
    return Path(str(import_module(package).__file__)).with_name(name)


@lru_cache(maxsize=1000)
def statement(package: str, name: str, filters: frozenset[str] = frozenset()) -> str:
    """A statement with the filters that a scope has: an index can be used only for what is there."""
    known = queries(package)
    return known[name].replace("{filters}", " ".join(known[f"filter_{each}"] for each in sorted(filters)))
