"""Where a PostgreSQL store is: a libpq URL, with a few settings of our own among its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from recollect.errors import ConfigError
from recollect.store.postgres.statements import SCHEMA

_LONGEST_NAME = 63
_OURS = {"schema": SCHEMA, "pool_size": "10", "pool_timeout": "30"}
_UNLESS_GIVEN = {
    "connect_timeout": "10",
    "fallback_application_name": "recollect",
    "keepalives_idle": "30",  # a server that vanished without a word is given up after a minute
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
_PARTS = re.compile(r"(?P<place>\w+://([^@/]*@)?[^?@\0]*)(\?(?P<query>[^\0]*))?")
_SHAPE = "give postgresql://user:password@host/database, with %40 for an @ in the password and %2F for a /."


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A server, a database in it, and a schema in that; and how many connections may be open at once."""

    conninfo: str
    schema: str = SCHEMA
    pool_size: int = 10
    pool_timeout: float = 30.0

    @classmethod
    def parse(cls, url: str) -> Address:
        """From a URL; `schema`, `pool_size` and `pool_timeout` are ours, every other parameter is libpq's.

        >>> Address.parse("postgresql://ana@db/notes?schema=team_a&sslmode=require").schema
        'team_a'
        """
        parts = _PARTS.fullmatch(url)
        if parts is None:
            raise ConfigError(f"The URL of the store can't be read: {_SHAPE}")
        query = [parameter for parameter in (parts["query"] or "").split("&") if parameter]
        ours, theirs = dict(_OURS), []
        for parameter in query:
            name, _, value = parameter.partition("=")
            if name in ours:
                ours[name] = unquote(value)
            else:
                theirs.append(parameter)
        known = _understood(f"{parts['place']}?{'&'.join(theirs)}", query)
        theirs += [f"{name}={quote(value)}" for name, value in _UNLESS_GIVEN.items() if name not in known]
        return cls(
            f"{parts['place']}?{'&'.join(theirs)}",
            _schema(ours["schema"]),
            _whole(ours["pool_size"], "pool_size"),
            float(_whole(ours["pool_timeout"], "pool_timeout")),
        )

    def __str__(self) -> str:
        """What to call it in a message: everything but who, and the password."""
        usual = {option.keyword.decode(): option.val for option in Conninfo.get_defaults()}
        known = {name: value.decode() for name, value in usual.items() if value} | {
            name: str(value) for name, value in conninfo_to_dict(self.conninfo).items() if value
        }
        host = known.get("host") or known.get("hostaddr") or "localhost"
        schema = "" if self.schema == SCHEMA else f", schema {self.schema}"
        return f"postgresql://{host}:{known['port']}/{known.get('dbname') or known.get('user', '')}{schema}"

    __repr__ = __str__


def _understood(conninfo: str, parameters: list[str]) -> set[str]:
    """The names that libpq finds. Its complaints may quote a password: only names that were given are."""
    try:
        known = conninfo_to_dict(conninfo)
    except ProgrammingError as error:
        names = {parameter.partition("=")[0] for parameter in parameters}
        complaint = (str(error).strip().splitlines() or [""])[0]
        said = re.sub(r'"([^"]*)"', lambda quoted: quoted[0] if quoted[1] in names else "…", complaint)
        raise ConfigError(
            f"The URL of the store can't be read ({said.removesuffix(': …')}): {_SHAPE}"
        ) from None
    if not re.fullmatch("[0-9,]*", str(known.get("port", ""))):  # or the beginning of a password with a /
        raise ConfigError(f"The URL of the store can't be read (the port is no number): {_SHAPE}")
    return set(known)


def _schema(name: str) -> str:
    if not name or len(name.encode()) > _LONGEST_NAME or "\0" in name:
        raise ConfigError(f"schema={name!r} is no name for a schema: give 1 to {_LONGEST_NAME} bytes.")
    return name


def _whole(value: str, what: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", value) or not 1 <= int(value) <= 10_000:
        raise ConfigError(
            f"{what}={value[:20]} in the URL of the store: give a whole number from 1 to 10000."
        )
    return int(value)
