"""Candidates from SQLite by nearness: from the segments, and exactly from what is newer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store import rows
from recollect.store.base import Candidate, Key, Nearness, Vector
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.vectors import Nearest
from recollect.store.sqlite.indexed import WIDER, having_labels, numbers_in_scope
from recollect.store.sqlite.search import Namespace, Namespaces, scope_parameters
from recollect.store.sqlite.vectors import Arenas, best
from recollect.store.statements import Statements
from recollect.types import Scope

EXACT = 40
"""So many of the nearest are compared by their whole vectors."""


def near(
    statements: Statements,
    arenas: Arenas,
    opened: Opened,
    namespaces: Namespaces,
    scope: Scope,
    nearness: Nearness,
    also: Sequence[Key],
) -> tuple[list[Candidate], dict[Key, float]]:
    """By nearness; and the similarity of `also`, which are known to be in scope.

    (Of `also`, one whose text another process has just changed may still be judged by its old vector.)

    The nearest few are checked against the scope first; only when too many of them were outside does the
    scope itself say which vectors to look at.
    """
    spaces = [
        _Space(statements, arenas, opened, space, nearness.vector)
        for space in namespaces.values()
        if space.generation is not None and space.facts.generation == nearness.generation
    ]
    if not spaces:
        return [], {}
    asked = np.sort(np.array(also, np.int64))
    similarity = {key: score for space in spaces for key, score in space.similarities(asked).items()}
    if not nearness.limit:
        return [], similarity
    parameters = scope_parameters(scope, namespaces)
    reach = nearness.limit + nearness.limit // 4
    labelled = having_labels(statements, namespaces, scope, opened)
    for most in (reach, reach * WIDER):
        nearest = _nearest(statements, spaces, most, labelled)
        found = _in_scope(statements, parameters, nearest, nearness.limit)
        if len(found) >= nearness.limit or len(nearest.numbers) < most:
            return found, similarity
    nearest = _nearest(statements, spaces, reach, numbers_in_scope(statements, parameters))
    return _in_scope(statements, parameters, nearest, nearness.limit), similarity


class _Space:
    """The vectors of one namespace: those in segments, and how near each of the newer ones is."""

    def __init__(
        self, statements: Statements, arenas: Arenas, opened: Opened, space: Namespace, vector: Vector
    ) -> None:
        assert space.generation is not None
        self.vector = vector
        self._number = space.number
        self._segments = opened.of_generation(space.generation)
        after = opened.vectors_upto
        held = arenas.similarities(statements, space.number, space.generation, space.removed, vector, after)
        self._newer = Nearest(*held)

    def nearest(self, most: int, memories: NDArray[np.int64] | None) -> list[Nearest]:
        """The nearest of each part, or more; of these memories alone, if given."""
        newer = self._newer
        if memories is not None:
            newer = newer.at(np.flatnonzero(np.isin(newer.memories, memories)))
        older = [segment.near(self._number, self.vector, most, memories) for segment in self._segments]
        return [*older, newer]

    def similarities(self, memories: NDArray[np.int64]) -> dict[Key, float]:
        """How near these memories (ascending) are, by their newest vector."""
        newer = self._newer.at(np.flatnonzero(np.isin(self._newer.memories, memories)))
        older = [segment.of_memories(self._number, self.vector, memories) for segment in self._segments]
        return {
            key: score
            for part in (*older, newer)
            for key, score in zip(part.memories.tolist(), part.scores.tolist(), strict=True)
        }


def _nearest(
    statements: Statements, spaces: Sequence[_Space], most: int, memories: NDArray[np.int64] | None
) -> Nearest:
    """The nearest of all, nearest first; the first few by their whole vectors."""
    parts = [part for space in spaces for part in space.nearest(most, memories)]
    found = Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    found = found.at(best(found.scores, most))
    if all(len(part.numbers) == 0 for part in parts[:-1]):
        return found  # nothing of it is from a segment
    exact: dict[int, bytes] = dict(
        statements.rows("vectors_by_number", numbers=found.numbers[:EXACT].tolist())
    )
    scores = found.scores.copy()
    for place, number in enumerate(found.numbers[:EXACT].tolist()):
        if number in exact:
            scores[place] = np.frombuffer(exact[number], "<f4") @ spaces[0].vector
    return Nearest(found.numbers, found.memories, scores).at(np.argsort(-scores, kind="stable"))


def _in_scope(
    statements: Statements, parameters: dict[str, Any], nearest: Nearest, limit: int
) -> list[Candidate]:
    """Those of the nearest whose memories are in scope, nearest first."""
    if not len(nearest.numbers):
        return []
    score_of = dict(zip(nearest.numbers.tolist(), nearest.scores.tolist(), strict=True))
    found = statements.rows("near", **parameters, vectors=list(score_of), limit=limit)
    return [rows.candidate(row[1:], score_of[row[0]]) for row in found]
