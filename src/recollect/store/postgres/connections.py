"""Connections to one PostgreSQL store: pooled, tried again where that is safe, every write all or nothing."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from recollect.errors import StoreClosed, StoreReadOnly, StoreUnreachable
from recollect.forks import mind_forks
from recollect.store.postgres.address import Address
from recollect.store.postgres.failures import in_our_words, is_conflict, is_lost, translated
from recollect.store.postgres.statements import Micros, PostgresStatements

PATIENCE = 10.0
"""How long an operation waits for a server that went away, in seconds."""
LOCK_PATIENCE = 60
"""How long a writer waits for others that write to the same namespace, in seconds."""
CONFLICTS = 10
"""How often a transaction is tried again that others got in the way of."""

Result = TypeVar("Result")
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # what it would say, our errors say


class Connections:
    """A pool for one store. A forked child gets one of its own, when it first needs it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.read_only = False
        self._pool: ConnectionPool[psycopg.Connection] | None = None
        self._inherited: list[object] = []  # kept, for closing them would disturb the parent
        self._closed = False
        mind_forks(self)

    def before_fork(self) -> None:
        """Sockets may be inherited as long as the child lets them be."""

    def after_fork(self, *, in_child: bool) -> None:
        """The pool, its connections and its threads stay with the parent."""
        if in_child and self._pool is not None:
            self._inherited.append(self._pool)
            self._pool = None

    def close(self) -> None:
        """Close every connection; closing twice is fine."""
        self._closed = True
        if self._pool is not None:
            self._pool.close()

    def connect(self) -> psycopg.Connection:
        """A connection of the caller's own, outside the pool."""
        connection = psycopg.connect(self.address.conninfo, autocommit=True)
        _prepare(connection)
        return connection

    def read(self, action: Callable[[PostgresStatements], Result]) -> Result:
        """What an action reads, each statement by itself; tried again if the connection is lost."""
        return self._with_patience(lambda: self._read_once(action))

    def _read_once(self, action: Callable[[PostgresStatements], Result]) -> Result:
        with self._connection() as connection:
            return action(PostgresStatements(connection, self.address.schema))

    def write(self, action: Callable[[PostgresStatements], Result]) -> Result:
        """What an action writes in one transaction: all of it or nothing, and never twice.

        It is tried again when others got in the way, or when the connection was lost before the end; when it
        was lost at the very end, the server is asked what became of the transaction.
        """
        if self.read_only:
            raise StoreReadOnly(
                f"{self.address} can't be written: it is a replica; give the URL of the primary."
            )
        return self._with_patience(lambda: self._write_once(action))

    def _write_once(self, action: Callable[[PostgresStatements], Result]) -> Result:
        with self._connection() as connection:
            transaction = _begin(connection)
            try:
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
            return result

    def _was_committed(self, transaction: int) -> bool:
        """What became of a transaction whose end nobody heard; waits while that is still being decided."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError), self.connect() as connection:
                asked = connection.execute("SELECT pg_xact_status(%s::text::xid8)", [str(transaction)])
                (status,) = asked.fetchone() or (None,)
                if status in ("committed", "aborted"):
                    return bool(status == "committed")
            time.sleep(random.uniform(0.1, 0.4))
        raise StoreUnreachable(
            f"The connection to {self.address} was lost while a write was being confirmed, and the server "
            "has not come back: look whether it was kept before you try again."
        )

    @contextmanager
    def snapshot(self) -> Iterator[PostgresStatements]:
        """One consistent state for as long as it is held, on a connection of its own."""
        self._check_open()
        with translated(self.address), self.connect() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield PostgresStatements(connection, self.address.schema)

    def _with_patience(self, attempt: Callable[[], Result]) -> Result:
        """Try again while that is safe and may help; the last error in our own words."""
        deadline, conflicts = time.monotonic() + PATIENCE, 0
        while True:
            self._check_open()
            try:
                return attempt()
            except PoolClosed:
                self._check_open()
                raise
            except psycopg.Error as error:
                failure = error
            if is_conflict(failure) and conflicts < CONFLICTS:
                conflicts += 1
                time.sleep(random.uniform(0, 0.01 * 2**conflicts))
            elif not (is_lost(failure) and self._is_back_by(deadline)):
                raise in_our_words(failure, self.address) from failure

    def _is_back_by(self, deadline: float) -> bool:
        """Wait until the server answers again; connections of the pool that were cut are made anew."""
        while time.monotonic() < deadline:
            try:
                self.connect().close()
            except psycopg.OperationalError as error:
                if not is_lost(error):
                    return False
                time.sleep(random.uniform(0.1, 0.4))
            else:
                if self._pool is not None:
                    self._pool.check()
                return True
        return False

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        if self._pool is None:
            self._pool = self._make_pool()
        pool = self._pool
        try:
            connection = pool.getconn(self.address.pool_timeout)
        except PoolTimeout:
            self.connect().close()  # if this fails, the server is the reason, and its error says more
            raise
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _make_pool(self) -> ConnectionPool[psycopg.Connection]:
        return ConnectionPool(
            self.address.conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=self.address.pool_size,
            configure=_prepare,
            open=True,
            name="recollect",
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("This store was closed: open it again with recollect.open().")


def _prepare(connection: psycopg.Connection) -> None:
    connection.adapters.register_loader("timestamptz", Micros)


def _begin(connection: psycopg.Connection) -> int:
    """Begin a transaction, in one round trip; its number."""
    with connection.pipeline():
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE}s'")
        number = connection.execute("SELECT pg_current_xact_id()::text")
    row: Any = number.fetchone()
    return int(row[0])
