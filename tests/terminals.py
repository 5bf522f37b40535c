"""A real terminal for a program under test: what is typed, and what is seen."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Self

PATIENCE = 60.0
"""After how many seconds a program that says nothing has failed; nothing is asserted about less."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")


class Terminal:
    """`recollect` on a pseudo-terminal; a context manager that leaves no process behind."""

    def __init__(
        self, *arguments: str, environment: dict[str, str] | None = None, command: Sequence[str] = ()
    ) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "-m", "recollect.doors.cli")), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_own_terminal,
            env={**os.environ, "TERM": "xterm", **(environment or {})},
        )
        os.close(slave)
        self.seen = ""

    def type(self, text: str) -> None:
        """Type this; a newline is the Enter key."""
        os.write(self._master, text.replace("\n", "\r").encode())

    def line(self, text: str) -> None:
        """Type a line."""
        self.type(text + "\n")

    def press(self, key: str, *, until: str) -> None:
        """Press a key again and again until this is seen, as a person does: readline sleeps through a
        signal that comes between two of its steps."""
        deadline = time.monotonic() + PATIENCE
        while until not in _plain(self.seen):
            assert time.monotonic() < deadline, f"{key!r} did nothing; seen: {self.seen!r}"
            self.type(key)
            while select.select([self._master], [], [], 2.0)[0] and until not in _plain(self.seen):
                assert self._read(), f"the program ended; seen: {self.seen!r}"
        self.expect(until)

    def expect(self, text: str) -> str:
        """Wait until this is seen; what was seen up to it, without colours."""
        while (plain := _plain(self.seen)).find(text) < 0:
            if not self._read():
                raise AssertionError(f"{text!r} never came; seen: {self.seen!r}")
        before, _, after = plain.partition(text)
        self.seen = after
        return before

    def end(self) -> tuple[str, int]:
        """All that is still said, with its colours, and the exit code."""
        while self._read():
            pass
        return self.seen, self.process.wait(PATIENCE)

    def _read(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        while not select.select([self._master], [], [], 0.5)[0]:
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing more came; seen: {self.seen!r}")
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # Linux says so when the other end is closed
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._master)


def _own_terminal() -> None:
    """Make the terminal the one that Ctrl-C comes from; signals are as a shell leaves them."""
    import fcntl
    import signal
    import termios

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)
