"""Who may answer at all? Of a narrow scope its few memories are known before a leg looks for the best."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.query.terms import terms_of
from recollect.store.sqlite.derived import kernel
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.sqlite.search import Namespaces
from recollect.store.statements import Row, Statements
from recollect.types import Scope

FEW, SHARE = 1_000, 50
"""An interval, a session or a document is small if it has no more memories than this, or one of so many."""


def narrowed(
    statements: Statements, namespaces: Namespaces, scope: Scope, opened: Opened, changed: Sequence[Row]
) -> NDArray[np.int64] | None:
    """Everyone who may be in scope, ascending; None if nothing tells, or too many may."""
    told = (
        having_labels(namespaces, scope, opened, [row[0] for row in changed]),
        known_by_index(statements, namespaces, scope),
    )
    known = [each for each in told if each is not None]
    return reduce(np.intersect1d, known) if known else None


def known_by_index(statements: Statements, namespaces: Namespaces, scope: Scope) -> NDArray[np.int64] | None:
    """Everyone of the interval, the sessions and the documents of a scope, ascending, if they are few."""
    asked: dict[str, Any] = {
        "since": scope.since,
        "until": scope.until,
        "sessions": scope.sessions,
        "documents": scope.documents,
    }
    given = {name: value for name, value in asked.items() if value}
    if not given or not namespaces:
        return None
    most = max(FEW, namespaces.state.memory // SHARE)
    ((count, numbers),) = statements.rows(
        "numbers_by_index",
        **given,
        namespaces=namespaces.numbers,
        filters=frozenset(given),
        most=most + 1,
    )
    return np.sort(np.array(json.loads(numbers), np.int64)) if count <= most else None


def having_labels(
    namespaces: Namespaces, scope: Scope, opened: Opened, changed: Sequence[int]
) -> NDArray[np.int64] | None:
    """Everyone who may have all tags of a scope and one of its speakers, ascending; None if it has neither.

    Labels are among a memory's terms, so whoever lacks those is not it.
    """
    if not scope.tags and not scope.speakers:
        return None
    languages = {language for space in namespaces.values() for language in space.facts.languages} or {"en"}
    alternatives = [[tag] for tag in scope.tags] + ([list(scope.speakers)] if scope.speakers else [])
    required = [
        {tuple(" ".join(terms_of(label, language)).split()) for label in labels for language in languages}
        for labels in alternatives
    ]
    required = [each for each in required if all(each)]
    if not required or not opened.words:
        return None
    upto = opened.words_upto
    spans = [(segment, segment.span(number)) for segment in opened.words for number in namespaces.numbers]
    found = [segment.numbers[_having_all(segment, span, required)] for segment, span in spans]
    newer = np.arange(upto + 1, namespaces.state.memory + 1)
    return _together([*found, newer, np.unique(np.array(changed, np.int64))])


def _having_all(
    segment: WordSegment, span: tuple[int, int], required: Sequence[Iterable[Sequence[str]]]
) -> NDArray[np.int32]:
    """Positions within a span that have, of each of the required, the terms of one alternative."""
    each = [_together([_having(segment, span, terms) for terms in alternatives]) for alternatives in required]
    return reduce(np.intersect1d, each)


def _together(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Everything in any of these, each of which ascends, ascending."""
    some = [part for part in parts if len(part)] or [parts[0]]
    return some[0] if len(some) == 1 else np.unique(np.concatenate(some))


def _having(segment: WordSegment, span: tuple[int, int], terms: Sequence[str]) -> NDArray[np.int32]:
    places = kernel.find(segment, [(term.encode(), None) for term in terms])
    return reduce(np.intersect1d, [segment.occurrences(place).inside(*span).docs for place in places])
