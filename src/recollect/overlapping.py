"""Work on one thing while the next is being prepared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def overlapped(work: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """What `work` makes of each item, in order; the next item is prepared while it is at the last one.

    What has begun is waited for, also when preparing the next one fails.
    """
    started: _Started[Given, Made] | None = None
    try:
        for item in items:
            finished = [started.result()] if started else []
            started = _Started(work, item)
            yield from finished
        if started:
            yield started.result()
    finally:
        if started:
            started.result()


class _Started(Generic[Given, Made]):
    """Work on a thread of its own, or here where none can be had."""

    def __init__(self, work: Callable[[Given], Made], item: Given) -> None:
        self._work, self._item = work, item
        self._made: list[Made] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._run, name="recollect-work")
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter ends, or the system has no more
            self._thread = None
            self._run()

    def _run(self) -> None:
        try:
            self._made.append(self._work(self._item))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result is told
            self._error = error

    def result(self) -> Made:
        """What came of it, or the error that it ended with."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._made[0]
