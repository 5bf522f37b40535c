"""Serving one client over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from recollect.doors.mcp.server import AgentDoor

_PIECE = 1 << 16
_ESCAPED_SURROGATE = b"\\ud"
_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(door: AgentDoor) -> None:
    """Answer until standard input closes or the process is asked to end; the session ends either way."""
    intake = Intake()
    caught: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        caught.append(number)

    with at_a_signal(intake.close):
        before = {number: signal.signal(number, stop) for number in _ENDING}
        try:
            door.server.run("stdio")
        except* BrokenPipeError:
            pass  # the client went away before it had its answer
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            intake.close()
    if signal.SIGINT in caught:
        raise KeyboardInterrupt


@contextmanager
def at_a_signal(act: Callable[[], None]) -> Iterator[None]:
    """Do this at once when the process is asked to end, in a thread.

    The main thread, where handlers run, notices a signal only when something else wakes it, if it was just
    about to go to sleep.
    """
    receiving, sending = socket.socketpair()
    sending.setblocking(False)
    before = signal.set_wakeup_fd(sending.fileno())

    def wait() -> None:
        with receiving:
            while number := receiving.recv(1):
                if number[0] in _ENDING:
                    act()

    threading.Thread(target=wait, name="recollect-signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sending.close()


class Intake:
    """Standard input, on its way through a pipe: it can be ended from here, and its texts are put right.

    A thread that reads standard input can't be interrupted; a pipe can be closed.
    """

    def __init__(self) -> None:
        self._source = os.dup(0)
        output, self._sink = os.pipe()
        os.dup2(output, 0)
        os.close(output)
        threading.Thread(target=self._pass_on, name="recollect-stdin", daemon=True).start()

    def close(self) -> None:
        """No more comes in: as if standard input had been closed. What is still passed on goes nowhere.

        The number stays taken: a line under way must not end up in a file that was opened meanwhile.
        """
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._sink, inheritable=False)
        os.close(nowhere)

    def _pass_on(self) -> None:
        rest = b""
        try:
            while piece := os.read(self._source, _PIECE):
                *lines, rest = (rest + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
                for line in lines:
                    self._write(whole(line) + b"\n")
            if rest:
                self._write(whole(rest) + b"\n")
        except OSError:
            pass  # nobody reads any more
        self.close()

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._sink, line) :]


def whole(line: bytes) -> bytes:
    r"""A line of JSON in which half characters (lone surrogates), which nobody can send back, are replaced.

    >>> whole(b'{"text": "\\ud83d!"}').decode()
    '{"text": "\ufffd!"}'
    """
    if _ESCAPED_SURROGATE not in line.lower():
        return line
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
