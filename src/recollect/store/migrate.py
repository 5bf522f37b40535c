"""Bringing a store to the current schema: numbered .sql files, each in one transaction."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.store.statements import file_beside


def steps(package: str) -> Iterator[tuple[int, str]]:
    """The numbered migrations of a backend, in order: (number, SQL).

    >>> next(steps("recollect.store.sqlite"))[0]
    1
    """
    folder = file_beside(package, "migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    for name in names:
        yield int(name.split("_", 1)[0]), folder.joinpath(name).read_text("utf-8")


def latest(package: str) -> int:
    """The version that the newest migration leads to."""
    return max(number for number, _ in steps(package))
