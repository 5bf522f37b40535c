"""When segments are made: once enough was written, on a thread that lives as long as there is work."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.forks import mind_forks
from recollect.store.sqlite.connections import Connections

if TYPE_CHECKING:  # a process that only writes a little needs no numpy
    from recollect.store.sqlite.derived.shelf import Shelf

NEWER = 100
"""So many rows that no segment has are worth a new one."""
MANY, QUIET, MOST_WAITING = 200, 1.0, 20_000
"""While somebody writes so many rows at once, segments wait: until it has been quiet for so many seconds, or
so many rows are in none. Both would have to share one interpreter, and a few large segments cost less."""
_LOOK = 0.02
READERS_WAIT = 2.0
"""After so many seconds a process that only reads sets about what others left undone."""
PATIENCE = 30.0
REST = 600.0
"""So many seconds after a fault it is tried again: there may be room by then."""
_log = logging.getLogger("recollect")


class Background:
    """Makes segments for one open store; a fault of it is logged, and does no harm."""

    def __init__(self, connections: Connections, shelf: Callable[[], Shelf]) -> None:
        self._connections = connections
        self._shelf = shelf
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._for_writer = False
        self._unindexed = self._writers = 0
        self._quiet_at = self._not_before = 0.0
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody starts a thread while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """The thread stays with the parent."""
        if in_child:
            self._thread = None
            self._lock = threading.Lock()
            self._stop = threading.Event()
            self._writers = 0
        else:
            self._lock.release()

    @contextmanager
    def writing(self, rows: int) -> Iterator[None]:
        """While so many rows are being written: segments wait if they are many."""
        if rows < MANY:
            yield
            return
        with self._lock:
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1
                self._quiet_at = time.monotonic() + QUIET

    def notice(self, unindexed: int, *, wrote: bool) -> None:
        """That so many rows are in no segment; returns at once."""
        if wrote and unindexed - self._unindexed >= MANY:
            self._quiet_at = time.monotonic() + QUIET
        self._unindexed = unindexed
        if unindexed < NEWER or self._connections.path is None or self._connections.read_only:
            return
        if time.monotonic() < self._not_before:
            return
        with self._lock:
            self._for_writer |= wrote
            if self._thread is None and not self._stop.is_set():
                pause = 0.0 if wrote else READERS_WAIT
                thread = threading.Thread(
                    target=self._run, args=(pause,), name="recollect-index", daemon=True
                )
                self._thread = thread
                try:
                    thread.start()
                except RuntimeError:  # none can be had, or the interpreter ends
                    self._thread = None

    def settle(self) -> None:
        """Index everything that is there, now; waits for whoever is at it."""
        while not self._build(1, wholly=True) and not self._stop.wait(0.05):
            pass

    def close(self) -> None:
        """Let a writer's segments be finished; for a reader nobody waits."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._quiet_at = 0.0
            if not self._for_writer:
                self._stop.set()
            thread.join(PATIENCE if self._for_writer else None)
        self._stop.set()

    def _run(self, pause: float) -> None:
        try:
            self._stop.wait(pause)
            self._build_and_wait()
        except (RecollectError, OSError, ValueError, IndexError, MemoryError) as error:
            self._not_before = time.monotonic() + REST
            if not self._stop.is_set():
                _log.warning("The indexes beside the store could not be made, so it stays slower: %s", error)
        finally:
            with self._lock:
                self._thread = None

    def _build_and_wait(self) -> None:
        """Make what is missing; as long as somebody writes much at once, only when much is."""
        tried = -1
        goes_on = True
        while goes_on and not self._stop.is_set():
            goes_on = self._writers > 0 or time.monotonic() < self._quiet_at
            if goes_on and (self._unindexed < MOST_WAITING or self._unindexed == tried):
                self._stop.wait(_LOOK)
            else:
                if not goes_on:
                    self._connections.rest()
                tried = self._unindexed
                self._build(MOST_WAITING if goes_on else NEWER)

    def _build(self, least: int, *, wholly: bool = False) -> bool:
        """Whether this process could do it: another one may be at it."""
        from recollect.store.sqlite.derived.building import Building

        return Building(self._connections, self._shelf(), self._stop.is_set).run(least, wholly=wholly)
