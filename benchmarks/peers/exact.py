"""What an exact search finds, and how much of it a peer found. Pure functions on numpy."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
_AT_ONCE = 65_536
_SAME = 1e-4
"""Scores that differ by no more than this share are a tie: peers calculate in single precision."""
_KEPT = 1_000
"""How many of the nearest are kept, so that ten are left when a peer has no copies."""

Scores = dict[int, float]


Judge = Callable[[int, Sequence[int], Collection[int]], float]
"""The number of a question, what was found, what was never there -> the share of the best that was found."""


def cosines(vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> Judge:
    """A judge of the vector leg, by exact search."""
    best = np.empty((len(questions), 0), np.float32)
    numbers = np.empty((len(questions), 0), np.int64)
    for start in range(0, len(vectors), _AT_ONCE):
        block = questions @ vectors[start : start + _AT_ONCE].T
        best = np.hstack([best, block])
        numbers = np.hstack([numbers, np.broadcast_to(np.arange(start, start + block.shape[1]), block.shape)])
        if best.shape[1] > _KEPT:
            kept = np.argpartition(-best, _KEPT, axis=1)[:, :_KEPT]
            best, numbers = np.take_along_axis(best, kept, 1), np.take_along_axis(numbers, kept, 1)

    def judge(question: int, found: Sequence[int], left_out: Collection[int]) -> float:
        there = [int(number) not in left_out for number in numbers[question]]
        right = sorted(best[question][there].tolist(), reverse=True)
        scores = {n: float(vectors[n] @ questions[question]) for n in found if n < len(vectors)}
        return overlap(right, scores)

    return judge


def overlap(right: Sequence[float], found: Scores, most: int = 10) -> float:
    """The share of the best that was found. `right` are the exact scores, highest first.

    Whoever scores as high as the last of the best is as good as it, so that a tie is nobody's fault.

    >>> overlap([3.0, 2.0, 2.0, 1.0], {7: 3.0, 8: 2.0, 9: 1.0}, most=3)
    0.6666666666666666
    """
    best = [score for score in right[:most] if score > 0]
    if not best:
        return 1.0
    least = best[-1] - abs(best[-1]) * _SAME
    return min(len(best), sum(score >= least for score in found.values())) / len(best)


def idf(rows: int, with_it: int, kind: Literal["lucene", "fts5"]) -> float:
    """How telling a word is. FTS5 takes a word that half of the rows have for next to nothing.

    >>> round(idf(100, 1, "lucene"), 2), round(idf(100, 1, "fts5"), 2), idf(100, 60, "fts5")
    (4.21, 4.19, 1e-06)
    """
    odds = (rows - with_it + 0.5) / (with_it + 0.5)
    return math.log1p(odds) if kind == "lucene" else max(math.log(odds), 1e-6)


def bm25(
    texts: Iterable[Sequence[Any]],
    questions: Sequence[Sequence[Any]],
    kind: Literal["lucene", "fts5"] = "lucene",
    left_out: Collection[int] = (),
) -> list[Scores]:
    """Every text that has a word of a question, with its BM25 score; one table for each question.

    >>> table = bm25([["a", "b"], ["ab"], ["c", "c"]], [["a"], ["a*"]])
    >>> [sorted(scores) for scores in table]
    [[0], [0, 1]]
    """
    patterns = list(dict.fromkeys(word for question in questions for word in question))
    matched = _matching(patterns)
    places: dict[Any, list[tuple[int, int]]] = {pattern: [] for pattern in patterns}
    lengths: dict[int, int] = {}
    for number, words in enumerate(texts):
        if number in left_out:
            continue
        lengths[number] = len(words)
        counts = Counter(pattern for word in words for pattern in matched(word))
        for pattern, times in counts.items():
            places[pattern].append((number, times))
    average = sum(lengths.values()) / max(len(lengths), 1)
    return [_scores(question, places, lengths, average, kind) for question in questions]


def _matching(patterns: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """Which patterns a word fits; each word is looked at once."""
    exact = set(patterns)
    beginnings = [p for p in patterns if isinstance(p, str) and len(p) > 1 and p.endswith("*")]
    known: dict[Any, Sequence[Any]] = {}

    def matched(word: Any) -> Sequence[Any]:
        if word not in known:
            begun = [p for p in beginnings if word.startswith(p[:-1])] if beginnings else []
            known[word] = [*([word] if word in exact else []), *begun]
        return known[word]

    return matched


def _scores(
    question: Sequence[Any],
    places: dict[Any, list[tuple[int, int]]],
    lengths: dict[int, int],
    average: float,
    kind: Literal["lucene", "fts5"],
) -> Scores:
    scores: dict[int, float] = defaultdict(float)
    for pattern in question:
        weight = idf(len(lengths), len(places[pattern]), kind)
        for number, times in places[pattern]:
            norm = K1 * (1 - B + B * lengths[number] / average)
            scores[number] += weight * times * (K1 + 1) / (times + norm)
    return dict(scores)


def judged(table: Sequence[Scores], answers: Sequence[Sequence[int]]) -> list[float]:
    """The share of the ten best that each question's answer has."""
    return [
        overlap(sorted(scores.values(), reverse=True), {n: scores.get(n, 0.0) for n in found})
        for scores, found in zip(table, answers, strict=True)
    ]
