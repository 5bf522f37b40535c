"""How often does Python look for garbage? Seldom, while many objects are made of which none is."""

from __future__ import annotations

import gc
import threading
from types import TracebackType

from recollect.forks import mind_forks

SELDOM = 50_000
"""New objects, by default 700: a bulk write makes some for each memory, and they go by themselves."""


class _Seldom:
    """To be entered by any number of threads; the last one that leaves puts back what was set before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: tuple[int, int, int] | None = None
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody is half in."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """In a child nobody is inside any more."""
        self._lock.release()
        if in_child:
            self._inside = min(self._inside, 1)
            self._leave()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            first, *others = gc.get_threshold()
            if self._inside == 1 and 0 < first < SELDOM:
                self._before = (first, others[0], others[1])
                gc.set_threshold(SELDOM, *others)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        self._inside = max(0, self._inside - 1)
        if self._inside == 0 and self._before is not None:
            if gc.get_threshold() == (SELDOM, *self._before[1:]):  # unless somebody else has set it meanwhile
                gc.set_threshold(*self._before)
            self._before = None


seldom = _Seldom()
