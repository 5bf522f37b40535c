"""Serving many clients over streamable HTTP: behind a token, for known host names, on loopback at first."""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from types import FrameType

import anyio.to_thread
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.doors.mcp.server import AgentDoor
from recollect.doors.mcp.visits import IDLE, SESSION_HEADER
from recollect.errors import ConfigError

PATH = "/mcp"
HOST, PORT = "127.0.0.1", 8766
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_GOODBYE = 2
"""Seconds that open streams are given when the server ends."""
_ROUND = 60.0


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def listen(host: str, port: int, names: Iterable[str]) -> socket.socket:
    """A socket to serve on; anything but loopback needs the names that clients will call it by."""
    if not is_loopback(host) and not list(names):
        raise ConfigError(
            f"{host} can be reached from elsewhere: say so with --allow-host and the name that clients use."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(bound: socket.socket, host: str) -> str:
    """The URL that clients use."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{bound.getsockname()[1]}{PATH}"


def serve(door: AgentDoor, bound: socket.socket, token: str, names: Iterable[str]) -> None:
    """Answer until the process is asked to end; then every session ends."""
    hosts = [f"[{name}]" if ":" in name else name for name in (*LOOPBACK, *names)]
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
    config = uvicorn.Config(
        Guard(app, token, door.end), log_config=None, timeout_graceful_shutdown=_GOODBYE, lifespan="on"
    )
    ended = threading.Event()
    threading.Thread(target=_look_for_idle, args=(door, ended), daemon=True).start()
    signal.signal(signal.SIGTERM, _end)  # uvicorn ends in order, and then raises the signal again
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        ended.set()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


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
