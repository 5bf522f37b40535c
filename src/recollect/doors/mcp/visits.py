"""Each connection is a session: begun when it first recalls or remembers, ended when it goes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context

from recollect import checks
from recollect.doors.cli.render import one_line
from recollect.errors import InvalidInput, RecollectError, StoreReadOnly
from recollect.memories import Memories

Request = Context[Any, Any]
"""What a tool is told of the call besides its arguments."""

SESSION_HEADER = "mcp-session-id"
IDLE = 30 * 60.0
"""Seconds after which a client that can't say goodbye is taken to have gone."""

_log = logging.getLogger("recollect")


@dataclass
class Visit:
    """One client, from its first use of the memory on."""

    memories: Memories
    last_used: float


class Visits:
    """Who is connected, and the session that each has.

    Over stdio and in process there is one client. Over HTTP there may be many: those of the older protocol
    are told apart by their session id, those of the newer one, which has none, by the name they give.
    """

    def __init__(
        self, memories: Memories, agent: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.memories = memories
        self._agent = agent
        self._clock = clock
        self._lock = threading.Lock()
        self._visits: dict[str, Visit] = {}

    def memories_of(self, request: Request) -> Memories:
        """The memories within the session of whoever asks, which begins now if it has not yet.

        In a store that can't be written there are no sessions.
        """
        client = _client(request)
        with self._lock:
            key = _key(request, client)
            visit = self._visits.get(key)
            if visit is None:
                visit = self._visits[key] = Visit(self._begun(client), 0.0)
            visit.last_used = self._clock()
            return visit.memories

    def _begun(self, client: str | None) -> Memories:
        try:
            session = self.memories.start_session(agent=self._agent or client)
        except StoreReadOnly:
            return self.memories
        return self.memories.in_session(session.id)

    def end(self, key: str) -> None:
        """A client has gone."""
        with self._lock:
            visit = self._visits.pop(key, None)
        if visit is not None:
            self._end(visit)

    def end_idle(self) -> None:
        """Those have gone who did nothing for a long time."""
        latest = self._clock() - IDLE
        with self._lock:
            idle = [key for key, visit in self._visits.items() if visit.last_used <= latest]
        for key in idle:
            self.end(key)

    def end_all(self) -> None:
        """Everybody has gone."""
        for key in list(self._visits):
            self.end(key)

    def _end(self, visit: Visit) -> None:
        if visit.memories.session_id is None:
            return
        try:
            visit.memories.end_session()
        except RecollectError as error:
            _log.warning("The session %s could not be ended: %s", visit.memories.session_id, error)


def _client(request: Request) -> str | None:
    """The name that a client gives itself, if it can be kept."""
    given = request.session.client_params
    try:
        return checks.name(one_line(given.client_info.name, 100), what="The agent") if given else None
    except InvalidInput:
        return None


def _key(request: Request, client: str | None) -> str:
    if request.headers is None:
        return ""
    return request.headers.get(SESSION_HEADER) or f"client {client}"
