"""Who of these is in scope? Both legs ask it of their best, once, where they can.

Segments say it of most, and the index of those that may not hold now; the others' rows are read.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.lazy import lazy
from recollect.store.base import Candidate
from recollect.store.packed import ROW, Packed, Scored, packed_numbers, packed_row
from recollect.store.sqlite.derived import matching
from recollect.store.sqlite.derived.comparing import Nearest
from recollect.store.sqlite.derived.matching import Within
from recollect.store.sqlite.ground import Ground
from recollect.store.sqlite.search import Namespaces, scope_parameters
from recollect.store.statements import Statements
from recollect.times import to_micros
from recollect.types import KINDS, Kind, Scope

Numbers = NDArray[np.int64]
WIDER = 8
"""When too few of the best are in scope, so many times as many are looked at, before the scope itself is."""


def reach(limit: int) -> int:
    """How many to look at first, so that there are so many even if a few are outside."""
    return limit + limit // 4


def _is_told_by_segments(scope: Scope) -> bool:
    """Whether it asks for nothing but kinds, an interval, labels, and what holds now."""
    others = (
        scope.sectors, scope.tiers, scope.sessions, scope.languages, scope.documents, scope.min_salience,
        scope.as_of, scope.include_superseded, scope.older_than,
    )  # fmt: skip
    return not any(others)


@cache
def _at_any_time(kinds: tuple[Kind, ...]) -> Within:
    return Within(sum(1 << KINDS.index(kind) for kind in set(kinds)))


class Told(NamedTuple):
    """What segments tell of a ranking: who is in scope, packed, and who must be read."""

    ranking: Scored
    rows: bytes
    left: list[int]


class Jury:
    """Which memories may answer, and what ranking needs to know of them; nobody is read twice."""

    def __init__(
        self,
        statements: Statements,
        scope: Scope,
        namespaces: Namespaces,
        fingerprint: str | None,
        ground: Ground,
    ) -> None:
        """With the `fingerprint` of a generation, who still has a vector of that one is known too.

        Nobody on the ground is ever judged who lacks the labels of the scope: see narrowing.py.
        """
        self._statements = statements
        self._scope = scope
        self._namespaces = namespaces
        self._fingerprint = fingerprint
        is_told = _is_told_by_segments(scope)
        self._parts = ground.parts if is_told else []
        self._names: list[list[str | None]] = [*ground.names, [None]] if is_told else [[None]]
        self._speakers: dict[str | None, int] = {None: 0}
        self._heard: set[int] = set()
        self._looked_aside: set[int] = set()
        self._found_aside: set[int] = set()
        self._known: dict[int, tuple[Any, ...]] = {}
        self._vectors: dict[int, int | None] = {}

    @lazy
    def _parameters(self) -> dict[str, Any]:
        return scope_parameters(self._scope, self._namespaces)

    def judged(self, ranking: Scored, doubtful: Iterable[int] = ()) -> Sequence[Candidate]:
        """Those of a ranking who are in scope, in its order.

        Whoever must be read is read in one statement; of `doubtful` ones, which vector they have now.
        """
        return self.settled(self.told(ranking), doubtful)

    def told(self, ranking: Scored) -> Told:
        """What segments tell of a ranking."""
        if not self._parts:
            return Told(ranking, b"", ranking.numbers())
        aside = self._namespaces.aside
        if aside is None:
            aside = self._aside(ranking)
        return Told(ranking, *matching.told(ranking, self._parts, self._within(), aside))

    def settled(self, told: Told, doubtful: Iterable[int] = ()) -> Sequence[Candidate]:
        """Those who are in scope, as `judged` says, once segments have told."""
        ranking, rows, left = told
        self.read(left, doubtful)
        packed = Packed(rows, self._names)
        return self._joined(ranking, packed) if left else packed

    def _aside(self, ranking: Scored) -> bytes:
        """Those of these memories that may not hold now: deleted, expiring, superseded, of a certain time."""
        wanted = sorted(set(ranking.numbers()) - self._looked_aside)
        if wanted:
            self._looked_aside.update(wanted)
            found = self._statements.rows("aside", namespaces=self._namespaces.numbers, numbers=wanted)
            self._found_aside.update(row[0] for row in found)
        return packed_numbers(self._found_aside)

    def _joined(self, ranking: Scored, packed: Packed) -> Packed:
        """What was told and what was read, in the order of a ranking in which nobody stands twice."""
        scores, keys = ranking.scores(), packed.keys()
        rank = dict(zip(ranking.numbers(), count()))
        told = [rank[key] for key in keys]
        pieces, start = [], 0
        for number in sorted((rank.keys() & self._known.keys()).difference(keys), key=rank.__getitem__):
            end = bisect_left(told, rank[number])
            read = Candidate(number, scores[rank[number]], *self._known[number])
            pieces += [packed.rows[start * ROW.size : end * ROW.size], self._row(read)]
            start = end
        return Packed(b"".join([*pieces, packed.rows[start * ROW.size :]]), self._names)

    def _row(self, each: Candidate) -> bytes:
        """One that was read, packed."""
        if each.speaker not in self._speakers:
            self._speakers[each.speaker] = len(self._speakers)
            self._names[-1].append(each.speaker)
        number, session, speaker = (each.key, each.session or 0, self._speakers[each.speaker])
        assert isinstance(number, int) and isinstance(session, int)
        return packed_row(each, number, session, speaker, len(self._names) - 1)

    def read(self, some: Iterable[int], doubtful: Iterable[int]) -> None:
        """Those of whom no segment tells, and which vectors doubtful ones have, in one statement."""
        left = set(some) - self._heard
        if self._fingerprint is not None:
            left.update(number for number in doubtful if number not in self._vectors)
        if not left:
            return
        numbers = sorted(left)  # in the order in which they lie
        self._heard.update(numbers)
        found = self._statements.rows(
            "judged", **self._parameters, numbers=numbers, fingerprint=self._fingerprint
        )
        self._known.update([(row[0], row[1:-1]) for row in found])
        if self._fingerprint is not None:
            self._vectors.update(dict.fromkeys(numbers))
            self._vectors.update([(row[0], row[-1]) for row in found])

    def _within(self) -> Within:
        scope = self._scope
        if scope.since is None and scope.until is None:
            return _at_any_time(scope.kinds)
        ends = {"since": scope.since, "until": scope.until}
        times = {name: to_micros(end) for name, end in ends.items() if end is not None}
        return _at_any_time(scope.kinds)._replace(**times)

    def of_vectors(
        self, nearest: Nearest, judged: Sequence[Candidate], *, twice: bool
    ) -> Sequence[Candidate]:
        """Of those who were `judged` the ones who have that vector, where that is in doubt, as it is when a
        memory may be there `twice`."""
        if not self._vectors:
            memories = nearest.memories.numbers() if twice else []
            if len(set(memories)) == len(memories):
                return judged
        found = list(zip(*nearest.columns(), strict=True))
        newest: dict[int, int] = {}  # some have a vector that was replaced, by one with a higher number
        for vector, memory, _ in found:
            newest[memory] = max(vector, newest.get(memory, vector))
        held = {
            memory: score
            for vector, memory, score in found
            if self._vectors.get(memory, newest[memory]) == vector
        }
        return self.judged(Scored.of(held, held.values()))

    @lazy
    def everyone(self) -> Numbers:
        """Every memory in scope, ascending."""
        found = json.loads(self._statements.value("numbers_in_scope", **self._parameters))
        return np.sort(np.array(found, np.int64))
