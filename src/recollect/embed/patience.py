"""How long is waited for a provider, when it is asked again, and when it is left alone for a while."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from email.utils import parsedate_to_datetime
from typing import Any

from recollect.errors import EmbedderUnavailable
from recollect.frozen import dataclass

PAUSE = 15.0
"""Seconds for which a provider that is down is left alone."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often, and for how many seconds in all, one request is tried; how long it may take each time."""

    attempts: int
    seconds: float
    one: float
    refused: float
    """Seconds after which a server that refuses connections is given up."""
    longest_wait: float
    """Seconds that a server may ask to be left alone for before it is given up."""


class TryAgain(Exception):
    """It may work in a moment; `wait` is how long the server asked for, if it did."""

    def __init__(self, message: str, *, wait: float | None = None, refused: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.refused = refused


def whether_again(error: Exception, patience: Patience, passed: float) -> bool | float:
    """Whether there is a point in another attempt after so many seconds; or when, if the server said."""
    if not isinstance(error, TryAgain):
        return False
    left = (patience.refused if error.refused else patience.seconds) - passed
    if error.wait is None:
        return left > 0
    return error.wait if error.wait < min(left, patience.longest_wait) else False


def attempts(stamina: Any, patience: Patience, begun: float) -> Iterable[AbstractContextManager[Any]]:
    """One context after the other to make an attempt in, with pauses that grow, since a moment."""
    contexts: Iterable[AbstractContextManager[Any]] = stamina.retry_context(
        on=lambda error: whether_again(error, patience, time.monotonic() - begun),
        attempts=patience.attempts,
        timeout=patience.seconds,
        wait_initial=0.2,
        wait_max=8.0,
        wait_jitter=0.2,
    )
    return contexts


_silent = logging.NullHandler()


def hush(stamina: Any) -> None:
    """stamina tells of each new attempt: to whoever listens, never on the terminal by itself.

    Where structlog is installed it is told, and prints where answers are printed unless it was configured.
    """
    logging.getLogger("stamina").addHandler(_silent)
    hooks = stamina.instrumentation.get_on_retry_hooks()
    structlog = sys.modules.get("structlog")
    if structlog is not None and not structlog.is_configured():
        others = [hook for hook in hooks if "structlog" not in getattr(hook, "__qualname__", "")]
        if len(others) < len(hooks):
            stamina.instrumentation.set_on_retry_hooks(others)


def seconds_of(retry_after: str | None) -> float | None:
    """Retry-After, in seconds or as a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


class Pause:
    """Remembers that a provider is down, for some seconds."""

    def __init__(self, seconds: float = PAUSE, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until = 0.0
        self._reason = ""
        self._for_all = False

    def begin(self, reason: str, *, for_all: bool) -> None:
        """Leave it alone from now on; patient work too, if it is `for_all`."""
        self._until, self._reason, self._for_all = self._clock() + self._seconds, reason, for_all

    def end(self) -> None:
        """It answered."""
        self._until = 0.0

    def check(self, *, soon: bool) -> None:
        """EmbedderUnavailable while it lasts; patient work asks all the same, unless it is for all."""
        left = self._until - self._clock()
        if left > 0 and (soon or self._for_all):
            raise EmbedderUnavailable(f"{self._reason}; it is asked again in {left:.0f} s")
