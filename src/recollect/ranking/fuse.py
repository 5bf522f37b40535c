"""Several ranked lists into one. Each fusion by its name, and nothing else.

`mix` is the default: the scores of each leg made comparable, then mixed. `rrf` looks at ranks alone.
`weighted` adds salience and recency. `rerank` lets vectors reorder what keywords found. `fallback` takes
the first leg that answers.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from recollect.store.base import Candidate, Key
from recollect.types import Sector

RRF_K = 60
MIX_WEIGHTS = {"semantic": 0.6, "keyword": 0.4}
FOREIGN = 0.3
"""The most that vectors count for a question in a language that the embedder was not made for."""
UNREAD = 0.1
"""The most that they count for a question in a script that it can hardly read."""
RRF_WEIGHTS = {"semantic": 1.0, "keyword": 1.0}
WEIGHTED_WEIGHTS = {"semantic": 0.4, "keyword": 0.25, "salience": 0.2, "recency": 0.15}
SECTOR_BOOST: dict[Sector, float] = {
    "reflective": 1.2,
    "semantic": 1.1,
    "procedural": 1.0,
    "emotional": 0.9,
    "episodic": 0.8,
}
FALLBACK_THRESHOLD = 0.7
NARROWEST = 0.05
_COMPARED = 20
_USUAL_WORDS = 5
SUPERSEDED = 0.5

Item = TypeVar("Item", bound=Hashable)


class Opinion(NamedTuple):
    """What one leg said of a candidate: its rank there, its raw score, the share of the base that it gave."""

    rank: int
    score: float
    share: float


class Fused(NamedTuple):
    """A candidate with what each leg said of it and the score that came of both (0..1)."""

    candidate: Candidate
    base: float
    keyword: Opinion | None = None
    semantic: Opinion | None = None
    lent: float = 0.0
    added: tuple[tuple[str, float], ...] = ()

    def scaled(self, scale: float, lent: float) -> Fused:
        """The same with what was lent to it, everything times `scale`."""
        if scale == 1:
            return self._replace(lent=lent)
        keyword, semantic = (
            leg and Opinion(leg.rank, leg.score, leg.share * scale) for leg in (self.keyword, self.semantic)
        )
        return Fused(self.candidate, self.base * scale, keyword, semantic, lent * scale)


@dataclass(frozen=True, slots=True)
class Legs:
    """What the legs found: two ranked lists, and the similarity of further keyword candidates.

    `cut` says that more memories contain the words than are in the keyword list; `words`, how many telling
    words the question has.
    """

    keyword: Sequence[Candidate] = ()
    semantic: Sequence[Candidate] = ()
    extra: Mapping[Key, float] = field(default_factory=dict)
    cut: bool = False
    words: int = _USUAL_WORDS

    def candidates(self) -> dict[Key, Candidate]:
        """Everyone in either list."""
        return {candidate.key: candidate for candidate in (*self.keyword, *self.semantic)}

    def speakers(self) -> set[str]:
        """Everyone who said something of it."""
        return {found.speaker for found in (*self.keyword, *self.semantic) if found.speaker is not None}

    def similarity(self) -> dict[Key, float]:
        """The similarity of everyone who has one."""
        return {**self.extra, **{candidate.key: candidate.score for candidate in self.semantic}}


def rrf(
    lists: Sequence[Sequence[Item]], weights: Sequence[float] | None = None, k: int = RRF_K
) -> dict[Item, float]:
    """Reciprocal rank fusion: the sum of weight / (k + rank) over the lists, ranks from 1, best first.

    >>> scores = rrf([["a", "b", "c"], ["x", "y", "b"]])
    >>> list(scores)[0], round(scores["b"], 6), round(scores["a"], 6)
    ('b', 0.032002, 0.016393)
    """
    scores: dict[Item, float] = {}
    for keys, weight in zip(lists, weights or [1.0] * len(lists), strict=True):
        for rank, key in enumerate(dict.fromkeys(keys), 1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def share_of_keyword(legs: Legs) -> dict[Key, float]:
    """BM25 as a share of the best. Its natural zero is a text without any of the words.

    Where the list was cut, the lowest in it counts as zero, like all those that were cut off.
    """
    scores = [candidate.score for candidate in legs.keyword]
    if not scores:
        return {}
    high, low = max(scores), min(scores) if legs.cut else 0.0
    if high <= low:
        return {candidate.key: 1.0 for candidate in legs.keyword}
    return {candidate.key: (candidate.score - low) / (high - low) for candidate in legs.keyword}


def share_of_semantic(legs: Legs) -> dict[Key, float]:
    """Cosine from the lowest of the list (0) to the best (1): every text is a little similar to any.

    A list whose cosines hardly differ has no worst: the scale is at least `NARROWEST` wide.
    """
    scores = [candidate.score for candidate in legs.semantic]
    if not scores:
        return {}
    high = max(scores)
    width = max(high - min(scores), NARROWEST)
    return {key: max(0.0, 1 - (high - score) / width) for key, score in legs.similarity().items()}


def mix(legs: Legs, weights: Mapping[str, float]) -> list[Fused]:
    """The default: each leg's scores made comparable, then mixed.

    The leg whose best stands out from the rest counts for more than its weight, the other for less; and the
    more words a question has, the more they can tell.
    """
    keyword, semantic = share_of_keyword(legs), share_of_semantic(legs)
    by_words, by_meaning = _leaning(keyword, semantic, weights, legs.words)
    shares = {
        key: (by_words * keyword.get(key, 0.0), by_meaning * semantic.get(key, 0.0))
        for key in legs.candidates()
    }
    return _fused(legs, shares)


def _leaning(
    keyword: Mapping[Key, float], semantic: Mapping[Key, float], weights: Mapping[str, float], number: int
) -> tuple[float, float]:
    """How much each leg counts for this question; together 1, or 0 where nothing counts."""
    total = weights["keyword"] * bool(keyword) + weights["semantic"] * bool(semantic)
    if not total:
        return 0.0, 0.0
    if not keyword or not semantic:
        return float(bool(keyword)), float(bool(semantic))
    words = weights["keyword"] / total
    if len(semantic) >= _COMPARED:
        lean = _standing_out(keyword) - _standing_out(semantic)
        lean += min(0.25, max(-0.2, 0.1 * (number - _USUAL_WORDS)))
        words += min(1.0, max(-1.0, lean)) * min(words, 1 - words)
    return words, 1 - words


def _standing_out(shares: Mapping[Key, float]) -> float:
    """How far the best is above the mean of the next ones (0..1); those who are not in the list have 0."""
    best, *others = heapq.nlargest(_COMPARED, shares.values())
    return best - sum(others) / (_COMPARED - 1)


def by_rank(legs: Legs, weights: Mapping[str, float]) -> list[Fused]:
    """Reciprocal rank fusion, scaled so that first in both lists is 1."""
    best = (weights["keyword"] + weights["semantic"]) / (RRF_K + 1)
    keyword = rrf([[c.key for c in legs.keyword]], [weights["keyword"]])
    semantic = rrf([[c.key for c in legs.semantic]], [weights["semantic"]])
    shares = {
        key: (keyword.get(key, 0.0) / best, semantic.get(key, 0.0) / best) if best else (0.0, 0.0)
        for key in legs.candidates()
    }
    return _fused(legs, shares)


def weighted(legs: Legs, weights: Mapping[str, float], now: datetime) -> list[Fused]:
    """Semantic, keyword, salience and recency, each times its weight, added up.

    The sector's boost and the halving of what was superseded are multipliers, as with every fusion.
    """
    similarity = legs.similarity()
    keyword = {c.key: min(1.0, abs(c.score) / 10) for c in legs.keyword}
    shares = {
        key: (weights["keyword"] * keyword.get(key, 0.0), weights["semantic"] * similarity.get(key, 0.0))
        for key in legs.candidates()
    }
    fused = []
    for item in _fused(legs, shares):
        candidate = item.candidate
        added = (
            ("salience", weights["salience"] * candidate.salience),
            ("recency", weights["recency"] * recency(candidate.created_at, now)),
        )
        base = sum(shares[candidate.key]) + sum(value for _, value in added)
        fused.append(item._replace(base=base, added=added))
    return fused


def recency(created_at: datetime, now: datetime) -> float:
    """1 for what is new, fading with time: exp(-0.05 a day)."""
    return math.exp(-0.05 * max(0.0, (now - created_at).total_seconds() / 86_400))


def reranked(legs: Legs) -> list[Fused]:
    """What keywords found, in the order of similarity; what has no vector comes last."""
    similarity = legs.similarity()
    found = Legs(legs.keyword, (), legs.extra)
    shares = {c.key: (0.0, min(1.0, max(0.0, similarity.get(c.key, 0.0)))) for c in legs.keyword}
    ordered = sorted(legs.keyword, key=lambda c: -similarity.get(c.key, -1.0))
    ranks = {candidate.key: rank for rank, candidate in enumerate(ordered, 1)}
    return [
        Fused(
            item.candidate,
            item.base,
            item.keyword,
            Opinion(ranks[item.candidate.key], similarity[item.candidate.key], item.base)
            if item.candidate.key in similarity
            else None,
        )
        for item in _fused(found, shares)
    ]


def first_answer(legs: Legs) -> list[Fused]:
    """Vectors if any was near enough, else keywords."""
    if legs.semantic:
        shares = {c.key: (0.0, min(1.0, max(0.0, c.score))) for c in legs.semantic}
        return _fused(Legs((), legs.semantic), shares)
    shares = {key: (share, 0.0) for key, share in share_of_keyword(legs).items()}
    return _fused(Legs(legs.keyword), shares)


def _fused(legs: Legs, shares: Mapping[Key, tuple[float, float]]) -> list[Fused]:
    """Candidates with their ranks, raw scores and shares; the base is the sum of the shares."""
    keyword = {c.key: (rank, c.score) for rank, c in enumerate(legs.keyword, 1)}
    semantic = {c.key: (rank, c.score) for rank, c in enumerate(legs.semantic, 1)}
    if semantic:
        beyond = len(semantic) + 1
        for key, similarity in legs.extra.items():
            semantic.setdefault(key, (beyond, similarity))
    fused = []
    for key, candidate in legs.candidates().items():
        by_words, by_meaning = shares[key]
        fused.append(
            Fused(
                candidate,
                min(1.0, by_words + by_meaning),
                Opinion(*keyword[key], by_words) if key in keyword else None,
                Opinion(*semantic[key], by_meaning) if key in semantic else None,
            )
        )
    return fused
