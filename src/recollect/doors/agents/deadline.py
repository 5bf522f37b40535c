"""A hook ends in time and with 0, whatever happens: a store that hangs, input that never comes, a fault."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from contextlib import suppress
from types import TracebackType
from typing import NoReturn, Self

from recollect.doors.agents import places
from recollect.errors import RecollectError


class Deadline:
    """Runs a hook: says its answer once and whole, writes down what went wrong, and always ends with 0.

    A thread of its own ends the process when the time is up, so that nothing the hook waits for can keep it.
    """

    def __init__(self, event: str, seconds: float) -> None:
        self.event = event
        self.seconds = seconds
        self.doing = "starting"
        self._speaking = threading.Lock()
        self._over = threading.Event()
        self._answer = 1

    def __enter__(self) -> Self:
        with suppress(OSError):  # a stream that is closed
            self._answer = os.dup(1)
            os.dup2(2, 1)  # what a model or a library prints must not stand before the answer
        threading.Thread(target=self._watch, name="recollect-deadline", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> NoReturn:
        if isinstance(error, RecollectError):
            self.note(f"while {self.doing}: {error}")
        elif error is not None:
            place = "".join(
                f" ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(trace)[-1:]
            )
            self.note(f"while {self.doing}: {type(error).__name__}: {error}{place}")
        self._over.set()
        self._end()

    def say(self, text: str) -> None:
        """Give the answer; nothing else goes to standard output."""
        with self._speaking:
            data = f"{text}\n".encode("ascii", "backslashreplace")
            while data:
                data = data[os.write(self._answer, data) :]

    def note(self, message: str) -> None:
        """Write down what went wrong; where that is impossible, say it on standard error."""
        try:
            places.log(self.event, message)
        except OSError as error:
            sys.stderr.write(f"recollect hook {self.event}: {message} (and no log: {error})\n")

    def _watch(self) -> None:
        if self._over.wait(self.seconds):
            return
        self._speaking.acquire(timeout=0.2)  # an answer that is on its way goes out whole
        try:
            self.note(f"gave up after {self.seconds:g} s while {self.doing}")
        finally:
            self._end()

    @staticmethod
    def _end() -> NoReturn:
        os._exit(0)
