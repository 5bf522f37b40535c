"""A way into the page that others may see, as on a browser's command line: good once, and not for long."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable

from recollect.doors.http.problems import Problem

GOOD_FOR = 60.0
"""Seconds."""
_BYTES = 24


class Ticket:
    """Gives a token to whoever shows it first."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.text = secrets.token_urlsafe(_BYTES)
        self._token: str | None = token
        self._clock = clock
        self._until = clock() + GOOD_FOR

    def taken(self, header: str) -> str:
        """The token, for a header `Authorization: Ticket TEXT`; 401 for anything else, or a second time."""
        given = header.encode("utf-8", "surrogateescape")
        is_it = hmac.compare_digest(given, f"Ticket {self.text}".encode())
        token = self._token
        if not is_it or token is None or self._clock() > self._until:
            raise Problem(
                401, "That ticket was used already, or is too old: recollect serve shows the token."
            )
        self._token = None
        return token
