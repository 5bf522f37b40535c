"""Several ranked lists into one. Each fusion by its name, and nothing else.

`mix` is the default: the scores of each leg made comparable, then mixed. `rrf` looks at ranks alone.
`weighted` adds salience and recency. `rerank` lets vectors reorder what keywords found. `fallback` takes
the first leg that answers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import NamedTuple, TypeVar

from recollect.frozen import dataclass
from recollect.store.base import Candidate, Key
from recollect.store.packed import speakers_of
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
COMPARED = 20
USUAL_WORDS = 5
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
    most: float = 0.0
    """What it comes to before it is known how it stands, which can only make it less."""
    added: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Legs:
    """What the legs found: two ranked lists, and the similarity of further keyword candidates.

    `cut` says that more memories contain the words than are in the keyword list; `words`, how many telling
    words the question has.
    """

    keyword: Sequence[Candidate] = ()
    semantic: Sequence[Candidate] = ()
    extra: Mapping[Key, float] = field(default_factory=dict)
    cut: bool = False
    words: int = USUAL_WORDS

    def candidates(self) -> dict[Key, Candidate]:
        """Everyone in either list."""
        return {candidate.key: candidate for candidate in (*self.keyword, *self.semantic)}

    def speakers(self) -> set[str]:
        """Everyone who said something of it."""
        return speakers_of(self.keyword) | speakers_of(self.semantic)

    @cached_property
    def similarity(self) -> Mapping[Key, float]:
        """The similarity of everyone who has one."""
        return {**self.extra, **{candidate.key: candidate.score for candidate in self.semantic}}


class Mixed:
    """Everyone whom the legs found, best first.

    Few are ever looked at: until they are, they are only numbers by their keys.
    """

    def __init__(
        self,
        legs: Legs,
        by_words: Mapping[Key, float],
        by_meaning: Mapping[Key, float],
        weights: tuple[float, float] = (1.0, 1.0),
        most: float = 1.0,
    ) -> None:
        """What each leg gives to whom, times its weight; the base is the sum of both, `most` at the most."""
        self.candidates = legs.candidates()
        words, meaning = weights
        base: dict[Key, float] = dict.fromkeys(self.candidates, 0.0)
        base.update([(key, words * share) for key, share in by_words.items()])
        for key, share in by_meaning.items():
            if key in base:
                base[key] += meaning * share
        if base and max(base.values()) > most:
            base = {key: value if value < most else most for key, value in base.items()}
        self.base = base
        self._legs, self._by_words, self._by_meaning, self._weights = legs, by_words, by_meaning, weights
        self._scale = 1.0
        self._total = base
        self._lent: Mapping[Key, float] = {}

    def __len__(self) -> int:
        return len(self._total)

    def __iter__(self) -> Iterator[Fused]:
        words = {found.key: (rank, found.score) for rank, found in enumerate(self._legs.keyword, 1)}
        near = {found.key: (rank, found.score) for rank, found in enumerate(self._legs.semantic, 1)}
        extra, beyond = self._legs.extra if near else {}, len(near) + 1
        by_words, by_meaning = self._weights
        for key in sorted(self._total, key=self._total.__getitem__, reverse=True):
            keyword = semantic = None
            if key in words:
                keyword = Opinion(*words[key], by_words * self._by_words.get(key, 0.0) * self._scale)
            if key in near or key in extra:
                rank, score = near[key] if key in near else (beyond, extra[key])
                share = by_meaning * self._by_meaning.get(key, 0.0) * self._scale
                semantic = Opinion(rank, score, share)
            yield Fused(self.candidates[key], self.base[key], keyword, semantic, self._lent.get(key, 0.0))

    def lend(self, lent: Mapping[Key, float]) -> None:
        """What some are given by neighbours; all are scaled down together, should one exceed 1."""
        self._lent = lent
        self._total = self.base | {key: self.base[key] + more for key, more in lent.items()}
        most = max(self._total.values())
        if most > 1.0:
            self._scale = scale = 1 / most
            self.base = {key: base * scale for key, base in self.base.items()}
            self._lent = {key: more * scale for key, more in lent.items()}
            self._total = self.base | {key: self.base[key] + more for key, more in self._lent.items()}

    def drop_nothing(self) -> None:
        """Leave out those who came to nothing and have none of the words."""
        nothing = {key for key, total in self._total.items() if total <= 0}
        nothing.difference_update([found.key for found in self._legs.keyword] if nothing else ())
        if nothing:
            self._total = {key: total for key, total in self._total.items() if key not in nothing}


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
    worst = high - width
    shares = {key: 1 - (high - score) / width if score > worst else 0.0 for key, score in legs.extra.items()}
    shares.update([(each.key, 1 - (high - each.score) / width) for each in legs.semantic])
    return shares


def mix(legs: Legs, weights: Mapping[str, float]) -> Mixed:
    """The default: each leg's scores made comparable, then mixed.

    The leg whose best stands out from the rest counts for more than its weight, the other for less; and the
    more words a question has, the more they can tell.
    """
    keyword, semantic = share_of_keyword(legs), share_of_semantic(legs)
    leaning = _leaning(keyword, semantic, weights, legs.words)
    return Mixed(legs, keyword, semantic, leaning)


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
    if len(semantic) >= COMPARED:
        lean = _standing_out(keyword) - _standing_out(semantic)
        lean += min(0.25, max(-0.2, 0.1 * (number - USUAL_WORDS)))
        words += min(1.0, max(-1.0, lean)) * min(words, 1 - words)
    return words, 1 - words


def _standing_out(shares: Mapping[Key, float]) -> float:
    """How far the best is above the mean of the next ones (0..1); those who are not in the list have 0."""
    best, *others = sorted(shares.values(), reverse=True)[:COMPARED]
    return best - sum(others) / (COMPARED - 1)


def by_rank(legs: Legs, weights: Mapping[str, float]) -> Mixed:
    """Reciprocal rank fusion, scaled so that first in both lists is 1."""
    best = (weights["keyword"] + weights["semantic"]) / (RRF_K + 1)
    keyword = rrf([[c.key for c in legs.keyword]], [weights["keyword"]])
    semantic = rrf([[c.key for c in legs.semantic]], [weights["semantic"]])
    by_words, by_meaning = (
        {key: score / best if best else 0.0 for key, score in leg.items()} for leg in (keyword, semantic)
    )
    return Mixed(legs, by_words, by_meaning)


def weighted(legs: Legs, weights: Mapping[str, float]) -> Mixed:
    """Semantic and keyword, each times its weight; salience and recency are added once they are known.

    The sector's boost and the halving of what was superseded are multipliers, as with every fusion.
    """
    return Mixed(
        legs,
        {found.key: weights["keyword"] * min(1.0, abs(found.score) / 10) for found in legs.keyword},
        {key: weights["semantic"] * similarity for key, similarity in legs.similarity.items()},
        most=math.inf,
    )


def with_use(item: Fused, salience: float, weights: Mapping[str, float], now: int) -> Fused:
    """What `weighted` adds: how salient and how recent it is, each times its weight."""
    added = (
        ("salience", weights["salience"] * salience),
        ("recency", weights["recency"] * recency(item.candidate.created, now)),
    )
    return item._replace(base=item.base + sum(more for _, more in added), added=added)


def recency(created: int, now: int) -> float:
    """1 for what is new, fading with time: exp(-0.05 a day). Moments are microseconds."""
    return math.exp(-0.05 * max(0.0, (now - created) / 1_000_000 / 86_400))


def reranked(legs: Legs) -> Mixed:
    """What keywords found, in the order of similarity; what has no vector comes last."""
    similarity = legs.similarity
    near = [found._replace(score=similarity[found.key]) for found in legs.keyword if found.key in similarity]
    near.sort(key=lambda found: -found.score)
    return Mixed(Legs(legs.keyword, near), {}, {found.key: min(1.0, max(0.0, found.score)) for found in near})


def first_answer(legs: Legs) -> Mixed:
    """Vectors if any was near enough, else keywords."""
    if legs.semantic:
        shares = {found.key: min(1.0, max(0.0, found.score)) for found in legs.semantic}
        return Mixed(Legs([], legs.semantic), {}, shares)
    return Mixed(Legs(legs.keyword), share_of_keyword(legs), {})
