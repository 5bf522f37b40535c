"""What is the best of several lists? Of one of them, as a rule, and a few of the others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import neg
from typing import Any

Columns = tuple[list[Any], ...]
"""Numbers first, scores last, and perhaps something between: best first, equal ones by number."""


def best_of(parts: Sequence[Columns], most: int) -> Columns:
    """The best of several, of which one has to be given at least.

    >>> best_of([([7, 9, 4], [0.9, 0.5, 0.1]), ([8, 2], [0.9, 0.3])], 3)
    ([7, 8, 9], [0.9, 0.9, 0.5])
    """
    longest, *others = sorted(parts, key=lambda part: -len(part[0]))
    if not any(part[0] for part in others):
        return longest if len(longest[0]) <= most else tuple(column[:most] for column in longest)
    merged = tuple([*column] for column in longest)
    numbers, scores = merged[0], merged[-1]
    for part in others:
        for row in zip(*part, strict=True):
            if len(scores) >= most and row[-1] < scores[most - 1]:
                break
            at = bisect_right(scores, -row[-1], key=neg)
            while at and scores[at - 1] == row[-1] and numbers[at - 1] > row[0]:
                at -= 1
            for column, value in zip(merged, row, strict=True):
                column.insert(at, value)
    return tuple(column[:most] for column in merged)
