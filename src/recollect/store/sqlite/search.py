"""Candidates from SQLite by words and by substring; each a constant number of statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from recollect.query.terms import KeywordQuery, Phrase
from recollect.store import rows
from recollect.store.base import Candidate, NamespaceFacts, Words
from recollect.store.packed import packed_numbers
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.statements import Statements
from recollect.types import Scope

LONGEST_SUBSTRING = 5_000
"""SQLite refuses patterns of more than 50,000 bytes."""
FEW_ASIDE = 200
"""So many memories that may not hold now are known beforehand; of more, those are asked for that matter."""


class Namespace(NamedTuple):
    """A namespace of a scope, with what readers must know of it."""

    number: int
    removed: int
    facts: NamespaceFacts
    generation: int | None


class State(NamedTuple):
    """How far the rows have come, and the segments beside them: the highest number of each."""

    segment: int = 0
    change: int = 0
    memory: int = 0
    vector: int = 0


class Namespaces(dict[str, Namespace]):
    """The namespaces of a scope that exist. `alone`: the store has no other."""

    alone = False
    facts: Mapping[str, NamespaceFacts] = {}
    state = State()
    statistics = b"\0"
    """What the keyword index notes of itself: how many memories and terms it has."""
    aside: bytes | None = b""
    """The memories that may not hold now, packed; None if they are many."""

    have_replaced = False
    """Whether one of their memories ever lost a vector, or got another."""

    @classmethod
    def read(cls, statements: SqliteStatements, names: Sequence[str]) -> Namespaces:
        """One statement, whatever the number of names; a small one if nothing was written since the last."""
        return statements.unchanged(tuple(names), lambda: cls._read(statements, names))

    @classmethod
    def _read(cls, statements: SqliteStatements, names: Sequence[str]) -> Namespaces:
        found = cls()
        aside: list[int] = []
        for name, number, languages, removed, newest, *others in statements.rows(
            "namespaces", names=list(names), few=FEW_ASIDE
        ):
            found.state = State(*others[:4])
            found.statistics = others[4] or b"\0"
            aside += json.loads(others[5])
            tuned, before, *generations = others[6:]
            facts = rows.facts(languages, tuned, before, tuple(generations))
            found[name] = Namespace(number, removed, facts, generations[0])
            found.alone = newest == 1
        found.facts = {name: space.facts for name, space in found.items()}
        found.have_replaced = any(space.removed for space in found.values())
        found.aside = packed_numbers(aside) if len(aside) <= FEW_ASIDE else None
        return found

    @cached_property
    def numbers(self) -> list[int]:
        """What the rows call them."""
        return [space.number for space in self.values()]


def scope_parameters(scope: Scope, namespaces: Namespaces) -> dict[str, Any]:
    """The parameters of the `scope` fragment, and in `filters` the names of those that it needs."""
    return rows.scope_parameters(scope) | {"namespaces": namespaces.numbers}


def match(
    statements: Statements, namespaces: Namespaces, scope: Scope, words: Words | None
) -> list[Candidate]:
    """By words, as FTS5 finds them. A quoted phrase is insisted on, unless nothing in scope has it."""
    if not namespaces or words is None or not words.query:
        return []
    parameters = scope_parameters(scope, namespaces)
    for strict in (True, False) if words.query.phrases else (False,):
        named = [] if namespaces.alone else namespaces.numbers
        expression = match_expression(words.query, named, strict=strict)
        found = _match(statements, parameters | {"match": expression}, words.limit)
        if found:
            return found
    return []


def _match(statements: Statements, parameters: dict[str, Any], limit: int) -> list[Candidate]:
    """The best few are checked against the scope first; only when too many of them were outside is every
    memory with the words looked at. Exact either way."""
    reach = limit + limit // 4
    best = statements.rows("match_best", **parameters, reach=reach)
    inside = [row for row in best if row[0]]
    if len(inside) >= limit or len(best) < reach:
        return [rows.candidate(row[2:], row[1]) for row in inside[:limit]]
    return [rows.candidate(row[1:], row[0]) for row in statements.rows("match", **parameters, limit=limit)]


def match_expression(query: KeywordQuery, namespaces: Iterable[int], *, strict: bool) -> str:
    """The FTS5 query: in these namespaces (or all), any of the words; all of the phrases when `strict`.

    Every term is quoted, so that no text can be read as an operator.

    >>> from recollect.query.terms import parse_query
    >>> match_expression(parse_query("lost NEAR( update"), [7], strict=True)
    '(scope : ("n7")) AND (terms : ("lost" OR "lost" * OR "near" OR "near" * OR "updat" OR "updat" *))'
    """
    words = [
        f'"{term}"{star}'
        for word in query.words
        for term in word.terms
        for star in ("", " *")[: 1 + word.prefix]
    ]
    phrases = [_in_any_language(phrase) for phrase in query.phrases]
    wanted = " OR ".join(words + phrases)
    if strict and phrases:
        wanted = f"{' AND '.join(phrases)} AND ({wanted})"
    scope = " OR ".join(f'"n{number}"' for number in namespaces)
    return f"(scope : ({scope})) AND (terms : ({wanted}))" if scope else f"terms : ({wanted})"


def phrase_expression(query: KeywordQuery) -> str:
    """The FTS5 query for all of the phrases."""
    return f"terms : ({' AND '.join(_in_any_language(phrase) for phrase in query.phrases)})"


def _in_any_language(phrase: Phrase) -> str:
    return "(" + " OR ".join(f'"{" ".join(terms)}"' for terms in phrase.alternatives) + ")"


def containing(statements: SqliteStatements, scope: Scope, text: str, limit: int) -> list[Candidate]:
    """By substring, for when nothing else finds anything."""
    if "\0" in text or len(text) > LONGEST_SUBSTRING:
        return []
    parameters = scope_parameters(scope, Namespaces.read(statements, scope.namespaces))
    wanted = f"%{rows.pattern(text)}%"
    found = statements.rows("substring", **parameters, pattern=wanted, limit=limit)
    return [rows.candidate(row[1:], row[0]) for row in found]
