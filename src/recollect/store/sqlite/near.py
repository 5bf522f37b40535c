"""Candidates from SQLite by nearness: from the segments, and exactly from what is newer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from recollect.lazy import lazy
from recollect.store.base import Candidate, Key, Nearness
from recollect.store.packed import Scored, Similarities, numbers_of
from recollect.store.sqlite.derived import comparing, spans
from recollect.store.sqlite.derived.comparing import Nearest
from recollect.store.sqlite.ground import Ground
from recollect.store.sqlite.judging import WIDER, Jury, reach
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.vectors import Arenas, Similar, best
from recollect.store.statements import Statements

NONE = Nearest(b"", Scored())


class Near:
    """A question to the vectors of a scope."""

    def __init__(
        self,
        statements: Statements,
        arenas: Arenas,
        ground: Ground,
        namespaces: Namespaces,
        nearness: Nearness,
        allowed: NDArray[np.int64] | None,
    ) -> None:
        """Of `allowed` (ascending) alone, if given."""
        self._limit = nearness.limit
        self._allowed = allowed
        self._upto = upto = ground.opened.vectors_upto
        self._vector = vector = np.ascontiguousarray(nearness.vector, np.float32)
        self._older = ground.vectors.get(nearness.generation, ())
        self._newer: list[Similar] = []
        self._replaced: NDArray[np.int64] | None = None
        newest = namespaces.state.vector
        self._begun = self._begin(reach(self._limit), allowed)  # first of all: the rest goes on beside it
        if newest > upto:
            for space in namespaces.values():
                if space.generation is not None and space.facts.generation == nearness.generation:
                    known = space.number, space.generation, space.removed
                    found = arenas.similarities(statements, *known, vector, upto, newest)
                    self._newer += [found] if len(found.numbers) else []
        self._are_doubtful = any(newer.are_doubtful for newer in self._newer)
        if self._newer and namespaces.have_replaced:  # segments may still have what these took the place of
            self._replaced = np.sort(np.concatenate([newer.memories for newer in self._newer]))

    def similarities(self, candidates: Sequence[Candidate]) -> Mapping[Key, float]:
        """How near these are; one whose text another process has just changed may be judged as it was."""
        numbers, apart = numbers_of(candidates)
        found = [
            comparing.similar(segment, self._vector, numbers, apart, span) for segment, span in self._older
        ]
        found += [comparing.among(newer.memories, newer.scores, numbers, apart) for newer in self._newer]
        return Similarities(found[0] if len(found) == 1 else comparing.latest(found))

    @lazy
    def _nearest(self) -> Nearest:
        return self._begun()

    @property
    def first(self) -> Scored:
        """Who will be looked at first."""
        return self._nearest.memories

    @property
    def doubtful(self) -> list[int]:
        """Of the first the memories whose vectors were read from rows earlier, and may have others by now."""
        return self._doubtful(self._nearest) if self._are_doubtful else []

    def _doubtful(self, nearest: Nearest) -> list[int]:
        if not self._are_doubtful:
            return []
        are_newer = np.frombuffer(nearest.vectors, np.int64) > self._upto
        return list(compress(nearest.memories.numbers(), are_newer.tolist()))

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The nearest memories in scope, nearest first, once the first were judged.

        Only when too many of them were outside does the scope itself say which vectors to look at.
        """
        limit, nearest = self._limit, self._nearest
        found = self._having(jury, nearest, judged)
        if len(found) >= limit or len(nearest.memories) < reach(limit):
            return found[:limit]
        most = reach(limit) * WIDER
        wider = self._begin(most, self._allowed)()
        if len(found := self._judged(jury, wider)) >= limit or len(wider.memories) < most:
            return found[:limit]
        return self._found_of_everyone(jury)[:limit]

    def _found_of_everyone(self, jury: Jury) -> Sequence[Candidate]:
        """Vectors that memories had before may still be held: behind them, further ones are looked at."""
        most = reach(self._limit)
        while True:
            nearest = self._begin(most, jury.everyone)()
            found = self._judged(jury, nearest)
            if len(found) >= self._limit or len(nearest.memories) < most:
                return found
            most *= WIDER

    def _judged(self, jury: Jury, nearest: Nearest) -> Sequence[Candidate]:
        judged = jury.judged(nearest.memories, self._doubtful(nearest))
        return self._having(jury, nearest, judged)

    def _having(self, jury: Jury, nearest: Nearest, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """Those who have the vector that was found: one segment alone has no memory twice."""
        held = _without(nearest, self._replaced, self._upto)
        if held is not nearest:
            judged = jury.judged(held.memories, self._doubtful(held))
        return jury.of_vectors(held, judged, twice=len(self._older) > 1 or bool(self._newer))

    def _begin(self, most: int, memories: NDArray[np.int64] | None) -> Callable[[], Nearest]:
        """What gives the nearest of all, nearest first; another thread may look for them meanwhile."""
        if not most:
            return lambda: NONE
        older = [segment.near(span, self._vector, most, memories) for segment, span in self._older]
        return partial(self._finished, older, most, memories)

    def _finished(
        self, older: Sequence[Callable[[], Nearest]], most: int, memories: NDArray[np.int64] | None
    ) -> Nearest:
        """The nearest of all that was begun; the largest part last, at which the other thread still looks."""
        parts = [_nearest_of(newer, most, memories) for newer in self._newer]
        parts += [part() for part in reversed(older)]
        return parts[0] if len(parts) == 1 and not self._newer else comparing.best(parts[::-1], most)


def _without(nearest: Nearest, replaced: NDArray[np.int64] | None, upto: int) -> Nearest:
    """All but the vectors up to a number whose memories (ascending) have newer ones."""
    if replaced is None:
        return nearest
    vectors = np.frombuffer(nearest.vectors, np.int64)
    pairs = np.frombuffer(nearest.memories.pairs, comparing.PAIRS)
    left = (vectors > upto) | ~spans.among(pairs["memory"], replaced)
    if left.all():
        return nearest
    return Nearest(vectors[left].tobytes(), Scored(pairs[left].tobytes()))


def _nearest_of(newer: Similar, most: int, allowed: NDArray[np.int64] | None) -> Nearest:
    """The nearest, in no order; of these memories (ascending) alone, if given."""
    numbers, memories, scores, _ = newer
    if allowed is not None:
        inside = spans.among(memories, allowed)
        numbers, memories, scores = numbers[inside], memories[inside], scores[inside]
    if len(scores) <= most:
        return Nearest.of(numbers, memories, scores)
    order = best(scores, most)
    return Nearest.of(numbers[order], memories[order], scores[order])
