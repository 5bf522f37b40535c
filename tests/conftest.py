"""What every test of behaviour starts from: an empty store, a clock that stands still until moved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memories

from . import servers
from .servers import PostgresServer

NOON = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)  # a Wednesday


class Clock:
    """Time that passes only when it is told to; every reading is a microsecond after the last."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def pass_time(self, **units: float) -> None:
        self.now += timedelta(**units)


OpenMemories = Callable[..., Memories]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_memories(tmp_path: Path, clock: Clock) -> Iterator[OpenMemories]:
    """Opens the test's store (always the same one), as often as asked; closes all at the end."""
    opened: list[Memories] = []

    def open_store(namespace: str = "proj1", embedder: Any = "hash", **options: Any) -> Memories:
        opened.append(
            recollect.open(
                tmp_path / "memory.db", namespace=namespace, embedder=embedder, **{"clock": clock, **options}
            )
        )
        return opened[-1]

    yield open_store
    for memories in opened:
        memories.close()


@pytest.fixture
def memories(open_memories: OpenMemories) -> Memories:
    return open_memories()


@pytest.fixture(scope="session")
def postgres_binaries() -> Iterator[None]:
    """PostgreSQL can be started here; skipped where it cannot, save in CI, where it must."""
    try:
        servers.require()
    except servers.Unavailable as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))
    yield
    servers.clean_up()


@pytest.fixture(scope="session")
def postgres_server(postgres_binaries: None) -> Iterator[PostgresServer]:
    """The server of this worker, for all tests that leave it running: quick, and not durable."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """A PostgreSQL to make databases in: RECOLLECT_TEST_POSTGRES_URL, or the server of this worker."""
    given = os.environ.get("RECOLLECT_TEST_POSTGRES_URL")
    if given:
        return given
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url()


@pytest.fixture
def own_postgres(postgres_binaries: None) -> Iterator[PostgresServer]:
    """A durable server for one test, to be stopped and killed."""
    with PostgresServer() as server:
        yield server
