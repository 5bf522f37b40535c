"""From fused candidates to final scores, with every multiplier named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.ranking.fuse import SUPERSEDED, Fused, recency
from recollect.store.base import Candidate
from recollect.types import Factor, Fusion, Match, Multiplier, TimeUsed

SALIENCE_SPAN = 0.06
RECENCY_SPAN = 0.04
OUTSIDE_TIME = 0.6


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its final score and how it came about."""

    fused: Fused
    score: float
    match: Match
    multipliers: tuple[Multiplier, ...]


def score(
    fused: Sequence[Fused],
    *,
    fusion: Fusion,
    now: datetime,
    timeframe: TimeUsed | None = None,
    factors: Sequence[Factor] = (),
) -> list[Scored]:
    """Final scores, best first; equal ones by age, newest first."""
    scored = [_score(item, fusion, now, timeframe, factors) for item in fused]
    return sorted(scored, key=lambda item: (-item.score, -item.fused.candidate.created_at.timestamp()))


def _score(
    item: Fused, fusion: Fusion, now: datetime, timeframe: TimeUsed | None, factors: Sequence[Factor]
) -> Scored:
    multipliers = tuple(_multipliers(item.candidate, fusion, now, timeframe))
    final = item.base + item.lent
    if factors:
        final = _by_factors(final, item.candidate, now, factors)
    for multiplier in multipliers:
        final *= multiplier.value
    return Scored(item, min(1.0, max(0.0, final)), match_type(item), multipliers)


def _multipliers(
    candidate: Candidate, fusion: Fusion, now: datetime, timeframe: TimeUsed | None
) -> list[Multiplier]:
    """Small and bounded for the default; a named fusion is left as its document says."""
    multipliers = []
    if fusion == "mix":
        age = (now - candidate.created_at).days
        multipliers += [
            Multiplier(
                "salience",
                1 - SALIENCE_SPAN * (1 - candidate.salience),
                f"salience {candidate.salience:.2f}",
            ),
            Multiplier(
                "recency", 1 - RECENCY_SPAN * (1 - recency(candidate.created_at, now)), f"{age} days old"
            ),
        ]
    if candidate.superseded and fusion != "weighted":
        multipliers.append(Multiplier("superseded", SUPERSEDED, "another memory took its place"))
    if timeframe is not None and timeframe.origin == "query" and not _within(candidate.created_at, timeframe):
        multipliers.append(Multiplier("timeframe", OUTSIDE_TIME, f'outside "{timeframe.phrase}"'))
    return multipliers


def _within(moment: datetime, timeframe: TimeUsed) -> bool:
    return (timeframe.start is None or timeframe.start <= moment) and (
        timeframe.end is None or moment < timeframe.end
    )


def _by_factors(similarity: float, candidate: Candidate, now: datetime, factors: Sequence[Factor]) -> float:
    """The mean of the factors asked for, each within 0..1."""
    values = {
        "similarity": similarity,
        "importance": candidate.importance,
        "recency": recency(candidate.created_at, now),
    }
    return sum(values[factor] for factor in factors) / len(factors)


def match_type(item: Fused) -> Match:
    """Which legs found it."""
    if item.keyword is not None and item.semantic is not None:
        return "both"
    return "keyword" if item.keyword is not None else "semantic"
