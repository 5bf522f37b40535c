"""How exact is each leg? Its best ten beside those of exact search, which is done here without any index.

The texts go by once more. Of the words only those that are asked for are counted, of the vectors only the
nearness of the best ten is kept; so a million texts take some tens of megabytes.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query.languages import detect
from recollect.query.terms import KeywordQuery, terms_of

TOP = 10
_K1, _B = 1.2, 0.75
_LEAST_RARITY = 1e-6
"""What a word that stands in more than half of the texts counts, as in FTS5."""
_SAME = 1e-6
"""Scores that differ by less, in proportion, are the same."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """The share of each leg's best ten that exact search has among its own, the mean over the questions.

    `keyword` is None where the store has memories of others, which count in BM25 and are not known here.
    """

    questions: int
    keyword: float | None
    semantic: float | None


class Asked(NamedTuple):
    """A question: where it is asked, its words, and its vector."""

    space: int
    words: KeywordQuery
    vector: NDArray[np.float32]


class Seen(NamedTuple):
    """A text that goes by: where it is kept, and its tags."""

    space: int
    text: str
    tags: Sequence[str] = ()


class Pattern(NamedTuple):
    """What is counted in a text: a term, or all terms that begin so."""

    text: str
    is_beginning: bool


class Statistics(NamedTuple):
    """What BM25 needs to know of all texts: how long they are, and how rare each pattern is."""

    mean_length: float
    rarity: dict[Pattern, float]


def patterns(query: KeywordQuery) -> list[Pattern]:
    """What a query counts, each as often as it is asked for.

    >>> from recollect.query.terms import parse_query
    >>> [f"{text}{'*' * is_beginning}" for text, is_beginning in patterns(parse_query("lost update"))]
    ['lost', 'lost*', 'updat', 'updat*']
    """
    return [
        Pattern(term, is_beginning)
        for word in query.words
        for term in word.terms
        for is_beginning in (False, True)[: 1 + word.prefix]
    ]


def terms_kept(seen: Seen) -> list[str]:
    """The terms that a store keeps of a text: its own and those of its tags."""
    language = detect(seen.text)
    return terms_of(seen.text, language) + [term for tag in seen.tags for term in terms_of(tag, language)]


def rarity(among: int, with_it: int) -> float:
    """How much it tells that a text has a pattern, when so many of all have it."""
    odds = (among - with_it + 0.5) / (with_it + 0.5)
    return max(math.log(odds), _LEAST_RARITY)


def agreement(scores: Sequence[float], best: Sequence[float]) -> float:
    """The share of the exact best that was found: `scores` are exact ones, of what a store found.

    >>> agreement([3.0, 2.0, 0.5], [3.0, 2.0, 1.0])
    0.6666666666666666
    """
    least = min(best)
    found = sum(score >= least - abs(least) * _SAME for score in scores[: len(best)])
    return found / len(best)


class Reference:
    """Exact search by words and by meaning for some questions, among the texts that it has seen."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        wanted = dict.fromkeys(each for question in asked for each in patterns(question.words))
        self._postings: dict[Pattern, tuple[array[int], array[int]]] = {
            each: (array("I"), array("I")) for each in wanted
        }
        self._whole = {each.text: each for each in wanted if not each.is_beginning}
        self._beginnings = {each.text: each for each in wanted if each.is_beginning}
        self._lengths_of_beginnings = {len(text) for text in self._beginnings}
        self._lengths, self._spaces = array("I"), array("I")
        self._vectors = np.array([question.vector for question in asked], np.float64)
        self._nearest = np.full((len(asked), TOP), -np.inf)
        self._statistics = cache(self._count)

    def see(self, texts: Sequence[Seen], vectors: NDArray[np.float32]) -> None:
        """Texts go by, with their vectors."""
        for seen in texts:
            terms = terms_kept(seen)
            for pattern, times in self._occurrences(terms).items():
                numbers, counts = self._postings[pattern]
                numbers.append(len(self._lengths))
                counts.append(times)
            self._lengths.append(len(terms) + 1)  # the namespace counts as a word of each
            self._spaces.append(seen.space)
        near = self._vectors @ vectors.T.astype(np.float64)
        spaces = np.array([seen.space for seen in texts])
        near[np.array([question.space for question in self._asked])[:, None] != spaces] = -np.inf
        self._nearest = np.partition(np.hstack([self._nearest, near]), -TOP)[:, -TOP:]

    def _occurrences(self, terms: Iterable[str]) -> Counter[Pattern]:
        """How often a text has what is asked for."""
        found: Counter[Pattern] = Counter()
        for term in terms:
            if term in self._whole:
                found[self._whole[term]] += 1
            for length in self._lengths_of_beginnings:
                if len(term) >= length and term[:length] in self._beginnings:
                    found[self._beginnings[term[:length]]] += 1
        return found

    def nearest(self, question: int) -> list[float]:
        """The greatest cosines in the namespace of a question, at most ten."""
        return [float(value) for value in self._nearest[question] if value > -np.inf]

    def best(self, question: int, *, whole_store: bool) -> list[float]:
        """The greatest BM25 scores in the namespace of a question, at most ten.

        Words are rare among the texts of the `whole_store`, or of the namespace alone.
        """
        space = self._asked[question].space
        statistics = self._statistics(None if whole_store else space)
        lengths = np.frombuffer(self._lengths, np.uint32)
        scores = np.zeros(len(lengths))
        for pattern in patterns(self._asked[question].words):
            numbers, times = (np.frombuffer(each, np.uint32) for each in self._postings[pattern])
            scores[numbers] += statistics.rarity[pattern] * _weight(
                times, lengths[numbers] / statistics.mean_length
            )
        inside = scores[(np.frombuffer(self._spaces, np.uint32) == space) & (scores > 0)]
        return [float(score) for score in np.sort(inside)[-TOP:]]

    def score(self, question: int, seen: Seen, *, whole_store: bool) -> float:
        """The BM25 score of one text."""
        statistics = self._statistics(None if whole_store else seen.space)
        terms = terms_kept(seen)
        times = self._occurrences(terms)
        length = (len(terms) + 1) / statistics.mean_length
        return sum(
            statistics.rarity[pattern] * float(_weight(np.array(times[pattern]), np.array(length)))
            for pattern in patterns(self._asked[question].words)
            if pattern in times
        )

    def cosine(self, question: int, vector: NDArray[np.float32]) -> float:
        """How near a vector is."""
        return float(self._vectors[question] @ vector.astype(np.float64))

    def _count(self, space: int | None) -> Statistics:
        """Over the texts of a namespace, or over all of them."""
        spaces = np.frombuffer(self._spaces, np.uint32)
        inside = np.full(len(spaces), True) if space is None else spaces == space
        among = int(inside.sum())
        return Statistics(
            float(np.frombuffer(self._lengths, np.uint32)[inside].mean()),
            {
                pattern: rarity(among, int(inside[np.frombuffer(numbers, np.uint32)].sum()))
                for pattern, (numbers, _) in self._postings.items()
            },
        )


def _weight(times: NDArray[np.integer], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """What so many occurrences count in a text of this length, in proportion to the mean."""
    return times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length))


def mean(shares: Sequence[float]) -> float | None:
    """The mean, where there is one."""
    return round(fmean(shares), 4) if shares else None
