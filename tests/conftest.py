"""What every test of behaviour starts from: an empty store, a clock that stands still until moved."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings

import recollect
from recollect import Memories
from recollect.store.postgres import administration
from recollect.store.postgres.address import Address
from recollect.store.sqlite.derived.shelf import Shelf

from . import servers
from .servers import PostgresServer

# the same examples each time, in every test that makes some up
settings.register_profile(
    "specification",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("specification")

# whoever starts the tests in the background of a script has the interrupts ignored that some of them send
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What Recollect keeps for the next process stays with the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


BACKENDS = ("sqlite", "postgres")
sqlite_only = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
"""For what concerns the file itself."""
postgres_only = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Which kind of store a test runs on; every test of behaviour runs on each."""
    return str(request.param)


@pytest.fixture
def store_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An empty store of that kind."""
    if backend == "sqlite":
        return str(tmp_path / "memory.db")
    url: str = request.getfixturevalue("postgres_store")
    empty(url)
    return url


@pytest.fixture(scope="session")
def postgres_store(postgres_url: str) -> Iterator[str]:
    """A schema for this worker alone, in the server that is there; distributed, if it has Citus."""
    schema = f"test_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}_{os.getpid()}"
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema={schema}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone()
    recollect.open(url).close()
    if found:
        address = Address.parse(url)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET citus.shard_count = 4")
            administration.distribute(connection, address)
    yield url
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())


def empty(url: str) -> None:
    """Remove every row of a PostgreSQL store."""
    address = Address.parse(url)
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        for table in reversed(administration.TABLES):
            connection.execute(f'DELETE FROM "{address.schema}".{table}'.encode())


@pytest.fixture
def open_memories(store_url: str, clock: Clock) -> Iterator[OpenMemories]:
    """Opens the test's store (always the same one), as often as asked; closes all at the end."""
    opened: list[Memories] = []

    def open_store(namespace: str = "proj1", embedder: Any = "hash", **options: Any) -> Memories:
        opened.append(
            recollect.open(store_url, namespace=namespace, embedder=embedder, **{"clock": clock, **options})
        )
        return opened[-1]

    yield open_store
    for memories in opened:
        memories.close()


@pytest.fixture(autouse=True)
def segments_hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fault of ours in reading a segment would go unseen: the rows answer all the same."""
    given_up: list[Shelf] = []
    condemn = Shelf.condemn

    def noted(shelf: Shelf) -> None:
        given_up.append(shelf)
        condemn(shelf)

    monkeypatch.setattr(Shelf, "condemn", noted)
    yield
    assert not given_up or getattr(request.module, "SEGMENTS_ARE_DAMAGED", False)


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
