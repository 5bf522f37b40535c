"""Where a PostgreSQL store is: a libpq URL, with a few settings of our own among its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import ConfigError
from recollect.store.postgres.statements import SCHEMA

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
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
        if "\0" in url:  # libpq would read no further
            raise ConfigError("The URL of the store contains a NUL byte: see postgresql://.")
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ConfigError(f"The URL of the store can't be read ({error}): see postgresql://.") from None
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema = given.pop("schema", SCHEMA)
        size, patience = given.pop("pool_size", "10"), given.pop("pool_timeout", "30")
        if not schema or len(schema.encode()) > _LONGEST_NAME or "\0" in schema:
            raise ConfigError(f"schema={schema!r} is no name for a schema: give 1 to {_LONGEST_NAME} bytes.")
        query = urlencode(given, quote_via=quote)
        conninfo = urlunsplit(parts._replace(query=query))
        try:
            known = conninfo_to_dict(conninfo)
        except ProgrammingError as error:
            reason = str(error).strip().splitlines()[0]
            raise ConfigError(f"The URL of the store can't be read ({reason}): see postgresql://.") from None
        defaults = {"connect_timeout": "10", "application_name": "recollect"}
        missing = {name: value for name, value in defaults.items() if name not in known}
        conninfo = urlunsplit(parts._replace(query=urlencode(given | missing, quote_via=quote)))
        return cls(conninfo, schema, _whole(size, "pool_size"), float(_whole(patience, "pool_timeout")))

    def __str__(self) -> str:
        """What to call it in a message: everything but the password."""
        known = conninfo_to_dict(self.conninfo)
        host = known.get("host") or known.get("hostaddr") or "localhost"
        port = f":{known['port']}" if known.get("port") else ""
        schema = "" if self.schema == SCHEMA else f", schema {self.schema}"
        return f"postgresql://{host}{port}/{known.get('dbname') or known.get('user') or ''}{schema}"


def _whole(value: str, what: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 10_000:
        raise ConfigError(f"{what}={value} in the URL of the store: give a whole number from 1 to 10000.")
    return int(value)
