"""Candidates from SQLite by nearness: from the segments, and exactly from what is newer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Candidate, Key, Nearness, Vector
from recollect.store.sqlite.derived import spans
from recollect.store.sqlite.derived.codes import products
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.vectors import Nearest
from recollect.store.sqlite.judging import WIDER, Jury, reach
from recollect.store.sqlite.search import Namespace, Namespaces
from recollect.store.sqlite.vectors import Arenas, best
from recollect.store.statements import Statements

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
        nearness: Nearness,
        allowed: NDArray[np.int64] | None,
    ) -> None:
        """Of `allowed` (ascending) alone, if given."""
        self._statements = statements
        self._limit = nearness.limit
        self._allowed = allowed
        self._upto = opened.vectors_upto
        self._spaces = [
            _Space(statements, arenas, opened, space, nearness.vector, namespaces.state.vector)
            for space in namespaces.values()
            if space.generation is not None and space.facts.generation == nearness.generation
        ]

    def similarities(self, memories: Sequence[Key]) -> dict[Key, float]:
        """How near these are; one whose text another process has just changed may be judged as it was."""
        asked = np.sort(np.array(memories, np.int64))
        return {key: score for space in self._spaces for key, score in space.similarities(asked).items()}

    @cached_property
    def _first(self) -> Nearest:
        return self._nearest(reach(self._limit), self._allowed)

    def first(self) -> Nearest:
        """Who will be looked at first."""
        return self._first

    def doubtful(self, nearest: Nearest) -> NDArray[np.int64]:
        """Of these the memories whose vectors were read from rows earlier, and may have others by now."""
        return nearest.memories[nearest.numbers > self._upto]

    def found(self, jury: Jury) -> list[Candidate]:
        """The nearest memories in scope, nearest first.

        The nearest few are checked against the scope; only when too many of them were outside does the scope
        itself say which vectors to look at.
        """
        limit = self._limit
        found = self._judged(jury, self._first)
        if len(found) >= limit or len(self._first.numbers) < reach(limit):
            return found
        most = reach(limit) * WIDER
        wider = self._nearest(most, self._allowed)
        if len(found := self._judged(jury, wider)) >= limit or len(wider.numbers) < most:
            return found
        return self._found_of_everyone(jury)

    def _found_of_everyone(self, jury: Jury) -> list[Candidate]:
        """Vectors that memories had before may still be held: behind them, further ones are looked at."""
        most = reach(self._limit)
        while True:
            nearest = self._nearest(most, jury.everyone)
            found = self._judged(jury, nearest)
            if len(found) >= self._limit or len(nearest.numbers) < most:
                return found
            most *= WIDER

    def _judged(self, jury: Jury, nearest: Nearest) -> list[Candidate]:
        vectors, memories, scores = nearest
        return jury.of_vectors(vectors, memories, scores.tolist(), self.doubtful(nearest), self._limit)

    def _nearest(self, most: int, memories: NDArray[np.int64] | None) -> Nearest:
        return _nearest(self._statements, self._spaces, most, memories) if most and self._spaces else NONE


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
            self._newer = Nearest(*arenas.similarities(statements, *known, vector, after, newest))

    def nearest(self, most: int, memories: NDArray[np.int64] | None) -> list[Nearest]:
        """The nearest of each part, or more; of these memories alone, if given."""
        newer = self._newer if memories is None else self._newer_of(memories)
        older = [segment.near(self._number, self.vector, most, memories) for segment in self._segments]
        return [*older, newer]

    def _newer_of(self, memories: NDArray[np.int64]) -> Nearest:
        return self._newer.at(np.flatnonzero(spans.among(self._newer.memories, memories)))

    def similarities(self, memories: NDArray[np.int64]) -> dict[Key, float]:
        """How near these memories (ascending) are, by their newest vector."""
        newer = self._newer_of(memories)
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
    first = found.numbers[:EXACT].tolist()
    exact: dict[int, bytes] = dict(statements.rows("vectors_by_number", numbers=first))
    places = [place for place, number in enumerate(first) if number in exact]
    rows = np.frombuffer(b"".join([exact[first[place]] for place in places]), "<f4")
    scores = found.scores.copy()
    scores[places] = products(rows.reshape(len(places), -1), spaces[0].vector) if places else ()
    return Nearest(found.numbers, found.memories, scores).at(np.argsort(-scores, kind="stable"))
