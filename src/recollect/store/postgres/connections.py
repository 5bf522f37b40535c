"""Connections to one PostgreSQL store: pooled, tried again where that is safe, every write all or nothing."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool

from recollect.errors import StoreClosed, StoreReadOnly, StoreUnreachable
from recollect.forks import mind_forks
from recollect.store.postgres.address import Address
from recollect.store.postgres.failures import (
    READ_ONLY,
    in_our_words,
    is_conflict,
    is_lost,
    is_passing,
    is_starting,
    translated,
)
from recollect.store.postgres.pool import Pool, PoolClosed
from recollect.store.postgres.statements import Micros, PostgresStatements, quoted

PATIENCE = 10.0
"""How long an operation waits for a server that went away, in seconds."""
LOCK_PATIENCE = 60.0
"""How long a writer waits for others that write to the same namespace, in seconds."""
CONFLICTS = 10
"""How often a transaction is tried again that others got in the way of."""

_HOW: dict[str, Any] = {"autocommit": True, "client_encoding": "UTF8"}

Result = TypeVar("Result")
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it would print, our errors say


class Transaction(NamedTuple):
    """What the server calls a transaction, and since when it counts what it does.

    After a crash it counts anew, and may give the same number to another transaction.
    """

    number: str
    counting_since: str | None


class Connections:
    """A pool for one store. A forked child gets one of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.read_only = False
        self.may_write = True
        self._closed = False
        self._pool = self._make_pool()
        mind_forks(self)

    def _make_pool(self) -> Pool:
        return Pool(self._make_psycopg_pool, self.connect, self.address.pool_timeout)

    def _make_psycopg_pool(self) -> ConnectionPool[psycopg.Connection]:
        return ConnectionPool(
            self.address.conninfo,
            kwargs=_HOW,
            min_size=0,
            max_size=self.address.pool_size,
            configure=_configure,
            open=True,
            name="recollect",
        )

    def before_fork(self) -> None:
        """Sockets may be inherited as long as the child lets them be."""

    def after_fork(self, *, in_child: bool) -> None:
        """The pool, its connections and its locks stay with the parent."""
        if in_child:
            self._pool = self._make_pool()

    def close(self) -> None:
        """Close every connection; closing twice is fine."""
        self._closed = True
        self._pool.close()

    def connect(self) -> psycopg.Connection:
        """A connection of the caller's own, outside the pool; waits for a server that is starting."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                connection = psycopg.connect(self.address.conninfo, **_HOW)
            except psycopg.OperationalError as error:
                if not is_starting(error) or time.monotonic() > deadline:
                    raise
                _wait()
            else:
                _configure(connection)
                return connection

    def read(self, action: Callable[[PostgresStatements], Result]) -> Result:
        """What an action reads, each statement by itself; tried again if the connection is lost."""
        return self._with_patience(lambda: self._read_once(action))

    def _read_once(self, action: Callable[[PostgresStatements], Result]) -> Result:
        with self._pool.connection() as connection:
            return action(PostgresStatements(connection, self.address.schema))

    def try_once(self, action: Callable[[PostgresStatements], object]) -> None:
        """Do something that nobody depends on; what goes wrong is passed over."""
        with suppress(psycopg.Error, PoolClosed):
            self._read_once(action)

    def write(self, action: Callable[[PostgresStatements], Result]) -> Result:
        """What an action writes in one transaction: all of it or nothing, and never twice.

        It is tried again when others got in the way, or when the connection was lost before the end; when it
        was lost at the very end, the server is asked what became of the transaction.
        """
        if self.read_only and self._is_still_read_only():
            raise StoreReadOnly(READ_ONLY.format(where=self.address))
        return self._with_patience(lambda: self._write_once(action))

    def _is_still_read_only(self) -> bool:
        """Asked again, for a replica may have been promoted."""
        with translated(self.address), self.connect() as connection:
            self.read_only = is_read_only(connection)
        return self.read_only

    def _write_once(self, action: Callable[[PostgresStatements], Result]) -> Result:
        with self._pool.connection() as connection:
            try:
                transaction = _begin(connection)
                result = action(PostgresStatements(connection, self.address.schema))
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            try:
                connection.execute("COMMIT")
            except psycopg.Error as error:
                if not (is_lost(error) and self._was_committed(transaction)):
                    raise
            self.may_write = True  # what it was not granted at first, it is by now
            return result

    def _was_committed(self, transaction: Transaction) -> bool:
        """What became of a transaction whose end nobody heard; waits while that is still being decided."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError), self.connect() as connection:
                fate = _fate(connection, transaction)
                if fate in ("committed", "aborted"):
                    return fate == "committed"
                if fate == "unknown":
                    break
            _wait()
        raise StoreUnreachable(
            f"The connection to {self.address} was lost while a write was being confirmed, and the server "
            "can't say any more whether it was kept: look before you try again."
        )

    @contextmanager
    def snapshot(self) -> Iterator[PostgresStatements]:
        """One consistent state for as long as it is held, on a connection of its own."""
        connection = self._with_patience(self._begin_snapshot)
        with translated(self.address), connection:
            yield PostgresStatements(connection, self.address.schema)

    def _begin_snapshot(self) -> psycopg.Connection:
        connection = self.connect()
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        except BaseException:
            connection.close()
            raise
        return connection

    def _with_patience(self, attempt: Callable[[], Result]) -> Result:
        """Try again while that is safe and may help; the last error in our own words."""
        conflicts, deadline = 0, None
        while not self._closed:
            try:
                return attempt()
            except PoolClosed:
                continue
            except psycopg.Error as error:
                failure = error
            if is_conflict(failure) and conflicts < CONFLICTS:
                conflicts += 1
                time.sleep(random.uniform(0, 0.01 * 2**conflicts))
            elif is_passing(failure) and deadline is None:  # a connection that rested was cut: at once
                deadline = time.monotonic() + PATIENCE
                self._pool.clear()
            elif is_passing(failure) and deadline is not None and time.monotonic() < deadline:
                _wait()
            else:
                raise in_our_words(failure, self.address) from failure
        raise StoreClosed("This store was closed: open it again with recollect.open().")


