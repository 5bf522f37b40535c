"""Who may come in: tokens, what each may do, and the file that they are kept in.

The token that was made at the first start is kept as it is, readable by its owner alone, so that it can be
shown again; of all others only a hash is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from recollect import checks, config
from recollect.doors import whole
from recollect.doors.agents.lock import taken
from recollect.errors import ConfigError, InvalidInput, NotFound, StoreBusy, StoreError

OWNER = "owner"
SHORTEST = 16
PREFIX = "rcl_"
"""By which a token of ours is known where it was not meant to be."""

_BYTES = 24
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Token:
    """What a caller may do: everything, only read, or either in one namespace alone."""

    name: str
    hash: str
    read_only: bool = False
    namespace: str | None = None
    text: str | None = None


def made(
    name: str, text: str | None = None, *, read_only: bool = False, namespace: str | None = None
) -> Token:
    """A new token; a random one, unless its text is given. Its text is there to be shown."""
    text = text or PREFIX + secrets.token_urlsafe(_BYTES)
    if len(text) < SHORTEST or not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigError(f"A token needs at least {SHORTEST} printable characters without spaces.")
    return Token(checks.name(name, what="The name"), _hash(text), read_only, namespace, text)


def matching(given: str, tokens: Iterable[Token]) -> Token | None:
    """The token that was given; every one is compared, in constant time."""
    hashed = _hash(given)
    found = None
    for token in tokens:
        if hmac.compare_digest(hashed, token.hash):
            found = token
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class TokenFile:
    """The tokens of a user, read anew when the file changes: what is revoked is refused at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """All of them, the oldest first."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(f"The tokens in {self._path} can't be read ({error.strerror}).") from error
        if self._read_at != (status.st_mtime_ns, status.st_ino):
            self._tokens = tuple(self._parsed())
            self._read_at = (status.st_mtime_ns, status.st_ino)
        return self._tokens

    def owner(self) -> Token:
        """The token that may do everything, made if there is none yet."""
        return self._owner() or self._made_owner()

    def _owner(self) -> Token | None:
        return next((token for token in self.tokens() if token.name == OWNER), None)

    def _made_owner(self) -> Token:
        with self._alone():
            return self._owner() or self._added(made(OWNER))

    def add(self, token: Token) -> Token:
        """Keep a token; its text is kept only if it is the owner's."""
        with self._alone():
            return self._added(token)

    def _added(self, token: Token) -> Token:
        known = self.tokens()
        if any(each.name == token.name for each in known):
            raise InvalidInput(f"There is a token {token.name!r} already: remove it first, or choose a name.")
        self._write([*known, token if token.name == OWNER else replace(token, text=None)])
        return token

    def remove(self, name: str) -> None:
        """Refuse a token from now on."""
        with self._alone():
            known = self.tokens()
            left = [token for token in known if token.name != name]
            if len(left) == len(known):
                raise NotFound(f"There is no token {name!r}: recollect token lists them.")
            self._write(left)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else changes the file: who starts at the same moment must find the same token."""
        deadline = time.monotonic() + _PATIENCE
        try:
            with ExitStack() as held:
                while not held.enter_context(taken(self._path.with_name(f".{self._path.name}.lock"))):
                    held.close()
                    if time.monotonic() > deadline:
                        raise StoreBusy(f"Another process keeps {self._path} locked: try again later.")
                    time.sleep(0.01)
                yield
        except OSError as error:
            raise StoreError(f"The tokens can't be kept in {self._path} ({error.strerror}).") from error

    def _parsed(self) -> list[Token]:
        try:
            records: Any = json.loads(self._path.read_text("utf-8"))["tokens"]
            return [Token(**record) for record in records]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"The tokens in {self._path} can't be read ({error}): remove the file to begin anew."
            ) from error

    def _write(self, tokens: Iterable[Token]) -> None:
        text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2)
        whole.write(self._path, text + "\n")


def tokens_of_user() -> TokenFile:
    """The tokens of whoever runs this."""
    return TokenFile(config.tokens_file())


def owner_of(tokens: TokenFile) -> Token:
    """The token of a server: RECOLLECT_TOKEN, else the one that was made at the first start."""
    given = config.token()
    return made(OWNER, given) if given else tokens.owner()
