"""Exploring: how a memory came to be what it is, what lies around it, and how the namespace grew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from recollect import checks
from recollect.memories.finding import Finding, preview
from recollect.memories.front import Id
from recollect.types import Growth, Memory, Neighbourhood, Relation

LONGEST_HISTORY = 100
NEXT = "next_in_session"
"""The edge that a neighbourhood draws from a turn to the one after it."""

BESIDE = 2
"""How many turns before and after a memory belong to its neighbourhood."""

_LOOKED_AT = 20
_EDGES = 1_000
_TENTHS = 10


class Exploring(Finding):
    """What shows memories in their surroundings."""

    def history(self, id: Id) -> list[Memory]:
        """What a memory superseded and what superseded it, step by step, itself among them, oldest first.

        What is hidden or has expired is left out, and of a very long history all but the nearest steps.
        """
        return self._store.history(self._namespace, self._one(id).id, LONGEST_HISTORY, self._now())

    def neighbourhood(self, id: Id, *, limit: int = 40) -> Neighbourhood:
        """A memory, those within two edges of it and those beside it in its session, nearest first."""
        centre, now = self._one(id), self._now()
        checks.limit(limit, lowest=1, highest=200)
        edges = self._store.relations(self._namespace, [centre.id], _EDGES)
        beside = self._beside(centre)
        near = dict.fromkeys((centre.id, *_ends(beside), *_ends(edges)))
        edges = self._store.relations(self._namespace, list(near), _EDGES)
        wanted = [*dict.fromkeys((*near, *_ends(edges)))]
        found = [
            memory
            for memory in self._store.get(self._namespace, wanted[:limit], now)
            if memory.id == centre.id or _can_be_found(memory, now)
        ]
        shown = {memory.id for memory in found}
        kept = [edge for edge in (*edges, *beside) if {edge.source, edge.target} <= shown]
        complete = len(wanted) <= limit and len(edges) < _EDGES
        return Neighbourhood(centre.id, tuple(map(preview, found)), tuple(kept), complete)

    def _beside(self, centre: Memory) -> list[Relation]:
        """The turns just before and after a memory in its session, as edges in their order."""
        if centre.session is None:
            return []
        earlier, later = self._store.around(self._namespace, centre, _LOOKED_AT, _LOOKED_AT, self._now())
        before = [turn for turn in earlier if turn.session == centre.session]
        after = [turn for turn in later if turn.session == centre.session]
        turns = [*before[-BESIDE:], centre, *after[:BESIDE]]
        return [
            Relation(one.id, other.id, NEXT, "recollect", other.created_at) for one, other in pairwise(turns)
        ]

    def growth(self) -> Growth:
        """How many memories each day brought, by sector, and how their salience is spread now."""
        self._later.finish()
        found, saliences = self._store.growth(self._namespace, self._now())
        days: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for number, sector, count in found:
            day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)
            days[day.date().isoformat()][sector] = count
        return Growth(dict(days), tuple(saliences.get(tenth, 0) for tenth in range(_TENTHS)))


def _can_be_found(memory: Memory, now: datetime) -> bool:
    return memory.deleted_at is None and (memory.expires_at is None or memory.expires_at > now)


def _ends(edges: Iterable[Relation]) -> Iterable[str]:
    for edge in edges:
        yield edge.source
        yield edge.target
