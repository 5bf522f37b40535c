"""Candidates from SQLite by nearness, exactly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store import rows
from recollect.store.base import Candidate, Generation, Key, Nearness, Vector
from recollect.store.sqlite.search import Namespaces, scope_parameters
from recollect.store.sqlite.vectors import Arenas, best
from recollect.store.statements import Statements
from recollect.types import Scope


def near(
    statements: Statements,
    arenas: Arenas,
    namespaces: Namespaces,
    scope: Scope,
    nearness: Nearness,
    also: Sequence[Key],
) -> tuple[list[Candidate], dict[Key, float]]:
    """By nearness, exactly; and the similarity of `also`, which are known to be in scope.

    (Of `also`, one whose text another process has just changed may still be judged by its old vector.)

    The nearest few are checked against the scope first; only when too many of them were outside does the
    scope itself say which vectors to look at.
    """
    searched = [
        arenas.similarities(statements, space.number, space.generation, space.removed, nearness.vector)
        for space in namespaces.values()
        if space.generation is not None and space.facts.generation == nearness.generation
    ]
    if not searched:
        return [], {}
    numbers, memories, scores = (np.concatenate(part) for part in zip(*searched, strict=True))
    parameters, limit = scope_parameters(scope, namespaces), nearness.limit
    shortlist = best(scores, limit + limit // 4) if limit else np.empty(0, np.intp)
    found = _in_scope(statements, parameters, numbers, scores, shortlist, limit)
    if len(found) < limit and len(shortlist) < len(scores):
        allowed = np.array(_vectors_in_scope(statements, parameters, nearness.generation), np.int64)
        within = np.flatnonzero(np.isin(numbers, allowed))
        found = _in_scope(statements, parameters, numbers, scores, within[best(scores[within], limit)], limit)
    asked = np.flatnonzero(np.isin(memories, np.array(also, np.int64)))
    return found, dict(zip(memories[asked].tolist(), scores[asked].tolist(), strict=True))


def _in_scope(
    statements: Statements,
    parameters: dict[str, Any],
    numbers: NDArray[np.int64],
    scores: Vector,
    positions: NDArray[np.intp],
    limit: int,
) -> list[Candidate]:
    """Those of the vectors at these positions whose memories are in scope, in the order given."""
    if not len(positions):
        return []
    score_of = dict(zip(numbers[positions].tolist(), scores[positions].tolist(), strict=True))
    found = statements.rows("near", **parameters, vectors=list(score_of), limit=limit)
    return [rows.candidate(row[1:], score_of[row[0]]) for row in found]


def _vectors_in_scope(
    statements: Statements, parameters: dict[str, Any], generation: Generation
) -> list[int]:
    found = statements.value("vectors_in_scope", **parameters, fingerprint=generation.fingerprint)
    numbers: list[int] = json.loads(found)
    return numbers
