"""How good is a ranking? Pure functions of the ids that came back and the grades of those that should have.

A grade above 0 means relevant; what is not among the grades is not. Every measure lies between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CUTS = (1, 5, 10)
DEPTH = max(CUTS)
MEASURES = (*(f"{kind}@{k}" for kind in ("any", "all", "recall") for k in CUTS), f"nDCG@{DEPTH}", "MRR")
MAIN_MEASURE = f"nDCG@{DEPTH}"
RESAMPLES = 1_000
SEED = 20_260_101
CONFIDENCE = 0.95
_ROWS_AT_ONCE = 200_000

Grades = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and the interval that holds it with 95% confidence."""

    value: float
    low: float
    high: float


def any_at(k: int, ranked: Sequence[str], grades: Grades) -> float:
    """1 when one of the relevant is among the first k.

    >>> any_at(1, ["a", "b"], {"b": 1}), any_at(2, ["a", "b"], {"b": 1})
    (0.0, 1.0)
    """
    return float(any(grades.get(id, 0) > 0 for id in ranked[:k]))


def all_at(k: int, ranked: Sequence[str], grades: Grades) -> float:
    """1 when all of the relevant are among the first k; 0 where there are more than k of them.

    >>> all_at(2, ["a", "b", "c"], {"b": 1, "c": 1}), all_at(3, ["a", "b", "c"], {"b": 1, "c": 1})
    (0.0, 1.0)
    """
    relevant = {id for id, grade in grades.items() if grade > 0}
    return float(bool(relevant) and relevant <= set(ranked[:k]))


def recall_at(k: int, ranked: Sequence[str], grades: Grades) -> float:
    """Which part of the relevant is among the first k.

    >>> recall_at(2, ["a", "b", "c"], {"b": 1, "c": 1})
    0.5
    """
    relevant = {id for id, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def ndcg_at(k: int, ranked: Sequence[str], grades: Grades) -> float:
    """Grades, discounted by the logarithm of the rank, as a share of what the best order would have given.

    A grade counts as it is (as in trec_eval), not as a power of two.

    >>> ndcg_at(10, ["b", "a"], {"b": 1}), round(ndcg_at(10, ["a", "b"], {"b": 1}), 3)
    (1.0, 0.631)
    """
    gained = _discounted([max(0, grades.get(id, 0)) for id in ranked[:k]])
    best = _discounted(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k])
    return min(1.0, gained / best) if best else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def reciprocal_rank(ranked: Sequence[str], grades: Grades) -> float:
    """1 over the rank of the first that is relevant; 0 where none came back.

    >>> reciprocal_rank(["a", "b"], {"b": 1})
    0.5
    """
    return next((1 / rank for rank, id in enumerate(ranked, 1) if grades.get(id, 0) > 0), 0.0)


def measure(ranked: Sequence[str], grades: Grades) -> dict[str, float]:
    """Every measure of one ranking, by name; no id may come twice.

    >>> measure(["x", "a"], {"a": 1})["any@5"]
    1.0
    """
    kinds = (any_at, all_at, recall_at)
    values = [kind(k, ranked, grades) for kind in kinds for k in CUTS]
    values += [ndcg_at(DEPTH, ranked, grades), reciprocal_rank(ranked[:DEPTH], grades)]
    return dict(zip(MEASURES, values, strict=True))


def estimates(rows: Sequence[Mapping[str, float]], seed: int = SEED) -> dict[str, Estimate]:
    """The mean of every measure over questions, each with its bootstrap interval.

    The same number of rows is always resampled in the same way, so runs can be compared pairwise.

    >>> estimates([{"any@1": 1.0}, {"any@1": 1.0}])
    {'any@1': Estimate(value=1.0, low=1.0, high=1.0)}
    """
    import numpy as np

    if not rows:
        return {}
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows], np.float64)
    means = _resampled_means(table, seed)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    return {
        name: Estimate(float(table[:, i].mean()), float(low[i]), float(high[i]))
        for i, name in enumerate(names)
    }


def _resampled_means(table: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The column means of as many tables as RESAMPLES, each drawn from the rows with replacement."""
    import numpy as np

    chance = np.random.default_rng(seed)
    number = len(table)
    means = np.empty((RESAMPLES, table.shape[1]))
    step = max(1, _ROWS_AT_ONCE // number)
    for start in range(0, RESAMPLES, step):
        drawn = chance.integers(0, number, (min(step, RESAMPLES - start), number))
        means[start : start + step] = table[drawn].mean(axis=1)
    return means


def difference(ours: Sequence[float], theirs: Sequence[float], seed: int = SEED) -> Estimate:
    """How much better one ranking is than another on the same questions: the paired bootstrap.

    >>> difference([1.0, 0.5], [0.5, 0.0]).low
    0.5
    """
    rows = [{"difference": ours_ - theirs_} for ours_, theirs_ in zip(ours, theirs, strict=True)]
    return estimates(rows, seed)["difference"]


def auc(higher: Sequence[float], lower: Sequence[float], seed: int = SEED) -> Estimate | None:
    """How likely one of the first is above one of the second (a tie counts half), with its interval.

    Both are resampled, each by itself. None where one of them is empty: there is nothing to compare.

    >>> auc([0.9, 0.8, 0.4], [0.4, 0.1]).value
    0.9166666666666666
    """
    import numpy as np

    if not higher or not lower:
        return None
    above, below = np.array(higher, np.float64), np.sort(np.array(lower, np.float64))
    chance = np.random.default_rng(seed)
    drawn = [
        _auc(chance.choice(above, len(above)), np.sort(chance.choice(below, len(below))))
        for _ in range(RESAMPLES)
    ]
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Estimate(_auc(above, below), float(low), float(high))


def _auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """With the second in order."""
    beaten = below.searchsorted(above, "left") + below.searchsorted(above, "right")
    return float(beaten.mean() / 2 / len(below))
