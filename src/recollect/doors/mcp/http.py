"""Serving many clients over streamable HTTP: behind a token, for known host names, on loopback at first."""

from __future__ import annotations

import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterable

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.doors import listening
from recollect.doors.listening import LOOPBACK, is_loopback
from recollect.doors.mcp.server import AgentDoor
from recollect.doors.mcp.visits import IDLE, SESSION_HEADER
from recollect.errors import ConfigError

PATH = "/mcp"
HOST, PORT = "127.0.0.1", 8766
_GOODBYE = 2
"""Seconds that open streams are given when the server ends."""
_ROUND = 60.0


def check_reach(host: str, names: Iterable[str]) -> None:
    """Anything but loopback needs the names that clients will call it by."""
    if not is_loopback(host) and not list(names):
        raise ConfigError(
            f"{host} can be reached from elsewhere: say so with --allow-host and the name that clients use."
        )


def serve(door: AgentDoor, bound: socket.socket, token: str, names: Iterable[str]) -> None:
    """Answer until the process is asked to end; then every session ends."""
    hosts = [f"[{name}]" if ":" in name else name for name in (*sorted(LOOPBACK), *names)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[pattern for host in hosts for pattern in (host, f"{host}:*")],
        allowed_origins=[
            pattern
            for host in hosts
            for scheme in ("http", "https")
            for pattern in (f"{scheme}://{host}", f"{scheme}://{host}:*")
        ],
    )
    app = door.server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, session_idle_timeout=IDLE
    )
    ended = threading.Event()
    threading.Thread(target=_look_for_idle, args=(door, ended), daemon=True).start()
    guarded = Guard(app, token, door.end)
    try:
        listening.serve(guarded, bound, log_config=None, timeout_graceful_shutdown=_GOODBYE, lifespan="on")
    finally:
        ended.set()


def _look_for_idle(door: AgentDoor, ended: threading.Event) -> None:
    while not ended.wait(_ROUND):
        door.end_idle()


class Guard:
    """Lets in whoever has the token, and notices when a client says goodbye."""

    def __init__(self, app: ASGIApp, token: str, goodbye: Callable[[str], None]) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._goodbye = goodbye

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            await _refuse(send)
            return
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await self._app(scope, receive, watched)
        if scope["method"] == "DELETE" and statuses and statuses[0] < 300:
            key = headers.get(SESSION_HEADER.encode(), b"").decode("latin-1")
            await anyio.to_thread.run_sync(self._goodbye, key)


async def _refuse(send: Send) -> None:
    body = json.dumps(
        {"error": "This server needs its token: send it as Authorization: Bearer TOKEN."}
    ).encode()
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