def _configure(connection: psycopg.Connection) -> None:
    connection.adapters.register_loader("timestamptz", Micros)


def is_read_only(connection: psycopg.Connection) -> bool:
    """Whether nothing can be written: on a replica, or where that is set."""
    return connection.execute("SHOW transaction_read_only").fetchone() == ("on",)


def may_write(connection: psycopg.Connection, address: Address) -> bool:
    """Whether this user was granted what every write begins with."""
    asked = "SELECT has_table_privilege(%s, 'UPDATE')"
    return connection.execute(asked, [f"{quoted(address.schema)}.namespace"]).fetchone() == (True,)


def _wait() -> None:
    """Not in step with the others who wait for the same server."""
    time.sleep(random.uniform(0.1, 0.4))


def _begin(connection: psycopg.Connection) -> Transaction:
    """Begin a transaction, in one round trip."""
    with connection.pipeline():
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")  # who waits, waits on a node
        connection.execute(f"SET LOCAL lock_timeout = {round(LOCK_PATIENCE * 1000)}")
        answer = connection.execute(
            "SELECT pg_current_xact_id()::text, extract(epoch FROM stats_reset)::text FROM pg_stat_wal"
        )
    return Transaction(*(answer.fetchone() or ("0", None)))


def _fate(connection: psycopg.Connection, transaction: Transaction) -> str:
    """What became of a transaction: committed, aborted, in progress or unknown."""
    query = "SELECT pg_is_in_recovery(), extract(epoch FROM stats_reset)::text FROM pg_stat_wal"
    is_replica, counting_since = connection.execute(query).fetchone() or (False, None)
    if is_replica:
        return "in progress"  # it may not have heard yet
    try:
        asked = connection.execute("SELECT pg_xact_status(%s::text::xid8)", [transaction.number])
    except errors.InvalidParameterValue:  # it has not given that number: what it did before a crash is lost
        return "aborted"
    status = str((asked.fetchone() or (None,))[0] or "unknown")
    if counting_since == transaction.counting_since or status == "aborted":
        return status
    return "aborted" if status == "in progress" else "unknown"  # the number may be another's by now
