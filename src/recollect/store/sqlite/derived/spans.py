"""Rows of a segment are ordered by namespace: where those of one stand, and which of them are meant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_REMEMBERED = 1_000


def span(spaces: Numbers, starts: Numbers, namespace: int, size: int) -> tuple[int, int]:
    """From where to where, of so many rows, those of a namespace stand; (0, 0) if it has none.

    >>> span(np.array([3, 7]), np.array([0, 4, 9]), 7, 9)
    (4, 9)
    """
    at = int(np.searchsorted(spaces, namespace))
    if at == len(spaces) or spaces[at] != namespace:
        return 0, 0
    start, end = int(starts[at]), int(starts[at + 1])
    if not 0 <= start <= end <= size:
        raise IndexError("a namespace reaches beyond its segment")
    return start, end


class Spans:
    """The spans of a segment; of a thousand namespaces it remembers where they stand."""

    def __init__(self, spaces: Numbers, starts: Numbers, size: int) -> None:
        self._given = spaces, starts, size
        self._known: dict[int, tuple[int, int]] = {}

    def of(self, namespace: int) -> tuple[int, int]:
        """From where to where those of a namespace stand; (0, 0) if it has none."""
        found = self._known.get(namespace)
        if found is None:
            spaces, starts, size = self._given
            found = span(spaces, starts, namespace, size)
            if len(self._known) < _REMEMBERED:
                self._known[namespace] = found
        return found


def owners(spaces: Numbers, starts: Numbers, size: int) -> Numbers:
    """The namespace of each of so many rows.

    >>> owners(np.array([3, 7]), np.array([0, 1, 3]), 3).tolist()
    [3, 7, 7]
    """
    counts = np.diff(starts)
    if starts[0] != 0 or starts[-1] != size or (counts < 0).any():
        raise IndexError("the namespaces do not fit their segment")
    return np.repeat(spaces, counts)


def positions(numbers: Numbers, within: tuple[int, int], wanted: Numbers) -> NDArray[np.intp]:
    """Where those of the wanted numbers stand, in their order, that are in a span of numbers that ascend.

    >>> positions(np.array([1, 2, 3, 5, 8]), (2, 5), np.array([8, 2, 5, 6])).tolist()
    [4, 3]
    """
    here = numbers[within[0] : within[1]]
    at = np.searchsorted(here, wanted)
    inside = at < len(here)
    at = at[inside]
    found: NDArray[np.intp] = at[here[at] == wanted[inside]] + within[0]
    return found


def union(some: Numbers, others: Numbers) -> Numbers:
    """All of both, ascending, each once: numpy's union1d imports masked arrays, which takes 12 ms.

    >>> union(np.array([2, 5]), np.array([9, 2])).tolist()
    [2, 5, 9]
    """
    both = np.sort(np.concatenate([some, others]))
    found: Numbers = both[np.diff(both, prepend=both[:1] - 1) != 0]
    return found


def among(numbers: Numbers, wanted: Numbers) -> NDArray[np.bool_]:
    """Which of some numbers, in any order, are among others that ascend: sooner than numpy's isin, for few.

    >>> among(np.array([5, 1, 9]), np.array([1, 2, 5])).tolist()
    [True, True, False]
    """
    if not len(wanted):
        return np.zeros(len(numbers), np.bool_)
    at = np.minimum(np.searchsorted(wanted, numbers), len(wanted) - 1)
    found: NDArray[np.bool_] = wanted[at] == numbers
    return found
