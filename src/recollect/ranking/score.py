"""From fused candidates to final scores, with every multiplier named."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from operator import itemgetter

from recollect.frozen import dataclass
from recollect.lazy import lazy
from recollect.ranking.fuse import SECTOR_BOOST, SUPERSEDED, WEIGHTED_WEIGHTS, Fused, recency, with_use
from recollect.store.base import Candidate, Key, Standing
from recollect.times import micros_or_none, to_micros
from recollect.types import Factor, Fusion, Multiplier, TimeUsed

SALIENCE_SPAN = 0.06
RECENCY_SPAN = 0.04
OUTSIDE_TIME = 0.6
ANOTHER_SPEAKER = 0.5
_EVER = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Rules:
    """What scores are multiplied by, besides what the legs said."""

    fusion: Fusion
    now: datetime
    timeframe: TimeUsed | None = None
    factors: tuple[Factor, ...] = ()
    meant: frozenset[str] = frozenset()
    """The speakers whose words the question asks for."""
    superseded: bool = True
    """Whether what was superseded counts for less: not where it is asked what was believed at a moment."""
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTED_WEIGHTS)
    """How much salience and recency count, where they are added."""

    def multipliers(self, candidate: Candidate, standing: Standing | None = None) -> list[tuple[str, float]]:
        """Small and bounded for the default; a named fusion is left as its document says.

        Without a standing, those alone that are known before a candidate is loaded.
        """
        found = []
        if self.fusion == "mix":
            if standing is not None:
                found.append(("salience", 1 - SALIENCE_SPAN * (1 - standing.salience)))
            found.append(("recency", 1 - RECENCY_SPAN * (1 - recency(candidate.created, self.moment))))
            if self.meant and candidate.speaker is not None and candidate.speaker not in self.meant:
                found.append(("speaker", ANOTHER_SPEAKER))
        if standing is not None:
            if self.fusion == "weighted":
                found.append(("sector", SECTOR_BOOST[standing.sector]))
            if standing.superseded and self.superseded:
                found.append(("superseded", SUPERSEDED))
        if self.timeframe is not None and not self._is_preferred(candidate.created):
            found.append(("timeframe", OUTSIDE_TIME))
        return found

    @property
    def least(self) -> float:
        """What the multipliers that are known only of who was loaded come to, at the least."""
        return (1 - SALIENCE_SPAN if self.fusion == "mix" else 1.0) * (SUPERSEDED if self.superseded else 1.0)

    @property
    def rereads(self) -> bool:
        """Whether the best are looked at again with their texts at hand: in the default order alone."""
        return self.fusion == "mix" and not self.factors

    def explained(self, candidate: Candidate, standing: Standing) -> tuple[Multiplier, ...]:
        """The same, each with a note for people."""
        return tuple(
            Multiplier(name, value, self._note(name, candidate, standing))
            for name, value in self.multipliers(candidate, standing)
        )

    def _note(self, name: str, candidate: Candidate, standing: Standing) -> str:
        match name:
            case "salience":
                return f"salience {standing.salience:.2f}"
            case "recency":
                return f"{(self.moment - candidate.created) // _DAY} days old"
            case "speaker":
                return f"said by {candidate.speaker}, not by {' or '.join(sorted(self.meant))}"
            case "sector":
                return f"{standing.sector} memory"
            case "superseded":
                return "it no longer holds"
        return f'outside "{self.timeframe.phrase}"' if self.timeframe else ""

    def factor_values(self, item: Fused, standing: Standing) -> tuple[Multiplier, ...]:
        """What was asked to be reordered by, each within 0..1."""
        if not self.factors:
            return ()
        values = {
            "similarity": item.base + item.lent,
            "importance": standing.importance,
            "recency": recency(item.candidate.created, self.moment),
        }
        return tuple(Multiplier(name, values[name]) for name in self.factors)

    @lazy
    def moment(self) -> int:
        """Now, in microseconds."""
        return to_micros(self.now)

    @lazy
    def preferred(self) -> tuple[bool, int, int]:
        """Whether the question speaks of a time; from when and until when."""
        time = self.timeframe
        if time is None or time.origin != "query":
            return False, _EVER[0], _EVER[1]
        start, end = micros_or_none(time.start), micros_or_none(time.end)
        return True, _EVER[0] if start is None else start, _EVER[1] if end is None else end

    def _is_preferred(self, created: int) -> bool:
        prefers, start, end = self.preferred
        return not prefers or start <= created < end

    def most(self, item: Fused) -> float:
        """What a candidate comes to at the most: how it stands is not known yet."""
        value = item.base + item.lent
        for _, multiplier in self.multipliers(item.candidate):
            value *= multiplier
        return value

    def settled(self, items: Sequence[Fused], standing: Sequence[Standing]) -> list[tuple[Fused, float]]:
        """Candidates that stand so, with what is added once their salience is known, and what each comes to
        before they are reordered by factors."""
        if self.fusion == "weighted":
            items = [self._used(*pair) for pair in zip(items, standing, strict=True)]
        pairs = zip(items, standing, strict=True)
        over = SUPERSEDED if self.superseded else 1.0
        if self.fusion == "mix":
            return [
                (
                    item,
                    item.most
                    * (1 - SALIENCE_SPAN * (1 - each.salience))
                    * (over if each.superseded else 1.0),
                )
                for item, each in pairs
            ]
        boost = SECTOR_BOOST if self.fusion == "weighted" else {}
        return [
            (item, item.most * boost.get(each.sector, 1.0) * (over if each.superseded else 1.0))
            for item, each in pairs
        ]

    def _used(self, item: Fused, standing: Standing) -> Fused:
        used = with_use(item, standing.salience, self.weights, self.moment)
        return used._replace(most=self.most(used))

    def reordered(self, item: Fused, standing: Standing) -> float:
        """The mean of the factors that were asked for, times the multipliers."""
        value = sum(factor.value for factor in self.factor_values(item, standing)) / len(self.factors)
        for _, multiplier in self.multipliers(item.candidate, standing):
            value *= multiplier
        return value


_PLACE = itemgetter(0, 1, 2)
_DAY = 86_400_000_000


def contenders(fused: Iterable[Fused], rules: Rules, limit: int) -> list[Fused]:
    """Those of what was fused, given best first, who may be among the best `limit`.

    How they stand is not known yet, but what it can change is: whoever comes to less at the most than so many
    others do at the least is out, and need not be loaded.
    """
    if rules.fusion == "weighted":
        return list(fused)  # what is added may change everything
    least = rules.least
    best: list[float] = []
    valued: list[tuple[float, Fused]] = []
    for item in fused:
        if len(best) == limit and item.base + item.lent < best[0]:
            break
        value = rules.most(item)
        valued.append((value, item))
        heapq.heappush(best, value * least) if len(best) < limit else heapq.heappushpop(best, value * least)
    floor = best[0] if len(best) == limit else 0.0
    return [item._replace(most=value) for value, item in valued if value >= floor]


def score(
    found: Iterable[Fused], standings: Mapping[Key, Standing], rules: Rules, limit: int
) -> list[tuple[Fused, float]]:
    """The best of those who stand somehow, with their final scores (0..1), best first.

    Equal ones go by their better rank in a leg, then by age. Factors reorder those that would have been
    returned without them.
    """
    items, standing = [], []
    for each in found:
        known = standings.get(each.candidate.key)
        if known is not None:
            items.append(each)
            standing.append(known)
    winners = _first(rules.settled(items, standing), limit)
    if rules.factors:
        winners = _first(
            [(item, rules.reordered(item, standings[item.candidate.key])) for item, _ in winners], limit
        )
    return [(item, value if 0 < value < 1 else min(1.0, max(0.0, value))) for item, value in winners]


def _first(valued: Iterable[tuple[Fused, float]], limit: int) -> list[tuple[Fused, float]]:
    """The best of those who come to so much, best first."""
    placed: list[tuple[float, int, int, tuple[Fused, float]]] = []
    for each in valued:
        item, value = each
        keyword, semantic = item.keyword, item.semantic
        if keyword is None or semantic is None:
            leg = keyword or semantic
            rank = leg[0] if leg else 0
        else:
            rank = keyword[0] if keyword[0] < semantic[0] else semantic[0]
        placed.append((value, -rank, item.candidate.created, each))
    placed.sort(key=_PLACE, reverse=True)
    return [each for _, _, _, each in placed[:limit]]
