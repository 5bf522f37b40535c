"""The vectors of a namespace in memory, kept up to date by reading only what was written since.

Reading is by vector number, which only grows, so what another process wrote is picked up by the next
search. A vector that was removed or replaced meanwhile may still be here; then the search asks the store
about its best candidates before it believes them, so this costs room, never a wrong answer.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.forks import mind_forks
from recollect.store.base import Vector
from recollect.store.sqlite.derived.codes import products
from recollect.store.statements import Row, Statements

CHUNK = 4096
BUDGET = 512 * 1024 * 1024


class Arena:
    """The vectors of one namespace in one generation, after one that others know: numbers and a matrix."""

    def __init__(self, dimensions: int, removed: int, after: int) -> None:
        self.dimensions = dimensions
        self.removed = removed
        self.after = after
        self.upto = after
        """Of the vectors up to this one, whosever they are, all of the namespace are here."""
        self.size = 0
        self._numbers = np.empty(0, np.int64)
        self._memories = np.empty(0, np.int64)
        self._matrix = np.empty((0, dimensions), np.float32)

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return self._matrix.nbytes

    def append(self, numbers: NDArray[np.int64], memories: NDArray[np.int64], matrix: Vector) -> None:
        """Add vectors at the end. Views handed out before stay as they were."""
        end = self.size + len(numbers)
        if end > len(self._numbers):
            room = max(end, len(self._numbers) * 3 // 2)
            self._numbers = _grown(self._numbers, self.size, room)
            self._memories = _grown(self._memories, self.size, room)
            self._matrix = _grown(self._matrix, self.size, room)
        self._numbers[self.size : end] = numbers
        self._memories[self.size : end] = memories
        self._matrix[self.size : end] = matrix
        self.size = end

    def view(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
        """The numbers, the memories they belong to, and the matrix, as of now."""
        return self._numbers[: self.size], self._memories[: self.size], self._matrix[: self.size]


def _grown(array: NDArray[Any], size: int, room: int) -> NDArray[Any]:
    larger = np.empty((room, *array.shape[1:]), array.dtype)
    larger[:size] = array[:size]
    return larger


class Similar(NamedTuple):
    """Vectors by number, the memories that they belong to, and how near each is."""

    numbers: NDArray[np.int64]
    memories: NDArray[np.int64]
    scores: Vector
    are_doubtful: bool
    """Whether some may have been removed or replaced since they were read."""


class Arenas:
    """The arenas of a store, the ones used last kept while they fit the budget."""

    def __init__(self) -> None:
        self._arenas: OrderedDict[tuple[int, int], Arena] = OrderedDict()
        self._lock = threading.Lock()
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody reads vectors in while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Parent and child go on, each with what was read."""
        self._lock.release()

    def similarities(
        self,
        statements: Statements,
        namespace: int,
        generation: int,
        removed: int,
        vector: Vector,
        after: int,
        newest: int,
    ) -> Similar:
        """How near the vectors of a namespace after a number are.

        `newest` is the highest number that any vector has, and `removed` how many the namespace has lost.
        """
        with self._lock:
            arena = self._current(statements, namespace, generation, removed, len(vector), after, newest)
            held = arena.view() if arena is not None else None  # before another thread appends to it
            are_doubtful = arena is not None and arena.removed != removed
        if held is not None:
            numbers, memories, matrix = held
            end = int(np.searchsorted(numbers, newest, "right"))  # others may see more of the store already
            return Similar(numbers[:end], memories[:end], products(matrix[:end], vector), are_doubtful)
        parts = [
            (numbers, memories, products(matrix, vector))
            for numbers, memories, matrix in _read(statements, namespace, generation, after, len(vector))
        ]
        return Similar(
            np.concatenate([numbers for numbers, _, _ in parts]),
            np.concatenate([memories for _, memories, _ in parts]),
            np.concatenate([scores for _, _, scores in parts]),
            are_doubtful,
        )

    def forget(self, namespace: int) -> None:
        """Drop what is held of a namespace, so that nothing of what was forgotten stays in memory."""
        with self._lock:
            for key in [key for key in self._arenas if key[0] == namespace]:
                del self._arenas[key]

    def _current(
        self,
        statements: Statements,
        namespace: int,
        generation: int,
        removed: int,
        dimensions: int,
        after: int,
        newest: int,
    ) -> Arena | None:
        """The arena, up to date; None when it would not fit the budget and must be read in passing."""
        key = (namespace, generation)
        arena = self._arenas.pop(key, None)
        is_stale = arena is None or removed - arena.removed > 100 + arena.size // 10
        if arena is None or is_stale or arena.after != after:
            count = statements.value("count_vectors", namespace=namespace, generation=generation, last=after)
            if count * dimensions * 4 > BUDGET:
                return None
            arena = Arena(dimensions, removed, after)
        if arena.upto < newest:
            for chunk in _read(statements, namespace, generation, arena.upto, dimensions):
                arena.append(*chunk)
            arena.upto = newest
        self._arenas[key] = arena
        while sum(held.bytes for held in self._arenas.values()) > BUDGET and len(self._arenas) > 1:
            self._arenas.popitem(last=False)
        return arena


def _read(
    statements: Statements, namespace: int, generation: int, last: int, dimensions: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Vector]]:
    width = dimensions * 4
    rows: list[Row] = [()] * CHUNK
    while len(rows) == CHUNK:
        rows = statements.rows(
            "new_vectors", namespace=namespace, generation=generation, last=last, limit=CHUNK
        )
        last = rows[-1][0] if rows else last
        sound = [row for row in rows if len(row[2]) == width]
        matrix = np.frombuffer(b"".join(row[2] for row in sound), np.float32).reshape(-1, dimensions)
        numbers, memories = (np.array([row[i] for row in sound], np.int64) for i in (0, 1))
        yield numbers, memories, matrix


def best(scores: Vector, count: int) -> NDArray[np.intp]:
    """The positions of the highest scores, best first; equal ones in the order they stand.

    >>> best(np.array([0.1, 0.9, 0.5, 0.9], np.float32), 3).tolist()
    [1, 3, 2]
    """
    if count < len(scores):
        last = np.partition(scores, -count)[-count]
        better, equal = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
        chosen = np.sort(np.concatenate([better, equal[: count - len(better)]]))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]
