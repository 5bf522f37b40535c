"""Listening on a port until told to stop: what every server here has in common."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from recollect.errors import StoreError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names by which a machine calls itself."""
_STOPPING = (signal.SIGINT, signal.SIGTERM)


def is_loopback(host: str) -> bool:
    """Whether a server that listens there is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that clients can connect to."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:  # else asyncio delays
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except OSError as error:
            raise StoreError(
                f"The server can't listen on {host}, port {port} ({error.strerror}): choose a --port."
            ) from error
        bound.listen()
        yield bound


def address(bound: socket.socket, host: str) -> str:
    """The URL by which a socket is reached."""
    return f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"


def serve(app: ASGIApp, bound: socket.socket, **settings: Any) -> None:
    """Serve until Ctrl-C or SIGTERM; then return, so that whoever started it can close the store."""
    usual: dict[str, Any] = {
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,  # nothing here depends on what a proxy says of its clients
        "access_log": False,
    }
    _Server(uvicorn.Config(app, **usual | settings)).run(sockets=[bound])


class _Server(uvicorn.Server):
    """Ends by itself when it is told to."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at Ctrl-C and SIGTERM, and leave it at that."""
        before = {number: signal.signal(number, self.handle_exit) for number in _STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
