"""Candidates from SQLite by nearness, exactly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Candidate, Generation, Vector
from recollect.store.sqlite import rows
from recollect.store.sqlite.queries import run
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.vectors import Arenas, best
from recollect.types import Scope


def near(
    connection: apsw.Connection,
    arenas: Arenas,
    scope: Scope,
    generation: Generation,
    vector: Vector,
    limit: int,
    also: Iterable[int] = (),
) -> tuple[list[Candidate], list[Candidate]]:
    """By nearness, exactly.

    The nearest few are checked against the scope first; only when too many of them were outside does the
    scope itself say which vectors to look at.
    """
    namespaces = Namespaces.read(connection, scope.namespaces)
    searched = [
        arenas.similarities(connection, number, active, removed, vector)
        for number, removed, facts, active in namespaces.values()
        if active is not None and facts.generation == generation
    ]
    if not searched:
        return [], []
    numbers, memories, scores = (np.concatenate(part) for part in zip(*searched, strict=True))
    parameters = rows.scope_parameters(scope, namespaces.numbers)
    shortlist = best(scores, limit + limit // 2) if limit else np.empty(0, np.intp)
    wanted = set(also)
    extra = np.flatnonzero(np.isin(memories, np.fromiter(wanted, np.int64)))
    asked = np.concatenate([shortlist, extra[~np.isin(extra, shortlist)]])
    allowed = _in_scope(connection, parameters, numbers, scores, asked)
    ranked = [allowed[number] for number in numbers[shortlist].tolist() if number in allowed][:limit]
    if len(ranked) < limit and len(shortlist) < len(scores):
        in_scope = np.array(_vectors_in_scope(connection, parameters, namespaces), np.int64)
        within = np.flatnonzero(np.isin(numbers, in_scope))
        shortlist = within[best(scores[within], limit)]
        ranked = list(_in_scope(connection, parameters, numbers, scores, shortlist).values())
    known = {candidate.key for candidate in ranked}
    others = [c for c in allowed.values() if c.key in wanted and c.key not in known]
    return ranked, others


def _in_scope(
    connection: apsw.Connection,
    parameters: dict[str, Any],
    numbers: NDArray[np.int64],
    scores: Vector,
    positions: NDArray[np.intp],
) -> dict[int, Candidate]:
    """Those of the vectors at these positions whose memories are in scope, in the order given."""
    if not len(positions):
        return {}
    score_of = dict(zip(numbers[positions].tolist(), scores[positions].tolist(), strict=True))
    found = run(connection, "near", **parameters, vectors=json.dumps(list(score_of)))
    return {row[0]: rows.candidate(row[1:], score_of[row[0]]) for row in found}


def _vectors_in_scope(
    connection: apsw.Connection, parameters: dict[str, Any], namespaces: Namespaces
) -> list[int]:
    active = next(number for _, _, _, number in namespaces.values() if number is not None)
    found = run(connection, "vectors_in_scope", **parameters, generation=active)
    numbers: list[int] = json.loads(found[0][0])
    return numbers
