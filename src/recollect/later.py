"""Work that nobody should wait for, done in the background soon after, and finished before closing."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from recollect.errors import RecollectError
from recollect.forks import mind_forks

_log = logging.getLogger("recollect")


class Later:
    """Runs actions one after the other on a thread that lives only as long as there is work."""

    def __init__(self) -> None:
        self._actions: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._running = False
        mind_forks(self)

    def before_fork(self) -> None:
        """The store that the work is for waits for whoever writes."""

    def after_fork(self, *, in_child: bool) -> None:
        """The thread stays with the parent, and so does its work."""
        if in_child:
            self._actions.clear()
            self._changed, self._running = threading.Condition(), False

    def do(self, action: Callable[[], None]) -> None:
        """Do this soon; returns at once."""
        with self._changed:
            self._actions.append(action)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="recollect-later", daemon=True).start()

    def finish(self, patience: float = 30.0) -> None:
        """Wait until everything that was asked for so far is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running, patience)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._actions:
                    self._running = False
                    self._changed.notify_all()
                    return
                action = self._actions.popleft()
            try:
                action()
            except RecollectError as error:
                _log.warning("What was recalled could not be marked as used: %s", error)
            except BaseException:
                with self._changed:
                    self._running = False
                    self._changed.notify_all()
                raise
