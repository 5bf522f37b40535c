"""psycopg's pool, made to say why there is no connection, and to begin anew when the server is back.

By itself it connects in the background: a caller would wait while the server is down without hearing why, and
wait on when it is back, because the pool tries ever more seldom.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout
from psycopg_pool import PoolClosed as PoolClosed

FIRST_WAIT = 0.5
"""After so many seconds without a connection, the server itself is asked why."""

Connecting = Callable[[], psycopg.Connection]
MakingPool = Callable[[], "ConnectionPool[psycopg.Connection]"]

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # what it would say, our errors say


class PoolExhausted(psycopg.OperationalError):
    """Every connection that may be open was in use for too long."""


class Pool:
    """Connections that are used again; safe to use from several threads, but only in this process."""

    def __init__(self, make: MakingPool, connect: Connecting, patience: float) -> None:
        """`make` gives psycopg's pool, opened; `connect` a connection outside it."""
        self._make = make
        self._connect = connect
        self._patience = patience
        self._lock = threading.Lock()
        self._pool: ConnectionPool[psycopg.Connection] | None = None
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """One that nobody else uses; waits while all that may be open are used."""
        pool, connection = self._taken()
        try:
            yield connection
        finally:
            if os.getpid() == self._process:  # what a forked child took along is its parent's
                pool.putconn(connection)

    def _current(self) -> ConnectionPool[psycopg.Connection]:
        with self._lock:
            if self._closed:
                raise PoolClosed
            if self._pool is None:
                self._pool = self._make()
            return self._pool

    def _taken(self) -> tuple[ConnectionPool[psycopg.Connection], psycopg.Connection]:
        pool = self._current()
        try:
            return pool, pool.getconn(min(FIRST_WAIT, self._patience))
        except PoolTimeout:
            self._connect().close()  # the server's own error says more
        if not _is_full(pool):
            self.clear()  # the server is there, and the pool sleeps: it was away
            pool = self._current()
        try:
            return pool, pool.getconn(max(self._patience - FIRST_WAIT, 0.1))
        except PoolTimeout:
            raise PoolExhausted from None

    def clear(self) -> None:
        """Begin anew: when one connection was cut, the others probably were as well."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=0)

    def close(self) -> None:
        """Close every connection, those that are in use as soon as they are given back."""
        self._closed = True
        self.clear()


def _is_full(pool: ConnectionPool[psycopg.Connection]) -> bool:
    """Whether every connection that may be open is."""
    return pool.get_stats().get("pool_size", 0) >= pool.max_size
