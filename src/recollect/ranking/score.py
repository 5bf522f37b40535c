"""From fused candidates to final scores, with every multiplier named."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property

from recollect.frozen import dataclass
from recollect.ranking.fuse import SECTOR_BOOST, SUPERSEDED, Fused, recency
from recollect.store.base import Candidate
from recollect.times import micros_or_none, to_micros
from recollect.types import Factor, Fusion, Match, Multiplier, TimeUsed

SALIENCE_SPAN = 0.06
RECENCY_SPAN = 0.04
OUTSIDE_TIME = 0.6
ANOTHER_SPEAKER = 0.5


@dataclass(frozen=True)
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
            yield "recency", 1 - RECENCY_SPAN * (1 - recency(candidate.created, self._moment))
            if self.meant and candidate.speaker is not None and candidate.speaker not in self.meant:
                yield "speaker", ANOTHER_SPEAKER
        if self.fusion == "weighted":
            yield "sector", SECTOR_BOOST[candidate.sector]
        if candidate.superseded:
            yield "superseded", SUPERSEDED
        if self._preferred and not self._is_preferred(candidate.created):
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
        return tuple(
            Multiplier(name, value, self._note(name, candidate))
            for name, value in self.multipliers(candidate)
        )

    def _note(self, name: str, candidate: Candidate) -> str:
        match name:
            case "salience":
                return f"salience {candidate.salience:.2f}"
            case "recency":
                return f"{(self._moment - candidate.created) // _DAY} days old"
            case "speaker":
                return f"said by {candidate.speaker}, not by {' or '.join(sorted(self.meant))}"
            case "sector":
                return f"{candidate.sector} memory"
            case "superseded":
                return "it no longer holds"
        return f'outside "{self.timeframe.phrase}"' if self.timeframe else ""

    def factor_values(self, item: Fused) -> tuple[Multiplier, ...]:
        """What was asked to be reordered by, each within 0..1."""
        if not self.factors:
            return ()
        values = {
            "similarity": item.base + item.lent,
            "importance": item.candidate.importance,
            "recency": recency(item.candidate.created, self._moment),
        }
        return tuple(Multiplier(name, values[name]) for name in self.factors)

    @cached_property
    def _moment(self) -> int:
        return to_micros(self.now)

    @cached_property
    def _preferred(self) -> tuple[int | None, int | None] | None:
        """From when and until when, if the question speaks of a time."""
        time = self.timeframe
        if time is None or time.origin != "query":
            return None
        return micros_or_none(time.start), micros_or_none(time.end)

    def _is_preferred(self, created: int) -> bool:
        start, end = self._preferred or (None, None)
        return (start is None or start <= created) and (end is None or created < end)

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


Place = tuple[float, int, int]
_DAY = 86_400_000_000


def score(fused: Iterable[Fused], rules: Rules, limit: int) -> list[tuple[Fused, float]]:
    """The best of what was fused, given best first, with their final scores (0..1), best first.

    Equal ones go by their better rank in a leg, then by age. Nobody can come to more than what the legs and
    neighbours gave times the highest multiplier, so most need no scoring once `limit` others are better.
    Factors reorder those that would have been returned without them.
    """
    ceiling = rules.ceiling
    best: list[float] = []
    scored: list[tuple[Place, Fused]] = []
    for item in fused:
        if len(best) == limit and (item.base + item.lent) * ceiling < best[0]:
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
    return value, -min(ranks, default=0), item.candidate.created


def _first(scored: list[tuple[Place, Fused]], limit: int) -> list[tuple[Place, Fused]]:
    return sorted(scored, key=lambda pair: pair[0], reverse=True)[:limit]


def match_type(item: Fused) -> Match:
    """Which legs found it; what was found by its text as it stands counts as found by keyword."""
    if item.keyword is not None and item.semantic is not None:
        return "both"
    return "semantic" if item.semantic is not None else "keyword"
