"""A way to a server that is cut at an exact moment: a proxy on loopback that sees every byte."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple, Self

from .servers import HOST

Side = Literal["client", "server"]


class Passed(NamedTuple):
    """What the other side gets to see, and whether the line is cut then."""

    data: bytes
    cut: bool = False


Rule = Callable[[Side, bytes], Passed]


class Proxy:
    """Passes on what both sides say, until a rule cuts the line; after that, lines are let be again."""

    def __init__(self, port: int) -> None:
        self.cuts = 0
        self.is_down = False
        self._rule: Rule | None = None
        self._greetings: list[bytes] = []
        self._lines: list[threading.Thread] = []
        self._server_port = port
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in self._lines:
            line.join(60)

    def cut(self, rule: Rule, *, for_good: bool = False) -> None:
        """Cut the first line for which the rule says so; `for_good` lets nobody in after that."""

        def with_end(side: Side, data: bytes) -> Passed:
            passed = rule(side, data)
            if passed.cut:
                self.is_down = for_good
                self._rule = None
                self.cuts += 1
            return passed

        self._rule = with_end

    def greet(self, code: str, message: str) -> None:
        """The next one to come is refused with an error that a server might send."""
        fields = b"".join(
            kind + value.encode() + b"\0"
            for kind, value in ((b"S", "FATAL"), (b"V", "FATAL"), (b"C", code), (b"M", message))
        )
        self._greetings.append(b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0")

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                line = threading.Thread(target=self._serve, args=(client,), daemon=True)
                self._lines.append(line)
                line.start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self._greetings:
                while len(client.recv(65536)) == 8:  # it asks for encryption first
                    client.sendall(b"N")
                client.sendall(self._greetings.pop(0))
            elif not self.is_down:
                with socket.create_connection((HOST, self._server_port)) as server:
                    self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        while True:
            for here in select.select([client, server], [], [])[0]:
                side: Side = "client" if here is client else "server"
                data = here.recv(65536)
                passed = self._rule(side, data) if data and self._rule else Passed(data, cut=not data)
                (server if here is client else client).sendall(passed.data)
                if passed.cut:
                    return


def before(word: bytes) -> Rule:
    """The server never hears this word."""
    return lambda side, data: Passed(b"", cut=True) if side == "client" and word in data else Passed(data)


def without_answer_to(word: bytes) -> Rule:
    """The server hears this word and does as it is told, but its answer is lost."""
    heard = threading.Event()

    def rule(side: Side, data: bytes) -> Passed:
        if side == "server" and heard.is_set():
            return Passed(b"", cut=True)
        if side == "client" and word in data:
            heard.set()
        return Passed(data)

    return rule


def after(count: int, wanted: Side) -> Rule:
    """This side is cut off in the middle of what it says, after so many bytes."""
    room = count

    def rule(side: Side, data: bytes) -> Passed:
        nonlocal room
        if side != wanted:
            return Passed(data)
        passed, room = data[: max(room, 0)], room - len(data)
        return Passed(passed, cut=room < 0)

    return rule
