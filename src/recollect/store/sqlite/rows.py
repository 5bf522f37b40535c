"""Rows of SQLite to the nouns of Recollect, and scopes to parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from recollect.query.terms import KeywordQuery
from recollect.store.base import Candidate, Loaded
from recollect.times import from_micros, from_micros_or_none, micros_or_none, to_micros
from recollect.types import Memory, Scope, Session, Successor

Row = Sequence[Any]
MEMORY_COLUMNS = 30


def scope_parameters(scope: Scope, namespaces: Iterable[int]) -> dict[str, Any]:
    """The parameters of the `scope` fragment, and in `filters` the names of those that it needs."""
    given: dict[str, Any] = {
        "since": micros_or_none(scope.since),
        "until": micros_or_none(scope.until),
        "as_of": micros_or_none(scope.as_of),
        "sectors": scope.sectors,
        "tiers": scope.tiers,
        "languages": scope.languages,
        "speakers": scope.speakers,
        "sessions": scope.sessions,
        "documents": scope.documents,
        "tags": scope.tags,
        "min_salience": scope.min_salience or None,
    }
    filters = {name for name, value in given.items() if value is not None and value != ()}
    if scope.as_of is None and not scope.include_superseded:
        filters.add("current")
    return {
        "namespaces": json.dumps(list(namespaces)),
        "kinds": json.dumps(scope.kinds),
        "now": to_micros(scope.now),
        "filters": frozenset(filters),
        **{name: json.dumps(value) if isinstance(value, tuple) else value for name, value in given.items()},
    }


def match_expression(query: KeywordQuery, namespaces: Iterable[int], *, strict: bool) -> str:
    """The FTS5 query: in these namespaces (or all), any of the words; all of the phrases when `strict`.

    Every term is quoted, so that no text can be read as an operator.

    >>> from recollect.query.terms import parse_query
    >>> match_expression(parse_query("lost NEAR( update"), [7], strict=True)
    '(scope : "n7") AND (terms : ("lost" OR "lost" * OR "near" OR "near" * OR "updat" OR "updat" *))'
    """
    words = [
        f'"{term}"{star}'
        for word in query.words
        for term in word.terms
        for star in ("", " *")[: 1 + word.prefix]
    ]
    phrases = [
        "(" + " OR ".join(f'"{" ".join(terms)}"' for terms in phrase.alternatives) + ")"
        for phrase in query.phrases
    ]
    wanted = " OR ".join(words + phrases)
    if strict and phrases:
        wanted = f"{' AND '.join(phrases)} AND ({wanted})"
    scope = " OR ".join(f'"n{number}"' for number in namespaces)
    return f"(scope : {scope}) AND (terms : ({wanted}))" if scope else f"terms : ({wanted})"


def candidate(row: Row, score: float) -> Candidate:
    """A candidate from the columns of the `candidate` fragment."""
    number, session, position, created_at, salience, sector, importance, superseded = row
    return Candidate(
        number,
        score,
        session,
        position,
        from_micros(created_at),
        salience,
        sector,
        importance,
        bool(superseded),
    )


def memory(row: Row) -> Memory:
    """A memory from the columns of the `columns` fragment (its number first)."""
    return Memory(
        namespace=row[1],
        id=row[2],
        content=row[3],
        created_at=from_micros(row[4]),
        updated_at=from_micros(row[5]),
        accessed_at=from_micros_or_none(row[6]),
        sector=row[7],
        tier=row[8],
        kind=row[9],
        importance=row[10],
        salience=row[11],
        access_count=row[12],
        token_count=row[13],
        language=row[14],
        tags=_strings(row[15]),
        files=_strings(row[16]),
        summary=row[17],
        speaker=row[18],
        session=row[19],
        metadata=json.loads(row[20]) if row[20] != "{}" else {},
        source=row[21],
        trust=row[22],
        valid_from=from_micros_or_none(row[23]),
        valid_until=from_micros_or_none(row[24]),
        superseded_by=row[25],
        expires_at=from_micros_or_none(row[26]),
        deleted_at=from_micros_or_none(row[27]),
        document=row[28],
        headings=_strings(row[29]),
    )


def _strings(column: str) -> tuple[str, ...]:
    return tuple(json.loads(column)) if column != "[]" else ()


def loaded(row: Row) -> Loaded:
    """A winner from the columns of `load`."""
    found = memory(row)
    started_at, ended_at, agent, summary, z_id, z_content, z_created, related = row[MEMORY_COLUMNS:]
    session = successor = None
    if found.session is not None:
        session = Session(
            found.session,
            found.namespace,
            from_micros(started_at),
            from_micros_or_none(ended_at),
            agent,
            summary,
        )
    if z_id is not None:
        successor = Successor(z_id, z_content[:200], from_micros(z_created))
    return Loaded(found, session, successor, related)


def session(row: Row) -> Session:
    """A session from the columns of `sessions`."""
    id, namespace, started_at, ended_at, agent, summary, memories = row
    return Session(
        id, namespace, from_micros(started_at), from_micros_or_none(ended_at), agent, summary, memories
    )
