"""Running the server: one process, until it is told to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from recollect.doors.http.app import Limits, application
from recollect.errors import StoreError

__all__ = ["Limits", "application", "run"]

_PATIENCE = 5
_STOPPING = (signal.SIGINT, signal.SIGTERM)


def run(app: ASGIApp, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` is told the address once it can be reached."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:  # else asyncio delays
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise StoreError(
                f"The server can't listen on {host}, port {port} ({error.strerror}): choose a --port."
            ) from error
        listening.listen()
        at = listening.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # nothing here depends on what a proxy says of its clients
            access_log=False,
            timeout_graceful_shutdown=_PATIENCE,
            lifespan="off",
        )
        ready(f"http://{f'[{host}]' if ':' in host else host}:{at}")
        _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends by itself when it is told to, so that whoever started it can close the store."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at Ctrl-C and SIGTERM, and leave it at that."""
        before = {number: signal.signal(number, self.handle_exit) for number in _STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
