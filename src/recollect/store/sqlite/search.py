"""Candidates from SQLite: by words, by nearness, by substring; each a constant number of statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from recollect.query.terms import KeywordQuery
from recollect.store.base import Candidate, Generation, Loaded, NamespaceFacts
from recollect.store.sqlite import rows
from recollect.store.sqlite.queries import run
from recollect.times import to_micros
from recollect.types import Memory, Scope

LONGEST_SUBSTRING = 5_000
"""SQLite refuses patterns of more than 50,000 bytes."""


class Namespace(NamedTuple):
    """A namespace of a scope, with what readers must know of it."""

    number: int
    removed: int
    facts: NamespaceFacts
    generation: int | None


class Namespaces(dict[str, Namespace]):
    """The namespaces of a scope that exist. `alone`: the store has no other."""

    alone = False

    @classmethod
    def read(cls, connection: apsw.Connection, names: Sequence[str]) -> Namespaces:
        """One statement, whatever the number of names."""
        found = cls()
        for row in run(connection, "namespaces", names=json.dumps(list(names))):
            name, number, languages, removed, newest, *generations = row
            facts = NamespaceFacts(
                tuple(languages.split()), _generation(generations[:4]), _generation(generations[4:])
            )
            found[name] = Namespace(number, removed, facts, generations[0])
            found.alone = newest == 1
        return found

    @property
    def numbers(self) -> list[int]:
        """What the rows call them."""
        return [space.number for space in self.values()]


def _generation(row: Sequence[Any]) -> Generation | None:
    number, model, dimensions, fingerprint = row
    return None if number is None else Generation(model, dimensions, fingerprint)


def match(connection: apsw.Connection, scope: Scope, query: KeywordQuery, limit: int) -> list[Candidate]:
    """By words. A quoted phrase is insisted on, unless nothing in scope has it."""
    namespaces = Namespaces.read(connection, scope.namespaces)
    if not namespaces or not query:
        return []
    parameters = rows.scope_parameters(scope, namespaces.numbers)
    for strict in (True, False) if query.phrases else (False,):
        named = [] if namespaces.alone else namespaces.numbers
        expression = rows.match_expression(query, named, strict=strict)
        found = _match(connection, parameters | {"match": expression}, limit)
        if found:
            return found
    return []


def _match(connection: apsw.Connection, parameters: dict[str, Any], limit: int) -> list[Candidate]:
    """The best few are checked against the scope first; only when too many of them were outside is every
    memory with the words looked at. Exact either way."""
    reach = limit + limit // 4
    best = run(connection, "match_best", **parameters, reach=reach)
    inside = [row for row in best if row[0]]
    if len(inside) >= limit or len(best) < reach:
        return [rows.candidate(row[2:], row[1]) for row in inside[:limit]]
    return [rows.candidate(row[1:], row[0]) for row in run(connection, "match", **parameters, limit=limit)]


def containing(connection: apsw.Connection, scope: Scope, text: str, limit: int) -> list[Candidate]:
    """By substring, for when nothing else finds anything."""
    namespaces = Namespaces.read(connection, scope.namespaces)
    if "\0" in text or len(text) > LONGEST_SUBSTRING:
        return []
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    parameters = rows.scope_parameters(scope, namespaces.numbers)
    parameters |= {"pattern": f"%{escaped}%", "limit": limit}
    return [rows.candidate(row[1:], row[0]) for row in run(connection, "substring", **parameters)]


def load(connection: apsw.Connection, keys: Sequence[int], now: datetime) -> Mapping[int, Loaded]:
    """The winners, in one statement."""
    found = run(connection, "load", numbers=json.dumps(list(keys)), now=to_micros(now))
    return {row[0]: rows.loaded(row) for row in found}


def neighbours(
    connection: apsw.Connection, keys: Sequence[int], reach: int, now: datetime
) -> Mapping[int, tuple[Memory, ...]]:
    """What stands near these memories in their sessions, in one statement."""
    found: dict[int, list[Memory]] = {}
    numbers = json.dumps(list(keys))
    for row in run(connection, "neighbours", numbers=numbers, reach=reach, now=to_micros(now)):
        found.setdefault(row[0], []).append(rows.memory(row[1:]))
    return {key: tuple(memories) for key, memories in found.items()}
