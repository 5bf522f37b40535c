"""Candidates from SQLite by nearness: from the segments, and exactly from what is newer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.store import rows
from recollect.store.base import Candidate, Key, Nearness, Vector
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.vectors import Nearest
from recollect.store.sqlite.indexed import WIDER, numbers_in_scope
from recollect.store.sqlite.search import Namespace, Namespaces, scope_parameters
from recollect.store.sqlite.vectors import Arenas, best
from recollect.store.statements import Statements
from recollect.types import Scope

NONE = Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
EXACT = 24
"""So many of the nearest are compared by their whole vectors."""


class Near:
    """A question to the vectors of a scope."""

    def __init__(
        self,
        statements: Statements,
        arenas: Arenas,
        opened: Opened,
        namespaces: Namespaces,
        scope: Scope,
        nearness: Nearness,
        labelled: NDArray[np.int64] | None,
    ) -> None:
        """Of `labelled` (ascending) alone, if given."""
        self._statements = statements
        self._nearness = nearness
        fingerprint = nearness.generation.fingerprint
        self._parameters = scope_parameters(scope, namespaces) | {"fingerprint": fingerprint}
        self._labelled = labelled
        self._reach = nearness.limit + nearness.limit // 4
        self._spaces = [
            _Space(statements, arenas, opened, space, nearness.vector, namespaces.state.vector)
            for space in namespaces.values()
            if space.generation is not None and space.facts.generation == nearness.generation
        ]

    def similarities(self, memories: Sequence[Key]) -> dict[Key, float]:
        """How near these are; one whose text another process has just changed may be judged as it was."""
        asked = np.sort(np.array(memories, np.int64))
        return {key: score for space in self._spaces for key, score in space.similarities(asked).items()}

    def found(self) -> list[Candidate]:
        """The nearest memories in scope, nearest first.

        The nearest few are checked against the scope; only when too many of them were outside does the scope
        itself say which vectors to look at.
        """
        limit = self._nearness.limit
        if not limit or not self._spaces:
            return []
        for most in (self._reach, self._reach * WIDER):
            nearest = _nearest(self._statements, self._spaces, most, self._labelled)
            found = self._in_scope(nearest)
            if len(found) >= limit or len(nearest.numbers) < most:
                return found
        inside = numbers_in_scope(self._statements, self._parameters)
        nearest = _nearest(self._statements, self._spaces, self._reach, inside)
        return self._in_scope(nearest)

    def _in_scope(self, nearest: Nearest) -> list[Candidate]:
        """Those whose memories are in scope and still have that vector, nearest first."""
        if not len(nearest.numbers):
            return []
        score_of = dict(zip(nearest.numbers.tolist(), nearest.scores.tolist(), strict=True))
        memories = list(dict.fromkeys(nearest.memories.tolist()))  # one may be there with an old vector too
        found = self._statements.rows("near", **self._parameters, memories=memories)
        still = [rows.candidate(row[1:], score_of[row[0]]) for row in found if row[0] in score_of]
        return sorted(still, key=lambda each: -each.score)[: self._nearness.limit]


class _Space:
    """The vectors of one namespace: those in segments, and how near each of the newer ones is."""

    def __init__(
        self,
        statements: Statements,
        arenas: Arenas,
        opened: Opened,
        space: Namespace,
        vector: Vector,
        newest: int,
    ) -> None:
        assert space.generation is not None
        self.vector = vector
        self._number = space.number
        self._segments = opened.of_generation(space.generation)
        self._newer = NONE
        if newest > (after := opened.vectors_upto):
            known = space.number, space.generation, space.removed
            self._newer = Nearest(*arenas.similarities(statements, *known, vector, after))

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
