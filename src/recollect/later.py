"""What a recall leaves to be done: marking what it returned as used, so that nobody waits for a lock."""

from __future__ import annotations

import atexit
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple
from weakref import WeakSet

from recollect.errors import RecollectError
from recollect.forks import mind_forks

_log = logging.getLogger("recollect")
_living: WeakSet[Later] = WeakSet()


class Use(NamedTuple):
    """Memories of one namespace that a recall returned, and the session it happened in."""

    namespace: str
    ids: Sequence[str]
    session: str | None
    raised: bool
    at: datetime


class Marks(NamedTuple):
    """Uses of the same kind, taken together: how often each memory was returned, and when last."""

    namespace: str
    session: str | None
    raised: bool
    at: datetime
    times: Counter[str]


class Later:
    """Marks uses on a thread that lives only as long as there is work; what waits is taken together."""

    def __init__(self, mark: Callable[[Marks], None]) -> None:
        self._mark = mark
        self._waiting: list[Use] = []
        self._make_locks()
        self._asked = self._done = 0
        self._running = False
        mind_forks(self)
        _living.add(self)

    def _make_locks(self) -> None:
        """The lock is taken by itself: a Condition that is interrupted while it is entered is never left."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def before_fork(self) -> None:
        """The store that the work is for waits for whoever writes."""

    def after_fork(self, *, in_child: bool) -> None:
        """The thread stays with the parent, and so does its work."""
        if in_child:
            self._waiting.clear()
            self._make_locks()
            self._running, self._done = False, self._asked

    def note(self, use: Use) -> None:
        """Mark this soon; returns at once."""
        with self._lock:
            self._waiting.append(use)
            self._asked += 1
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="recollect-later", daemon=True).start()

    def finish(self, patience: float = 30.0) -> None:
        """Wait until everything that was asked for so far is done; not for what comes after."""
        with self._lock:
            asked = self._asked
            self._changed.wait_for(lambda: self._done >= asked or not self._running, patience)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    self._changed.notify_all()
                    return
                taken, self._waiting = self._waiting, []
            try:
                for marks in _together(taken):
                    self._mark(marks)
            except RecollectError as error:
                _log.warning("What was recalled could not be marked as used: %s", error)
            except BaseException:  # a fault of ours: nobody may wait for this thread in vain
                with self._lock:
                    self._running = False
                    self._changed.notify_all()
                raise
            with self._lock:
                self._done += len(taken)
                self._changed.notify_all()


def _together(uses: Sequence[Use]) -> list[Marks]:
    groups: defaultdict[tuple[str, str | None, bool], list[Use]] = defaultdict(list)
    for use in uses:
        groups[use.namespace, use.session, use.raised].append(use)
    return [
        Marks(*kind, max(use.at for use in group), Counter(id for use in group for id in use.ids))
        for kind, group in groups.items()
    ]


@atexit.register
def _finish() -> None:
    """What a program leaves behind without closing its stores is still marked."""
    for later in list(_living):
        later.finish(patience=5.0)
