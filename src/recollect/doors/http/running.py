"""Running the server: one process, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from recollect.doors import listening
from recollect.doors.http.app import Limits, application

__all__ = ["Limits", "application", "run"]

_PATIENCE = 5


def run(app: ASGIApp, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` is told the address once it can be reached."""
    with listening.listening(host, port) as bound:
        ready(listening.address(bound, host))
        listening.serve(app, bound, timeout_graceful_shutdown=_PATIENCE, lifespan="off")
