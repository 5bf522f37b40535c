"""Connections that wait to be used again. Without threads: who needs one makes it, and hears why not.

A pool that connects in the background would let a caller wait while the server is down, sleep on when it is
back, and leave threads to a fork and to the end of the program.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

LONGEST_REST = 600.0
"""A connection that nobody used for so long is closed, in seconds."""


class PoolExhausted(psycopg.OperationalError):
    """Every connection that may be open was in use for too long."""


class PoolClosed(Exception):
    """Nobody gets a connection any more."""


class _Resting(NamedTuple):
    connection: psycopg.Connection
    since: float


class Pool:
    """At most `size` connections at once; safe to use from several threads, but only in this process."""

    def __init__(self, connect: Callable[[], psycopg.Connection], size: int, patience: float) -> None:
        self._connect = connect
        self._patience = patience
        self._places = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._resting: list[_Resting] = []
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """One that nobody else uses, made if none rests here; waits while all that may be open are used."""
        if not self._places.acquire(timeout=self._patience):
            raise PoolExhausted
        try:
            connection = self._take() or self._connect()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._places.release()

    def _take(self) -> psycopg.Connection | None:
        with self._lock:
            if self._closed:
                raise PoolClosed
            oldest = time.monotonic() - LONGEST_REST
            tired = [each for each in self._resting if each.since < oldest]
            self._resting = self._resting[len(tired) :]  # they lie in the order in which they came
            taken = self._resting.pop().connection if self._resting else None
        _close(tired)
        return taken

    def _give_back(self, connection: psycopg.Connection) -> None:
        """Keep it if it is as good as new. What a forked child took along is its parent's: let it be."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if keep := not self._closed and _is_clean(connection):
                self._resting.append(_Resting(connection, time.monotonic()))
        if not keep:
            connection.close()

    def clear(self) -> None:
        """Close what rests here: when one connection was cut, the others probably were as well."""
        with self._lock:
            resting, self._resting = self._resting, []
        _close(resting)

    def close(self) -> None:
        """Close every connection, those that are in use as soon as they are given back."""
        self._closed = True
        self.clear()


def _close(resting: list[_Resting]) -> None:
    for each in resting:
        each.connection.close()


def _is_clean(connection: psycopg.Connection) -> bool:
    """Whether nothing is left of what the last one did: not so after an interruption in the middle."""
    state = connection.pgconn
    return state.transaction_status == TransactionStatus.IDLE and state.pipeline_status == PipelineStatus.OFF
