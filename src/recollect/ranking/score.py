"""From fused candidates to final scores, with every multiplier named."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.ranking.fuse import SECTOR_BOOST, SUPERSEDED, Fused, recency
from recollect.store.base import Candidate
from recollect.types import Factor, Fusion, Match, Multiplier, TimeUsed

SALIENCE_SPAN = 0.06
RECENCY_SPAN = 0.04
OUTSIDE_TIME = 0.6
ANOTHER_SPEAKER = 0.5


@dataclass(frozen=True, slots=True)
class Rules:
    """What scores are multiplied by, besides what the legs said."""

    fusion: Fusion
    now: datetime
    timeframe: TimeUsed | None = None
    factors: tuple[Factor, ...] = ()
    meant: frozenset[str] = frozenset()
    """The speakers whose words the question asks for."""

    def multipliers(self, candidate: Candidate) -> Iterator[tuple[str, float]]:
        """Small and bounded for the default; a named fusion is left as its document says."""
        if self.fusion == "mix":
            yield "salience", 1 - SALIENCE_SPAN * (1 - candidate.salience)
            yield "recency", 1 - RECENCY_SPAN * (1 - recency(candidate.created_at, self.now))
            if self.meant and candidate.speaker is not None and candidate.speaker not in self.meant:
                yield "speaker", ANOTHER_SPEAKER
        if self.fusion == "weighted":
            yield "sector", SECTOR_BOOST[candidate.sector]
        if candidate.superseded:
            yield "superseded", SUPERSEDED
        if self.timeframe and self.timeframe.origin == "query" and not self._within(candidate.created_at):
            yield "timeframe", OUTSIDE_TIME

    @property
    def rereads(self) -> bool:
        """Whether the best are looked at again with their texts at hand: in the default order alone."""
        return self.fusion == "mix" and not self.factors

    @property
    def ceiling(self) -> float:
        """What the multipliers can come to at the most."""
        return max(SECTOR_BOOST.values()) if self.fusion == "weighted" else 1.0

    def explained(self, candidate: Candidate) -> tuple[Multiplier, ...]:
        """The same, each with a note for people."""
        notes = {
            "salience": f"salience {candidate.salience:.2f}",
            "recency": f"{(self.now - candidate.created_at).days} days old",
            "speaker": f"said by {candidate.speaker}, not by {' or '.join(sorted(self.meant))}",
            "sector": f"{candidate.sector} memory",
            "superseded": "it no longer holds",
            "timeframe": f'outside "{self.timeframe.phrase}"' if self.timeframe else "",
        }
        return tuple(Multiplier(name, value, notes[name]) for name, value in self.multipliers(candidate))

    def factor_values(self, item: Fused) -> tuple[Multiplier, ...]:
        """What was asked to be reordered by, each within 0..1."""
        values = {
            "similarity": item.base + item.lent,
            "importance": item.candidate.importance,
            "recency": recency(item.candidate.created_at, self.now),
        }
        return tuple(Multiplier(name, values[name]) for name in self.factors)

    def _within(self, moment: datetime) -> bool:
        time = self.timeframe
        assert time is not None
        return (time.start is None or time.start <= moment) and (time.end is None or moment < time.end)

    def value(self, item: Fused) -> float:
        """What a candidate comes to, before it is reordered by factors."""
        value = item.base + item.lent
        for _, multiplier in self.multipliers(item.candidate):
            value *= multiplier
        return value

    def reordered(self, item: Fused) -> float:
        """The mean of the factors that were asked for, times the multipliers."""
        value = sum(factor.value for factor in self.factor_values(item)) / len(self.factors)
        for _, multiplier in self.multipliers(item.candidate):
            value *= multiplier
        return value


Place = tuple[float, int, datetime]


def score(fused: Sequence[Fused], rules: Rules, limit: int) -> list[tuple[Fused, float]]:
    """The best candidates with their final scores (0..1), best first.

    Equal ones go by their better rank in a leg, then by age. Nobody can come to more than what the legs and
    neighbours gave times the highest multiplier, so most need no scoring once `limit` others are better.
    Factors reorder those that would have been returned without them.
    """
    ordered = sorted(fused, key=lambda item: -(item.base + item.lent))
    best: list[float] = []
    scored: list[tuple[Place, Fused]] = []
    for item in ordered:
        if len(best) == limit and (item.base + item.lent) * rules.ceiling < best[0]:
            break
        value = rules.value(item)
        scored.append((_place(item, value), item))
        heapq.heappush(best, value) if len(best) < limit else heapq.heappushpop(best, value)
    winners = _first(scored, limit)
    if rules.factors:
        winners = _first([(_place(item, rules.reordered(item)), item) for _, item in winners], limit)
    return [(item, min(1.0, max(0.0, place[0]))) for place, item in winners]


def _place(item: Fused, value: float) -> Place:
    ranks = [leg.rank for leg in (item.keyword, item.semantic) if leg is not None]
    return value, -min(ranks, default=0), item.candidate.created_at


def _first(scored: list[tuple[Place, Fused]], limit: int) -> list[tuple[Place, Fused]]:
    return sorted(scored, key=lambda pair: pair[0], reverse=True)[:limit]


def match_type(item: Fused) -> Match:
    """Which legs found it; what was found by its text as it stands counts as found by keyword."""
    if item.keyword is not None and item.semantic is not None:
        return "both"
    return "semantic" if item.semantic is not None else "keyword"
