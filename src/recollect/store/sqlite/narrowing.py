"""Who may answer at all? Of a narrow scope its few memories are known before a leg looks for the best."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import matching, spans
from recollect.store.sqlite.derived.words import SPEAKER, TAG, WordSegment, label
from recollect.store.sqlite.ground import Ground
from recollect.store.sqlite.search import Namespaces
from recollect.store.statements import Statements
from recollect.types import Scope

FEW, SHARE = 1_000, 50
"""An interval, a session or a document is small if it has no more memories than this, or one of so many."""


def narrowed(
    statements: Statements, namespaces: Namespaces, scope: Scope, ground: Ground
) -> NDArray[np.int64] | None:
    """Everyone who may be in scope, ascending; None if nothing tells, or too many may.

    Of those on the ground, those alone who have the labels of the scope.
    """
    if not (scope.tags or scope.speakers or scope.since or scope.until or scope.sessions or scope.documents):
        return None
    told = (
        having_labels(namespaces, scope, ground),
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


def having_labels(namespaces: Namespaces, scope: Scope, ground: Ground) -> NDArray[np.int64] | None:
    """Everyone on the ground who has all tags of a scope and one of its speakers, and whoever is newer,
    ascending; None if it has neither."""
    if not ground.held or not (scope.tags or scope.speakers):
        return None
    required = [[label(TAG, tag)] for tag in scope.tags]
    required += [[label(SPEAKER, name) for name in scope.speakers]] if scope.speakers else []
    found = [np.arange(ground.upto + 1, namespaces.state.memory + 1)]
    for segment, stale in ground.held:
        for namespace in namespaces.numbers:
            numbers = segment.numbers[_having_all(segment, segment.span(namespace), required)]
            found.append(numbers[~spans.among(numbers, stale)] if len(stale) else numbers)
    return _together(found)


def _having_all(
    segment: WordSegment, span: tuple[int, int], required: Sequence[Sequence[str]]
) -> NDArray[np.int32]:
    """Positions within a span that have, of each of the required, one of the alternatives."""
    each = [_together([_having(segment, span, term) for term in alternatives]) for alternatives in required]
    return reduce(np.intersect1d, each)


def _together(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Everything in any of these, each of which ascends, ascending."""
    some = [part for part in parts if len(part)] or [parts[0]]
    return some[0] if len(some) == 1 else np.unique(np.concatenate(some))


def _having(segment: WordSegment, span: tuple[int, int], term: str) -> NDArray[np.int32]:
    place = matching.find(segment, (term.encode(), None))
    return segment.occurrences(place).inside(*span).docs
