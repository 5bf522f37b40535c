"""Who of these is in scope? Both legs ask it of their best, in one statement where they can."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recollect.store import rows
from recollect.store.base import Candidate
from recollect.store.sqlite.search import Namespaces, scope_parameters
from recollect.store.statements import Row, Statements
from recollect.types import Scope

WIDER = 8
"""When too few of the best are in scope, so many times as many are looked at, before the scope itself is."""


def reach(limit: int) -> int:
    """How many to look at first, so that there are so many even if a few are outside."""
    return limit + limit // 4


class Jury:
    """Which memories may answer, and what ranking needs to know of them; nobody is read twice."""

    def __init__(
        self, statements: Statements, scope: Scope, namespaces: Namespaces, fingerprint: str | None
    ) -> None:
        """With the `fingerprint` of a generation, who still has a vector of that one is known too."""
        self._statements = statements
        self._scope = scope_parameters(scope, namespaces)
        self._fingerprint = fingerprint
        self._heard: set[int] = set()
        self._known: dict[int, Row] = {}

    def hear(self, *lists: Iterable[int]) -> None:
        """Read in one statement what is not known yet of these memories, in the order in which they lie."""
        unknown = set(chain(*lists)) - self._heard
        if not unknown:
            return
        self._heard |= unknown
        numbers = sorted(unknown)
        found = self._statements.rows("judged", **self._scope, numbers=numbers, fingerprint=self._fingerprint)
        self._known.update([(row[0], row) for row in found])

    def of_memories(self, numbers: Sequence[int], scores: Sequence[float], limit: int) -> list[Candidate]:
        """The first of these that are in scope. Those far down the list are read only if they are needed."""
        found: list[Candidate] = []
        first = reach(limit)
        for some in (slice(0, first), slice(first, None)):
            if len(found) < limit:
                self.hear(numbers[some])
                for number, score in zip(numbers[some], scores[some], strict=True):
                    if row := self._known.get(number):
                        found.append(rows.candidate(row, score))
        return found[:limit]

    def of_vectors(
        self, vectors: Sequence[int], memories: Sequence[int], scores: Sequence[float], limit: int
    ) -> list[Candidate]:
        """The first of these whose memories are in scope and, if some lost theirs, still have that vector."""
        self.hear(memories)
        found = [
            rows.candidate(row, score)
            for vector, memory, score in zip(vectors, memories, scores, strict=True)
            if (row := self._known.get(memory)) and (self._fingerprint is None or row[-1] == vector)
        ]
        return found[:limit]

    @cached_property
    def everyone(self) -> NDArray[np.int64]:
        """Every memory in scope, ascending."""
        found = json.loads(self._statements.value("numbers_in_scope", **self._scope))
        return np.sort(np.array(found, np.int64))
