"""Candidates from SQLite by nearness: from the segments, and exactly from what is newer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Candidate, Key, Nearness, Vector
from recollect.store.packed import keys_of
from recollect.store.sqlite.derived import spans
from recollect.store.sqlite.derived.kernel import Nearest
from recollect.store.sqlite.derived.merging import best_of
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.judging import WIDER, Jury, Ranking, reach
from recollect.store.sqlite.search import Namespace, Namespaces
from recollect.store.sqlite.vectors import Arenas, best
from recollect.store.statements import Statements

NONE: Nearest = ([], [], [])


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
        self._limit = nearness.limit
        self._allowed = allowed
        self._upto = opened.vectors_upto
        self._spaces = [
            _Space(statements, arenas, opened, space, nearness.vector, namespaces.state.vector)
            for space in namespaces.values()
            if space.generation is not None and space.facts.generation == nearness.generation
        ]
        self._begun = self._begin(reach(self._limit), allowed)

    def similarities(self, candidates: Sequence[Candidate]) -> dict[Key, float]:
        """How near these are; one whose text another process has just changed may be judged as it was."""
        asked = sorted(keys_of(candidates))
        known: dict[Key, float] = {}
        for space in self._spaces:
            space.note_similarities(asked, known)
        return known

    @cached_property
    def _nearest(self) -> Nearest:
        return self._begun()

    @property
    def first(self) -> Ranking:
        """Who will be looked at first."""
        return self._nearest[1:]

    @property
    def doubtful(self) -> list[int]:
        """Of the first the memories whose vectors were read from rows earlier, and may have others by now."""
        return self._doubtful(self._nearest)

    def _doubtful(self, nearest: Nearest) -> list[int]:
        upto = self._upto
        if max(nearest[0], default=0) <= upto:
            return []
        return [memory for number, memory in zip(nearest[0], nearest[1], strict=True) if number > upto]

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The nearest memories in scope, nearest first, once the first were judged.

        Only when too many of them were outside does the scope itself say which vectors to look at.
        """
        limit = self._limit
        found = jury.of_vectors(self._nearest[0], self.first, judged)
        if len(found) >= limit or len(self._nearest[0]) < reach(limit):
            return found[:limit]
        most = reach(limit) * WIDER
        wider = self._begin(most, self._allowed)()
        if len(found := self._judged(jury, wider)) >= limit or len(wider[0]) < most:
            return found[:limit]
        return self._found_of_everyone(jury)[:limit]

    def _found_of_everyone(self, jury: Jury) -> Sequence[Candidate]:
        """Vectors that memories had before may still be held: behind them, further ones are looked at."""
        most = reach(self._limit)
        while True:
            nearest = self._begin(most, jury.everyone)()
            found = self._judged(jury, nearest)
            if len(found) >= self._limit or len(nearest[0]) < most:
                return found
            most *= WIDER

    def _judged(self, jury: Jury, nearest: Nearest) -> Sequence[Candidate]:
        (judged,) = jury.judged([nearest[1:]], self._doubtful(nearest))
        return jury.of_vectors(nearest[0], nearest[1:], judged)

    def _begin(self, most: int, memories: NDArray[np.int64] | None) -> Callable[[], Nearest]:
        """What gives the nearest of all, nearest first."""
        if not most:
            return lambda: NONE
        parts = [part for space in self._spaces for part in space.nearest(most, memories)]
        return lambda: cast("Nearest", best_of([NONE, *(part() for part in parts)], most))


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
        self.vector = np.ascontiguousarray(vector, np.float32)
        self._number = space.number
        self._segments = opened.of_generation(space.generation)
        self._newer: _Newer | None = None
        if newest > (after := opened.vectors_upto):
            known = space.number, space.generation, space.removed
            self._newer = _Newer(*arenas.similarities(statements, *known, vector, after, newest))

    def nearest(self, most: int, memories: NDArray[np.int64] | None) -> list[Callable[[], Nearest]]:
        """What gives the nearest of each part, or more; of these memories alone, if given."""
        newer = self._newer
        older = [segment.near(self._number, self.vector, most, memories) for segment in self._segments]
        return older if newer is None else [*older, lambda: newer.nearest(most, memories)]

    def note_similarities(self, memories: list[int], known: dict[Key, float]) -> None:
        """How near these memories (ascending) are, by their newest vector."""
        for segment in self._segments:
            segment.similar(self._number, self.vector, memories, known)
        if self._newer is not None:
            _, newer, newest = self._newer.of(np.array(memories, np.int64))
            known.update(zip(newer.tolist(), newest.tolist(), strict=True))


class _Newer(NamedTuple):
    """Vectors that no segment has, the memories they belong to, and how near each is."""

    numbers: NDArray[np.int64]
    memories: NDArray[np.int64]
    scores: Vector

    def of(self, memories: NDArray[np.int64]) -> _Newer:
        """Those of these memories (ascending)."""
        inside = spans.among(self.memories, memories)
        return _Newer(self.numbers[inside], self.memories[inside], self.scores[inside])

    def nearest(self, most: int, memories: NDArray[np.int64] | None) -> Nearest:
        """The nearest; of these memories alone, if given."""
        among = self if memories is None else self.of(memories)
        order = best(among.scores, most)
        numbers, found, scores = (column[order].tolist() for column in among)
        return numbers, found, scores
