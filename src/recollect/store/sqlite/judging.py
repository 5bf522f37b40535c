"""Who of these is in scope? Both legs ask it of their best, once, where they can.

Segments say it of most, and the index of those that may not hold now; the others' rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Candidate
from recollect.store.sqlite.derived import kernel
from recollect.store.sqlite.derived.kernel import Known, Nearest, Within
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.sqlite.search import Namespaces, scope_parameters
from recollect.store.statements import Statements
from recollect.times import to_micros
from recollect.types import KINDS, Scope

Numbers = NDArray[np.int64]
WIDER = 8
"""When too few of the best are in scope, so many times as many are looked at, before the scope itself is."""
_candidate = partial(tuple.__new__, Candidate)


def reach(limit: int) -> int:
    """How many to look at first, so that there are so many even if a few are outside."""
    return limit + limit // 4


def _is_told_by_segments(scope: Scope) -> bool:
    """Whether it asks for nothing but kinds, an interval, and what holds now."""
    others = (
        scope.sectors, scope.tiers, scope.tags, scope.speakers, scope.sessions, scope.languages,
        scope.documents, scope.min_salience, scope.as_of, scope.include_superseded, scope.older_than,
    )  # fmt: skip
    return not any(others)


class Jury:
    """Which memories may answer, and what ranking needs to know of them; nobody is read twice."""

    def __init__(
        self,
        statements: Statements,
        scope: Scope,
        namespaces: Namespaces,
        fingerprint: str | None,
        held: Sequence[tuple[WordSegment, Numbers]] = (),
    ) -> None:
        """With the `fingerprint` of a generation, who still has a vector of that one is known too.

        `held` are segments, the newest first, each with the memories (ascending) that it has otherwise than
        they are.
        """
        self._statements = statements
        self._scope = scope
        self._namespaces = namespaces
        self._fingerprint = fingerprint
        self._held = held if _is_told_by_segments(scope) else ()
        self._heard: set[int] = set()
        self._known: Known = {}
        self._vectors: dict[int, int | None] = {}

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        return scope_parameters(self._scope, self._namespaces)

    def hear(self, numbers: Iterable[int], doubtful: Iterable[int] = ()) -> None:
        """Learn of these memories what is not known yet; of `doubtful` ones which vector they have now."""
        wanted = set(numbers) - self._heard
        self._heard |= wanted
        left = self._not_told(sorted(wanted)) if self._held and wanted else wanted
        if self._fingerprint is not None:
            left = left.union(number for number in doubtful if number not in self._vectors)
        if left:
            self._read(sorted(left))

    def _read(self, numbers: list[int]) -> None:
        """In one statement, in the order in which they lie."""
        found = self._statements.rows(
            "judged", **self._parameters, numbers=numbers, fingerprint=self._fingerprint
        )
        self._known.update([(row[0], row[1:-1]) for row in found])
        if self._fingerprint is not None:
            self._vectors.update(dict.fromkeys(numbers))
            self._vectors.update([(row[0], row[-1]) for row in found])

    def _not_told(self, wanted: list[int]) -> set[int]:
        """Learn from the segments what they tell of these memories (ascending); those that must be read."""
        must_be_read = self._aside(wanted)
        if must_be_read:
            wanted = [number for number in wanted if number not in must_be_read]
        for segment, stale in self._held:
            if len(stale):
                outdated = set(stale.tolist())
                must_be_read.update(number for number in wanted if number in outdated)
                wanted = [number for number in wanted if number not in outdated]
            for namespace in self._namespaces.numbers:
                span = segment.span(namespace)
                if wanted and span[0] < span[1]:
                    wanted = kernel.told(segment, wanted, span, self._within, self._known)
        return must_be_read.union(wanted)

    @cached_property
    def _within(self) -> Within:
        kinds = sum(1 << KINDS.index(kind) for kind in set(self._scope.kinds))
        ends = {"since": self._scope.since, "until": self._scope.until}
        return Within(kinds, **{name: to_micros(end) for name, end in ends.items() if end is not None})

    def _aside(self, wanted: list[int]) -> set[int]:
        """Those of these memories that may not hold now: deleted, expiring, superseded, of a certain time."""
        aside = self._namespaces.aside
        if aside is None:
            found = self._statements.rows("aside", namespaces=self._namespaces.numbers, numbers=wanted)
            return {row[0] for row in found}
        return set(aside.intersection(wanted))

    def of_memories(self, numbers: Sequence[int], scores: Sequence[float], limit: int) -> list[Candidate]:
        """The first of these that are in scope. Those far down the list are read only if they are needed."""
        found: list[Candidate] = []
        first = reach(limit)
        for some in (slice(0, first), slice(first, None)):
            if len(found) < limit and numbers[some]:
                self.hear(numbers[some])
                found += self._candidates(numbers[some], scores[some])
        return found[:limit]

    def of_vectors(self, nearest: Nearest, doubtful: Sequence[int], limit: int) -> list[Candidate]:
        """The first of these whose memories are in scope and, where that is in doubt, have that vector."""
        vectors, memories, scores = nearest
        self.hear(memories, doubtful)
        if self._vectors or len(set(memories)) < len(memories):  # some have a vector that was replaced
            held: dict[int, float] = {}
            for vector, memory, score in zip(vectors, memories, scores, strict=True):
                if self._vectors.get(memory, vector) == vector:
                    held.setdefault(memory, score)
            memories, scores = list(held), list(held.values())
        return self._candidates(memories, scores)[:limit]

    def _candidates(self, numbers: Sequence[int], scores: Sequence[float]) -> list[Candidate]:
        known = self._known
        return [
            _candidate((number, score, *known[number]))
            for number, score in zip(numbers, scores, strict=True)
            if number in known
        ]

    @cached_property
    def everyone(self) -> Numbers:
        """Every memory in scope, ascending."""
        found = json.loads(self._statements.value("numbers_in_scope", **self._parameters))
        return np.sort(np.array(found, np.int64))
