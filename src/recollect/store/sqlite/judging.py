"""Who of these is in scope? Both legs ask it of their best, once, where they can.

Segments say it of most, and the index of those that may not hold now; the others' rows are read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Candidate
from recollect.store.sqlite.derived import spans
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.sqlite.search import Namespaces, scope_parameters
from recollect.store.statements import Row, Statements
from recollect.times import micros_or_none
from recollect.types import Scope

Numbers = NDArray[np.int64]
WIDER = 8
"""When too few of the best are in scope, so many times as many are looked at, before the scope itself is."""
TOLD = frozenset(("current", "since", "until"))
"""Filters that the segments can tell of."""
_FEW_ASIDE = 200
_NOBODY: Numbers = np.empty(0, np.int64)
_candidate = partial(tuple.__new__, Candidate)


def reach(limit: int) -> int:
    """How many to look at first, so that there are so many even if a few are outside."""
    return limit + limit // 4


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
        self._held = held if self._parameters["filters"] <= TOLD else ()
        self._heard: set[int] = set()
        self._known: dict[int, Row] = {}
        self._vectors: dict[int, int | None] = {}

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        return scope_parameters(self._scope, self._namespaces)

    def hear(self, numbers: Numbers, doubtful: Numbers = _NOBODY) -> None:
        """Learn of these memories what is not known yet; of `doubtful` ones which vector they have now."""
        wanted = np.unique(numbers)
        if self._heard:
            new = [number not in self._heard for number in wanted.tolist()]
            wanted = wanted[np.array(new, np.bool_)]
        self._heard.update(wanted.tolist())
        left = self._not_told(wanted) if self._held and len(wanted) else wanted
        if self._fingerprint is not None and len(doubtful):
            unsure = [number for number in doubtful.tolist() if number not in self._vectors]
            left = np.union1d(left, np.array(unsure, np.int64))
        if len(left):
            self._read(left.tolist())

    def _read(self, numbers: list[int]) -> None:
        """In one statement, in the order in which they lie."""
        found = self._statements.rows(
            "judged", **self._parameters, numbers=numbers, fingerprint=self._fingerprint
        )
        self._known.update([(row[0], row[1:-1]) for row in found])
        if self._fingerprint is not None:
            self._vectors.update(dict.fromkeys(numbers))
            self._vectors.update([(row[0], row[-1]) for row in found])

    def _not_told(self, wanted: Numbers) -> Numbers:
        """Learn from the segments what they tell of these memories (ascending); those that must be read."""
        aside = self._aside(wanted)
        left = np.setdiff1d(wanted, aside, assume_unique=True) if len(aside) else wanted
        for segment, stale in self._held:
            for number in self._namespaces.numbers:
                span = segment.span(number)
                docs = segment.within(span, left) if span[0] < span[1] else None
                if docs is None or not len(docs):
                    continue
                found = segment.numbers[docs]
                if len(stale):
                    holds = ~spans.among(found, stale)
                    docs, found = docs[holds], found[holds]
                self._learn(segment, docs, found)
                left = left[~spans.among(left, found)] if len(found) < len(left) else _NOBODY
        return np.union1d(left, aside) if len(aside) else left

    def _learn(self, segment: WordSegment, docs: NDArray[np.int32], numbers: Numbers) -> None:
        """Of those in scope what ranking needs; the others are out."""
        scope, facts = self._scope, segment.facts
        inside = facts.are_of(docs, scope.kinds)
        since, until = micros_or_none(scope.since), micros_or_none(scope.until)
        if since is not None:
            inside &= facts.created(docs) >= since
        if until is not None:
            inside &= facts.created(docs) < until
        if not inside.all():
            docs, numbers = docs[inside], numbers[inside]
        self._known.update(zip(numbers.tolist(), facts.at(docs), strict=True))

    def _aside(self, wanted: Numbers) -> Numbers:
        """Those of these memories that may not hold now: deleted, expiring, superseded, of a certain time."""
        namespaces = self._namespaces.numbers
        first, last = int(wanted[0]), int(wanted[-1])
        found = self._statements.rows(
            "aside", namespaces=namespaces, first=first, last=last, limit=_FEW_ASIDE
        )
        if len(found) == _FEW_ASIDE:
            found = self._statements.rows("aside_among", namespaces=namespaces, numbers=wanted.tolist())
        aside = np.array(sorted(row[0] for row in found), np.int64)
        return aside[spans.among(aside, wanted)]

    def of_memories(self, numbers: Numbers, scores: Sequence[float], limit: int) -> list[Candidate]:
        """The first of these that are in scope. Those far down the list are read only if they are needed."""
        found: list[Candidate] = []
        first = reach(limit)
        for some in (slice(0, first), slice(first, None)):
            if len(found) < limit and len(numbers[some]):
                self.hear(numbers[some])
                found += self._candidates(numbers[some].tolist(), scores[some])
        return found[:limit]

    def of_vectors(
        self, vectors: Numbers, memories: Numbers, scores: Sequence[float], doubtful: Numbers, limit: int
    ) -> list[Candidate]:
        """The first of these whose memories are in scope and, where that is in doubt, have that vector."""
        self.hear(memories, doubtful)
        numbers = memories.tolist()
        if self._vectors:
            holding = [
                self._vectors.get(memory, vector) == vector
                for vector, memory in zip(vectors.tolist(), numbers, strict=True)
            ]
            pairs = zip(numbers, scores, holding, strict=True)
            held = [(number, score) for number, score, holds in pairs if holds]
            numbers, scores = [number for number, _ in held], [score for _, score in held]
        return self._candidates(numbers, scores)[:limit]

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
