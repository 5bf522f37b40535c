"""Work on one thing while the next is being prepared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from typing import Generic, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def overlapped(work: Callable[[Given], Made], items: Iterable[Given]) -> Generator[Made, None, None]:
    """What `work` makes of each item, in order; the next item is prepared while it is at the last one.

    What has begun is waited for, whatever happens meanwhile. Where preparing the next one fails and the work
    does, too, the work's error is raised; an interrupt stays one, and a second one ends the waiting.
    """
    started: _Started[Given, Made] | None = None
    try:
        for item in items:
            finished = [started.result()] if started else []
            started = _Started(work, item)
            started.begin()
            yield from finished
        if started:
            yield started.result()
    except Exception:
        if started:
            started.finish()
        raise
    except BaseException:
        if started:
            started.wait_or_call_off()
        raise


class _Started(Generic[Given, Made]):
    """Work on a thread of its own, or here where none can be had."""

    def __init__(self, work: Callable[[Given], Made], item: Given) -> None:
        self._work, self._item = work, item
        self._made: list[Made] = []
        self._error: BaseException | None = None
        self._is_told = False
        self._is_begun = False
        self._is_decided = threading.Lock()  # by who begins the work, or calls it off
        self._is_done = threading.Event()  # an interrupted join() takes a thread for ended that is not

    def begin(self) -> None:
        """Returns at once, unless the work must be done here."""
        try:
            threading.Thread(target=self._run, name="recollect-work").start()
        except RuntimeError:  # the interpreter ends, or the system has no more
            self._run()
        self._is_begun = True

    def _run(self) -> None:
        if not self._is_decided.acquire(blocking=False):
            return
        try:
            self._made.append(self._work(self._item))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result is told
            self._error = error
        finally:
            self._is_done.set()

    def wait(self) -> None:
        """Until it is done, well or not."""
        self._is_done.wait()

    def wait_or_call_off(self) -> None:
        """Wait until it is done, if it has begun; an interrupt may have come just before."""
        if self._is_begun or not self._is_decided.acquire(blocking=False):
            self.wait()

    def finish(self) -> None:
        """Wait, and raise the error that it ended with, unless that was raised before."""
        self.wait()
        if self._error is not None and not self._is_told:
            self._is_told = True
            raise self._error

    def result(self) -> Made:
        """What came of it, or the error that it ended with."""
        self.finish()
        return self._made[0]
