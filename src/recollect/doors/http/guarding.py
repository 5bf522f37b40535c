"""Who may come in: hosts, origins and tokens, looked at before anything else happens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.doors.http.operations import Operation
from recollect.doors.http.problems import Problem
from recollect.doors.http.tokens import Token, matching
from recollect.doors.listening import LOOPBACK
from recollect.errors import InvalidInput

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/?#\\\[\]]+))(?::\d{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*]+")
_TRACES = ("in_session", "reinforce")
"""What makes a recall leave something behind: a link to a session, memories that are more salient."""

_ASKING = {"WWW-Authenticate": 'Bearer realm="recollect"'}


def host_of(header: str) -> str:
    """The name in a Host header, without its port.

    >>> host_of("LocalHost:8000"), host_of("[::1]:80"), host_of("a@b")
    ('localhost', '::1', '')
    """
    found = _HOST.fullmatch(header)
    return (found[1] or found[2]).lower() if found else ""


def named_host(given: str) -> str:
    """A host as --allow-host names it.

    >>> named_host("Memory.example:443")
    'memory.example'
    """
    if not (host := host_of(given)):
        raise InvalidInput(f"--allow-host {given!r} is no name of a host: write it as memory.example.")
    return host


def named_origin(given: str) -> str:
    """An origin as --allow-origin names it, in the form that browsers send.

    >>> named_origin("https://App.example/")
    'https://app.example'
    """
    origin = given.rstrip("/").lower()
    if not _ORIGIN.fullmatch(origin):
        raise InvalidInput(
            f"--allow-origin {given!r} is no origin: write scheme and host alone, as https://app.example."
        )
    return origin


@dataclass(frozen=True)
class Guard:
    """What is let in: these hosts, these origins besides the server's own, and these tokens."""

    tokens: Callable[[], Iterable[Token]]
    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = field(default_factory=frozenset)

    def check_place(self, headers: Mapping[str, str]) -> None:
        """Refuse names that are not ours (a foreign page can make its own point here) and other pages."""
        host = headers.get("host", "")
        if host_of(host) not in self.hosts:
            raise Problem(403, "This server is not known by that name: name it with --allow-host.")
        origin = headers.get("origin")
        if origin is None or origin in self.origins:
            return
        if origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            raise Problem(403, "Pages from elsewhere may not ask: name theirs with --allow-origin.")

    def check_token(self, headers: Mapping[str, str]) -> Token:
        """The token that came with a request; 401 without one."""
        kind, _, text = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            raise Problem(
                401, "Send the header `Authorization: Bearer TOKEN`; recollect serve says which.", _ASKING
            )
        token = matching(text.strip(), self.tokens())
        if token is None:
            raise Problem(401, "That token is not known here: recollect token lists those that are.", _ASKING)
        return token


def check_allowed(token: Token, operation: Operation, given: Mapping[str, Any]) -> None:
    """Refuse what a token does not allow."""
    if operation.writes and token.read_only:
        raise Problem(403, f"The token {token.name!r} may only read.")
    if token.read_only and any(given.get(name) for name in _TRACES):
        raise Problem(403, f"The token {token.name!r} may only read: leave {' and '.join(_TRACES)} out.")
    if token.namespace is None:
        return
    if operation.reach == "store":
        raise Problem(403, f"The token {token.name!r} is for one namespace; this concerns the whole store.")
    for name in (given.get("namespace") or token.namespace, *(given.get("namespaces") or ())):
        if name != token.namespace:
            raise Problem(403, f"The token {token.name!r} is for another namespace.")


def without_traces(token: Token, operation: Operation) -> dict[str, Any]:
    """What an operation is told besides what was asked: whoever may only read leaves nothing behind."""
    takes = (operation.body or {}).get("properties", {})
    return {"reinforce": False} if token.read_only and "reinforce" in takes else {}
