"""Rows of a database to the nouns of Recollect, and scopes to parameters. Times in rows are microseconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Any

from recollect.frozen import beginning, maker
from recollect.store.base import Candidate, Complete, Generation, Key, Loaded, NamespaceFacts, Standing
from recollect.times import EPOCH, MICROSECOND, from_micros, from_micros_or_none
from recollect.types import Memory, Scope, Session, Successor, Tuned

Row = Sequence[Any]
MEMORY_COLUMNS = 30
_candidate = partial(tuple.__new__, Candidate)
_standing = partial(tuple.__new__, Standing)
_loaded = partial(tuple.__new__, Loaded)
_completed = partial(tuple.__new__, Complete)
_READ = itemgetter(2, 3, 14, 18)
"""Id, content, language and speaker, of the columns of a memory."""
_STANDING = itemgetter(7, 10, 11, 24, 25)
_SEEN = itemgetter(1, 2, 3, 19)
"""Namespace, id, content and session."""
_CANDIDATE_COLUMNS = len(Candidate._fields) - 1


def scope_parameters(scope: Scope) -> dict[str, Any]:
    """The parameters of the `scope` fragment but for the namespace; `filters` names its filters."""
    given: dict[str, Any] = {
        "since": scope.since,
        "until": scope.until,
        "as_of": scope.as_of,
        "sectors": scope.sectors,
        "tiers": scope.tiers,
        "languages": scope.languages,
        "speakers": scope.speakers,
        "sessions": scope.sessions,
        "documents": scope.documents,
        "tags": scope.tags,
        "min_salience": scope.min_salience or None,
        "older_than": scope.older_than.at if scope.older_than else None,
    }
    filters = {name for name, value in given.items() if value is not None and value != ()}
    if scope.as_of is None and not scope.include_superseded:
        filters.add("current")
    last = {"older_than_id": scope.older_than.id if scope.older_than else None}
    return {"kinds": scope.kinds, "now": scope.now, "filters": frozenset(filters), **given, **last}


def pattern(text: str) -> str:
    """A text in a LIKE pattern, as it stands."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@lru_cache(maxsize=256)
def facts(
    languages: str, tuned: str | None, before: str | None, generations: tuple[Any, ...]
) -> NamespaceFacts:
    """What must be known of a namespace; `generations` are the columns of the two that it may have."""
    return NamespaceFacts(
        tuple(languages.split()),
        _generation(generations[:4]),
        _generation(generations[4:]),
        _tuned(tuned),
        _tuned(before),
    )


def _generation(row: Row) -> Generation | None:
    number, model, dimensions, fingerprint = row
    return None if number is None else Generation(model, dimensions, fingerprint)


def _tuned(column: str | None) -> Tuned | None:
    return None if column is None else Tuned(**json.loads(column))


def tuned_column(tuned: Tuned | None) -> str | None:
    """Weights as a namespace's row keeps them."""
    return None if tuned is None else json.dumps(asdict(tuned))


def candidate(row: Row, score: float, namespace: str | None = None) -> Candidate:
    """A candidate from the columns of the `candidate` fragment, which a row begins with.

    With a `namespace`, numbers count within it alone, so it becomes a part of the keys.
    """
    others = row[2:_CANDIDATE_COLUMNS]
    if namespace is None:
        return _candidate((row[0], score, row[1], *others))
    session = None if row[1] is None else (namespace, row[1])
    return _candidate(((namespace, row[0]), score, session, *others))


def memory(row: Row) -> Memory:
    """A memory from the columns of the `columns` fragment (its number first)."""
    (
        _, namespace, id, content, created_at, updated_at, accessed_at, sector, tier, kind, importance,
        salience, access_count, token_count, language, tags, files, summary, speaker, session, metadata,
        source, trust, valid_from, valid_until, superseded_by, expires_at, deleted_at, document, headings,
    ) = row[:MEMORY_COLUMNS]  # fmt: skip
    return maker(Memory)(
        id,
        namespace,
        content,
        EPOCH + created_at * MICROSECOND,
        EPOCH + updated_at * MICROSECOND,
        None if accessed_at is None else from_micros(accessed_at),
        sector,
        tier,
        kind,
        importance,
        salience,
        access_count,
        token_count,
        language,
        () if tags == "[]" else strings(tags),
        () if files == "[]" else strings(files),
        summary,
        speaker,
        session,
        {} if metadata == "{}" else json.loads(metadata),
        source,
        trust,
        None if valid_from is None else from_micros(valid_from),
        None if valid_until is None else from_micros(valid_until),
        superseded_by,
        None if expires_at is None else from_micros(expires_at),
        None if deleted_at is None else from_micros(deleted_at),
        document,
        () if headings == "[]" else strings(headings),
    )


def strings(column: str | Sequence[str]) -> tuple[str, ...]:
    """A column of several strings; SQLite keeps them as JSON."""
    return _read_strings(column) if isinstance(column, str) else tuple(column)


@lru_cache(maxsize=1_000)
def _read_strings(column: str) -> tuple[str, ...]:
    return tuple(json.loads(column))


def loaded(keys: Iterable[Key], found: Iterable[Row], now: int) -> dict[Key, Loaded]:
    """Those who may win by their keys, each from the columns of `load`; as they stand at this moment, in
    microseconds."""
    known = {}
    for key, row in zip(keys, found, strict=True):
        sector, importance, salience, valid_until, superseded_by = _STANDING(row)
        is_over = superseded_by is not None or (valid_until is not None and valid_until <= now)
        standing = _standing((sector, importance, salience, is_over))
        known[key] = _loaded((*_READ(row), standing, partial(_complete, row)))
    return known


@cache
def _beginning_of_memory() -> Callable[..., Memory]:
    """What makes a memory of which no more is read at first than most look at."""
    return beginning(Memory, "id", "namespace", "content")


def _complete(row: Row) -> Complete:
    namespace, id, content, in_session = _SEEN(row)
    found = _beginning_of_memory()(id, namespace, content, partial(memory, row))
    started_at, ended_at, agent, summary, z_id, z_content, z_created, related, title = row[MEMORY_COLUMNS:]
    session = successor = None
    if in_session is not None:
        session = Session(
            in_session, namespace, from_micros(started_at), from_micros_or_none(ended_at), agent, summary
        )
    if z_id is not None:
        successor = Successor(z_id, z_content[:200], from_micros(z_created))
    return _completed((found, session, successor, related, title))


def session(row: Row) -> Session:
    """A session from the columns of `sessions`."""
    id, namespace, started_at, ended_at, agent, summary, memories = row
    return Session(
        id, namespace, from_micros(started_at), from_micros_or_none(ended_at), agent, summary, memories
    )
