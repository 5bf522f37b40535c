"""PostgreSQL gone, cut off, locked or forbidden: our own errors, nothing half written, nothing twice."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

import recollect
from recollect import ConfigError, Memories, StoreBusy, StoreError, StoreReadOnly
from recollect.doors.cli.program import NAME
from recollect.doors.cli.program import recollect as program
from recollect.errors import StoreClosed, StoreUnreachable
from recollect.store.postgres import connections

from . import proxies
from .proxies import Passed, Proxy, Side
from .servers import HOST, VERSION, PostgresServer, free_port, wait_until
from .test_concurrency import forked, needs_fork

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
COMMIT = b"COMMIT\0"  # not the beginning of READ COMMITTED
SECRET = "zqsecretx"
_numbers = count()


def opened(url: str, namespace: str = "failures") -> Memories:
    return recollect.open(url, namespace=namespace, embedder="hash", clock=lambda: NOW)


@pytest.fixture(scope="module")
def server(postgres_binaries: None) -> Iterator[PostgresServer]:
    """One for all tests here that leave it running."""
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> str:
    """The name of an empty database."""
    name = f"failures_{next(_numbers)}"
    server.execute(f"CREATE DATABASE {name}")
    return name


@pytest.fixture
def url(server: PostgresServer, database: str) -> str:
    return server.url(database)


@pytest.fixture
def memories(url: str) -> Iterator[Memories]:
    with opened(url) as memories:
        yield memories


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


def through(proxy: Proxy, url: str, server: PostgresServer) -> str:
    return url.replace(f":{server.port}/", f":{proxy.port}/")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when somebody begins to wait for the server."""
    event, wait = threading.Event(), connections._wait

    def noted() -> None:
        event.set()
        wait()

    monkeypatch.setattr(connections, "_wait", noted)
    return event


class Call:
    """Something that is called on a thread of its own."""

    def __init__(self, action: Callable[..., Any], *arguments: Any) -> None:
        self._action = partial(action, *arguments)
        self._result: Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._action()
        except Exception as error:  # noqa: BLE001  it is raised to whoever asks for the result
            self._error = error

    def result(self) -> Any:
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self._error:
            raise self._error
        return self._result


def facts(url: str, word: str) -> tuple[int, ...]:
    """How many rows, keyword entries, vectors and links to a session there are of texts with this word."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            """
            WITH x AS (SELECT * FROM recollect.memory WHERE content LIKE '%%' || %(word)s || '%%')
            SELECT count(*), count(*) FILTER (WHERE words @@ quote_literal(%(word)s)::tsquery),
              (SELECT count(*) FROM recollect.vector v JOIN x
               ON (v.namespace, v.memory) = (x.namespace, x.number)),
              (SELECT count(*) FROM recollect.session_link l JOIN x
               ON (l.namespace, l.memory) = (x.namespace, x.number)) + count(session)
            FROM x
            """,
            {"word": word},
        ).fetchone()
    assert found
    return found


WHOLE, NOTHING = (1, 1, 1, 1), (0, 0, 0, 0)


def waits_for_a_lock(server: PostgresServer) -> bool:
    return bool(server.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))


def holder(url: str, namespace: str = "failures") -> psycopg.Connection:
    """A writer of the namespace that is in no hurry."""
    connection = psycopg.connect(url)
    query = b"SELECT 1 FROM recollect.namespace WHERE namespace = %s FOR UPDATE"
    connection.execute(query, [namespace])
    return connection


# the server is not there


def test_a_server_that_is_down_at_the_start_is_said_to_be() -> None:
    port = free_port()
    with pytest.raises(StoreUnreachable) as caught:
        opened(f"postgresql://ana:{SECRET}@{HOST}:{port}/notes")
    assert str(caught.value) == (
        f"The server of postgresql://{HOST}:{port}/notes can't be reached (Connection refused): "
        "see that it runs and that the URL is right."
    )


def test_a_host_that_nobody_knows_is_said_to_be_unreachable() -> None:
    with pytest.raises(StoreUnreachable, match=r"postgresql://nowhere\.invalid:5432/notes can't be reached"):
        opened("postgresql://nowhere.invalid/notes")


def test_a_store_waits_for_a_server_that_is_just_starting(
    server: PostgresServer, url: str, proxy: Proxy
) -> None:
    proxy.greet("57P03", "the database system is starting up")
    proxy.greet("57P03", "the database system is not yet accepting connections")
    with opened(through(proxy, url, server)) as memories:
        proxy.greet("57P03", "the database system is shutting down")
        assert memories.remember("The harbour opens at six").outcome == "added"


def test_a_call_waits_for_a_server_that_comes_back_and_gives_up_on_one_that_does_not(
    own_postgres: PostgresServer, waiting: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 60.0)  # however slow this machine is
    with opened(own_postgres.url()) as memories:
        memories.remember("Before zqbeforex")
        hold = [memories._store._connections._pool.connection() for _ in range(3)]  # type: ignore[attr-defined]
        for each in hold:
            each.__enter__()
        for each in hold:
            each.__exit__(None, None, None)
        own_postgres.stop()
        call = Call(lambda: memories.in_session("s1").remember("Meanwhile zqmeanwhilex"))
        assert waiting.wait(60)
        own_postgres.start()
        assert call.result().outcome == "added"
        assert facts(own_postgres.url(), "zqmeanwhilex") == WHOLE

        own_postgres.restart("immediate")
        assert memories.recall("zqbeforex", mode="keyword", reinforce=False)

        own_postgres.stop()
        with monkeypatch.context() as patch:
            patch.setattr(connections, "PATIENCE", 0.3)
            with pytest.raises(StoreUnreachable, match="see that it runs"):
                memories.remember("Too late zqtoolatex")
            with pytest.raises(StoreUnreachable, match="see that it runs"):
                memories.recall("zqbeforex")
        own_postgres.start()
        assert facts(own_postgres.url(), "zqtoolatex") == NOTHING
        assert memories.remember("Too late zqtoolatex").outcome == "added"
        assert memories.doctor() == []


def test_nothing_acknowledged_is_lost_and_nothing_half_written_when_the_server_is_killed(
    own_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 60.0)  # however slow this machine is
    memories, url = opened(own_postgres.url()), own_postgres.url()
    kept: dict[str, str] = {}
    doubtful: list[str] = []
    done = threading.Event()

    def write(thread: int) -> None:
        mine = memories.in_namespace(f"n{thread % 2}").in_session(f"s{thread}")
        for number in count():
            if done.is_set():
                return
            word = f"zq{thread}w{number}x"
            try:
                kept[word] = mine.remember(f"Note {word} about {number * 7919}", on_duplicate="keep").id
            except StoreUnreachable:
                doubtful.append(word)

    calls = [Call(write, thread) for thread in range(4)]
    for _ in range(2):
        before = len(kept)
        assert wait_until(lambda before=before: len(kept) > before + 30)  # type: ignore[misc]
        own_postgres.kill()
        own_postgres.start()
    before = len(kept)
    assert wait_until(lambda: len(kept) > before + 10)
    done.set()
    for call in calls:
        call.result()
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT split_part(content, ' ', 2), id FROM recollect.memory").fetchall()
    there = {str(word): str(id) for word, id in rows}
    assert len(there) == len(rows), "nothing is there twice"
    assert kept.items() <= there.items()
    assert set(there) - set(kept) <= set(doubtful)
    assert len(doubtful) <= 8, "at most what was being confirmed when the server was killed"
    assert memories.doctor() == []
    for number in range(2):
        stats = memories.in_namespace(f"n{number}").stats()
        assert stats.vectors == stats.memories
    memories.close()


# the line is cut

MOMENTS: dict[str, Callable[[], proxies.Rule]] = {
    "before the row is sent": lambda: proxies.before(b"INSERT INTO recollect.memory"),
    "in the middle of the write": lambda: proxies.after(60_000, "client"),
    "without an answer to the row": lambda: proxies.without_answer_to(b"INSERT INTO recollect.memory"),
    "before COMMIT is sent": lambda: proxies.before(COMMIT),
    "without an answer to COMMIT": lambda: proxies.without_answer_to(COMMIT),
}
LONG = "The harbour zqlongx opens at six " + "and closes at seven " * 8_000


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_write_is_there_once_after_the_line_was_cut(
    server: PostgresServer, url: str, proxy: Proxy, moment: str
) -> None:
    with opened(through(proxy, url, server)) as memories:
        memories.remember("The first")
        proxy.cut(MOMENTS[moment]())
        kept = memories.in_session("s1").remember(LONG)
        assert proxy.cuts == 1
        assert kept.outcome == "added"
        assert facts(url, "zqlongx") == WHOLE
        assert memories.recall("zqlongx", mode="keyword")[0].memory.id == kept.id
        assert memories.doctor() == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_write_is_there_whole_or_not_at_all_when_the_server_stays_away(
    server: PostgresServer, url: str, proxy: Proxy, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(through(proxy, url, server)) as memories:
        memories.remember("The first")
        with monkeypatch.context() as patch:
            patch.setattr(connections, "PATIENCE", 0.3)
            proxy.cut(MOMENTS[moment](), for_good=True)
            with pytest.raises(StoreUnreachable) as caught:
                memories.in_session("s1").remember(LONG)
        unheard = "COMMIT" in moment
        assert ("look before you try again" in str(caught.value)) == unheard, str(caught.value)
        kept = facts(url, "zqlongx")
        assert kept == (WHOLE if moment == "without an answer to COMMIT" else NOTHING)
        proxy.is_down = False
        assert memories.remember(LONG).outcome == ("reinforced" if kept == WHOLE else "added")
        assert memories.doctor() == []


@pytest.mark.parametrize(
    "moment", [COMMIT, b"UPDATE recollect.memory"], ids=["without an answer to COMMIT", "in the middle"]
)
def test_a_change_is_made_once_after_the_line_was_cut(
    server: PostgresServer, url: str, proxy: Proxy, moment: bytes
) -> None:
    with opened(through(proxy, url, server)) as memories:
        id = memories.remember("The harbour opens at six").id
        proxy.cut(proxies.without_answer_to(moment))
        memories.in_session("s1").update(id, text="The harbour zqchangedx opens at seven")
        assert proxy.cuts == 1
        assert facts(url, "zqchangedx") == WHOLE
        proxy.cut(proxies.without_answer_to(COMMIT))
        before = memories.get(id).access_count
        memories.reinforce(id)
        assert memories.get(id).access_count - before <= 1
        proxy.cut(proxies.without_answer_to(COMMIT))
        assert memories.forget(id).memories == 1
        assert memories.doctor() == []


def test_a_reader_does_not_notice_that_the_line_was_cut(
    server: PostgresServer, url: str, proxy: Proxy
) -> None:
    with opened(through(proxy, url, server)) as memories:
        id = memories.remember(LONG).id
        for rule in (proxies.after(60_000, "server"), proxies.before(b"SELECT")):
            proxy.cut(rule)
            assert memories.get(id).content == LONG
        proxy.cut(proxies.without_answer_to(b"SELECT"))
        assert memories.recall("zqlongx", reinforce=False)[0].memory.id == id
        assert proxy.cuts == 3


def test_an_export_that_is_cut_off_says_so(server: PostgresServer, url: str, proxy: Proxy) -> None:
    with opened(through(proxy, url, server)) as memories:
        memories.remember(LONG)
        proxy.cut(proxies.after(60_000, "server"))
        with pytest.raises(StoreUnreachable, match="see that it runs"):
            list(memories.export_records())
        assert len(list(memories.export_records())) == 2


def test_a_number_that_a_crashed_server_gives_again_does_not_confirm_a_write(
    own_postgres: PostgresServer,
) -> None:
    """Transactions that were not on the disk are forgotten in a crash, and their numbers are used again."""
    reached, go_on = threading.Event(), threading.Event()

    def rule(side: Side, data: bytes) -> Passed:
        if side == "server" or COMMIT not in data:
            return Passed(data)
        reached.set()
        go_on.wait(60)
        return Passed(b"", cut=True)

    url = own_postgres.url()
    with Proxy(own_postgres.port) as proxy, opened(through(proxy, url, own_postgres)) as memories:
        memories.remember("The first")
        ((writer,),) = own_postgres.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
        )
        os.kill(writer, signal.SIGSTOP)  # what is not committed stays off the disk
        proxy.cut(rule)
        call = Call(lambda: memories.remember("Lost zqlostx"))
        assert reached.wait(60)
        ((held,),) = own_postgres.execute("SELECT max(backend_xid::text::bigint) FROM pg_stat_activity")
        os.kill(own_postgres.pid, signal.SIGKILL)
        os.kill(writer, signal.SIGKILL)
        own_postgres.kill()
        own_postgres.start()
        while own_postgres.execute("SELECT pg_current_xact_id()::text::bigint")[0][0] < held:
            pass
        assert own_postgres.execute(f"SELECT pg_xact_status('{held}'::xid8)") == [("committed",)]
        go_on.set()
        with pytest.raises(StoreUnreachable, match="can't say any more whether it was kept: look before"):
            call.result()
        assert facts(url, "zqlostx") == NOTHING
        assert memories.doctor() == []


@pytest.mark.parametrize("who", ["resting", "waiting for a lock"])
def test_a_connection_that_the_administrator_ends_is_replaced(
    server: PostgresServer, database: str, url: str, who: str
) -> None:
    ending = f"""
        SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
        WHERE datname = '{database}' AND application_name = 'recollect'"""
    with opened(url) as memories:
        memories.remember("The first")
        if who == "resting":
            assert server.execute(ending) == [(1,)]
            memories.in_session("s1").remember("After zqafterx")
        else:
            with closing(holder(url)):
                call = Call(lambda: memories.in_session("s1").remember("After zqafterx"))
                assert wait_until(lambda: waits_for_a_lock(server))
                assert server.execute(ending) == [(1,)]
            call.result()
        assert facts(url, "zqafterx") == WHOLE


def test_a_connection_that_the_server_found_idle_is_replaced(server: PostgresServer, database: str) -> None:
    with opened(server.url(database, options="-c idle_session_timeout=100ms")) as memories:
        id = memories.remember("The harbour opens at six").id
        assert wait_until(
            lambda: not server.execute(f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}'")
        )
        assert memories.get(id).content == "The harbour opens at six"
        assert memories.remember("And closes at seven").outcome == "added"


# others are in the way


def test_a_writer_waits_for_another_one_of_its_namespace(
    server: PostgresServer, url: str, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.remember("The first")
    with closing(holder(url)) as other:
        call = Call(lambda: memories.in_session("s1").remember("After zqafterx"))
        assert wait_until(lambda: waits_for_a_lock(server))
        assert memories.in_namespace("another").remember("Nobody waits here").outcome == "added"
        other.rollback()
        call.result()
    assert facts(url, "zqafterx") == WHOLE
    with closing(holder(url)), pytest.raises(StoreBusy) as caught:
        monkeypatch.setattr(connections, "LOCK_PATIENCE", 0.1)
        memories.remember("Never zqneverx")
    assert "kept writing to this namespace" in str(caught.value)
    assert "nothing was changed, try again later" in str(caught.value)
    assert facts(url, "zqneverx") == NOTHING


def test_a_pool_that_is_used_up_is_said_to_be(server: PostgresServer, database: str) -> None:
    with opened(server.url(database, pool_size=1, pool_timeout=1)) as memories:
        with memories._store._connections._pool.connection():  # type: ignore[attr-defined]
            call = Call(lambda: memories.remember("Never zqneverx"))
            with pytest.raises(StoreBusy, match="in use for too long: set pool_size in its URL higher"):
                call.result()
        assert memories.remember("Now there is room").outcome == "added"
    with pytest.raises(StoreClosed):
        memories.remember("Closed")


def test_a_server_that_takes_no_more_connections_is_said_to(
    server: PostgresServer, database: str, waiting: threading.Event
) -> None:
    server.execute(f"CREATE ROLE {database} LOGIN SUPERUSER")
    server.execute(f"ALTER ROLE {database} NOSUPERUSER CONNECTION LIMIT 1")
    server.execute(f"ALTER DATABASE {database} OWNER TO {database}")
    server.execute("CREATE EXTENSION vector", database)
    url = server.url(database, user=database)
    sentence = r"accepts no more connections \(too many connections for role .*set pool_size in the URL lower"
    with opened(url) as memories:
        gone = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}'"
        assert wait_until(lambda: not server.execute(gone))
        with closing(psycopg.connect(url)) as other:
            with pytest.raises(StoreBusy, match=sentence):
                opened(url)
            call = Call(lambda: memories.remember("The first"))
            assert waiting.wait(60)
            other.close()
            assert call.result().outcome == "added"


def raise_once(server: PostgresServer, database: str, code: str) -> None:
    """The next row that is written fails as if others were in the way; sequences know of no rollback."""
    server.execute(
        f"""
        CREATE SEQUENCE tries;
        CREATE FUNCTION raise_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('tries') < 3 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '{code}'; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER raise_once BEFORE INSERT ON recollect.memory
        FOR EACH ROW EXECUTE FUNCTION raise_once()""",
        database,
    )


@pytest.mark.parametrize("code", ["40001", "40P01"], ids=["serialization failure", "deadlock"])
def test_a_write_that_others_got_in_the_way_of_is_tried_again(
    server: PostgresServer, database: str, url: str, memories: Memories, code: str
) -> None:
    memories.remember("The first")
    raise_once(server, database, code)
    assert memories.in_session("s1").remember("Again zqagainx").outcome == "added"
    assert server.execute("SELECT last_value FROM tries", database) == [(3,)]
    assert facts(url, "zqagainx") == WHOLE


def test_a_write_that_never_gets_through_is_given_up(
    server: PostgresServer, database: str, url: str, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.remember("The first")
    raise_once(server, database, "40001")
    monkeypatch.setattr(connections, "CONFLICTS", 1)
    with pytest.raises(StoreBusy, match="nothing was changed"):
        memories.remember("Never zqneverx")
    assert facts(url, "zqneverx") == NOTHING


def test_a_deadlock_with_somebody_else_is_got_out_of(
    server: PostgresServer, url: str, memories: Memories
) -> None:
    id = memories.remember("The harbour opens at six").id
    with closing(psycopg.connect(url)) as other:
        other.execute("SET deadlock_timeout = '60s'")  # so that it is not the one to give way
        other.execute("SELECT 1 FROM recollect.memory FOR UPDATE")
        call = Call(lambda: memories.update(id, text="The harbour zqchangedx opens at seven"))
        assert wait_until(lambda: waits_for_a_lock(server))
        other.execute("SELECT 1 FROM recollect.namespace FOR UPDATE")
        other.commit()
        call.result()
    assert "deadlock detected" in server.log.read_text()
    assert memories.get(id).content == "The harbour zqchangedx opens at seven"
    assert memories.doctor() == []


def test_writers_that_conflict_all_get_through_in_a_serializable_database(
    server: PostgresServer, database: str
) -> None:
    with opened(server.url(database, options="-c default_transaction_isolation=serializable")) as memories:

        def write(thread: int) -> None:
            for number in range(5):
                memories.remember(f"{thread} {number}", on_duplicate="keep")

        for call in [Call(write, thread) for thread in range(8)]:
            call.result()
        assert memories.stats().memories == 40
        assert memories.doctor() == []


def test_a_statement_that_takes_too_long_changes_nothing(server: PostgresServer, database: str) -> None:
    with opened(server.url(database)) as memories:
        memories.remember("The first")
    impatient = server.url(database, options="-c statement_timeout=300ms")
    with opened(impatient) as memories:
        with closing(holder(server.url(database))), pytest.raises(StoreBusy) as caught:
            memories.remember("Never zqneverx")
        assert (
            "stopped a statement (canceling statement due to statement timeout): nothing was changed; "
            "raise its time limit, or ask for less."
        ) in str(caught.value)
        assert facts(server.url(database), "zqneverx") == NOTHING
        assert memories.remember("In time").outcome == "added"


# not allowed, not fit


@pytest.fixture
def role(server: PostgresServer, database: str) -> str:
    """A user who may log in, and nothing else."""
    server.execute(f"CREATE ROLE {database}_user LOGIN PASSWORD '{SECRET}'")
    return f"{database}_user"


def test_a_user_who_may_not_install_the_extension(server: PostgresServer, database: str, role: str) -> None:
    with pytest.raises(StoreError, match=r"may not install pgvector .* CREATE EXTENSION vector there once"):
        opened(server.url(database, user=role))


def test_a_user_who_may_not_make_the_schema(server: PostgresServer, database: str, role: str) -> None:
    server.execute("CREATE EXTENSION vector", database)
    with pytest.raises(StoreError, match=r"\(permission denied for database .*\): have its owner GRANT it"):
        opened(server.url(database, user=role))
    server.execute(f"GRANT CREATE ON DATABASE {database} TO {role}")
    with opened(server.url(database, user=role)) as memories:
        assert memories.remember("Now it works").outcome == "added"


def test_a_user_without_rights_on_the_tables(
    server: PostgresServer, database: str, role: str, memories: Memories, caplog: pytest.LogCaptureFixture
) -> None:
    memories.remember("The harbour zqreadx opens at six")
    url = server.url(database, user=role)
    with pytest.raises(StoreError, match=r"\(permission denied for schema recollect\): have its owner"):
        opened(url)
    server.execute(f"GRANT USAGE ON SCHEMA recollect TO {role}", database)
    server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {role}", database)
    with caplog.at_level(logging.WARNING), opened(url) as reader:
        assert reader.recall("zqreadx")
        assert reader.in_session("s").recall("zqreadx")
        reader._later.finish()
        assert reader.read_only and not caplog.records, "it need not be told at each recall"
        with pytest.raises(StoreError, match=r"\(permission denied for table .*\): have its owner GRANT"):
            reader.remember("Never zqneverx")
        server.execute(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA recollect TO {role}", database)
        assert reader.remember("Now it works").outcome == "added"
        assert not reader.read_only


@pytest.mark.skipif(VERSION < 18, reason="where extensions are looked for can be set since PostgreSQL 18")
def test_a_server_without_pgvector(server: PostgresServer, database: str, url: str) -> None:
    server.execute(f"ALTER DATABASE {database} SET extension_control_path = '/nowhere'")
    with pytest.raises(StoreError, match=r"does not have pgvector: install it there"):
        opened(url)


def test_a_wrong_password_is_refused_and_never_shown(
    server: PostgresServer, database: str, role: str
) -> None:
    rules = server.data / "pg_hba.conf"
    rules.write_text(f"host all {role} all scram-sha-256\n{rules.read_text()}")
    server.execute("SELECT pg_reload_conf()")
    server.execute("CREATE EXTENSION vector", database)
    server.execute(f"GRANT CREATE ON DATABASE {database} TO {role}")
    place = f"{HOST}:{server.port}/{database}"
    opened(f"postgresql://{role}:{SECRET}@{place}").close()
    for url, reason in (
        (f"postgresql://{role}:not{SECRET}@{place}", "password authentication failed for user"),
        (f"postgresql://{place}?user={role}&password=not{SECRET}", "password authentication failed for user"),
        (f"postgresql://{role}@{place}", "no password supplied"),
    ):
        with pytest.raises(StoreError) as caught:
            opened(url)
        assert f"{place} refuses this user ({'fe_sendauth: ' * ('supplied' in reason)}{reason}" in str(
            caught.value
        )
        assert str(caught.value).endswith(": check the user and password in the URL.")
        error: BaseException | None = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = error.__cause__ or error.__context__


def test_who_or_what_is_not_there_is_named(server: PostgresServer, database: str, role: str) -> None:
    with pytest.raises(StoreError, match=r"There is no such database: .*nothing_here.*with createdb"):
        opened(server.url("nothing_here"))
    with pytest.raises(StoreError, match=r"refuses this user \(role \"nobody_here\" does not exist\)"):
        opened(server.url(database, user="nobody_here"))
    server.execute(f"ALTER ROLE {role} NOLOGIN")
    with pytest.raises(StoreError, match=r"refuses this user \(role .* is not permitted to log in\)"):
        opened(server.url(database, user=role))
    server.execute(f"ALTER ROLE {role} LOGIN")
    server.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    with pytest.raises(StoreError, match=r"may not do that in .*\(permission denied for database"):
        opened(server.url(database, user=role))


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_can_not_keep_every_letter_is_refused(server: PostgresServer, encoding: str) -> None:
    name = f"failures_{next(_numbers)}"
    server.execute(
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE_PROVIDER libc LOCALE 'C'"
    )
    with pytest.raises(StoreError, match=f"keeps texts as {encoding}: make a database with createdb"):
        opened(server.url(name))


def test_a_server_that_is_too_old_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", property(lambda self: 140_011))
    with pytest.raises(StoreError, match="runs PostgreSQL 14: Recollect needs 15 or later"):
        opened(url)


def test_a_read_only_database_is_read_and_not_written(
    server: PostgresServer, database: str, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(url) as memories:
        id = memories.remember("The harbour opens at six").id
        server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        memories._store._connections._pool.clear()  # type: ignore[attr-defined]
        with pytest.raises(StoreReadOnly, match="a replica or set to read-only: give the URL of the primary"):
            memories.remember("Never zqneverx")
    with caplog.at_level(logging.WARNING), opened(url) as memories:
        assert [hit.memory.id for hit in memories.recall("harbour")] == [id]
        assert len(list(memories.export_records())) == 2
        with pytest.raises(StoreReadOnly, match="a replica or set to read-only: give the URL of the primary"):
            memories.remember("Never zqneverx")
    assert not [record for record in caplog.records if record.name == "recollect"]
    assert facts(url, "zqneverx") == NOTHING


BAD_URLS = [
    f"postgresql://ana:{SECRET}@[host/notes",
    f"postgresql://ana:{SECRET}@host:port/notes",
    f"postgresql://ana:{SECRET} x@host/notes",
    f"postgresql://ana:x@{SECRET}@host/notes",
    f"postgresql://ana:{SECRET}/x@host/notes",
    f"postgresql://ana:%zz{SECRET}@host/notes",
    f"postgresql://ana:{SECRET}@host/notes?colour=blue",
    f"postgresql://ana:{SECRET}@host/notes?pool_size=0",
    f"postgresql://ana:{SECRET}@host/notes?pool_size={'9' * 5000}",
    f"postgresql://ana:{SECRET}@host/notes?pool_timeout=soon",
    f"postgresql://ana:{SECRET}@host/notes?schema=",
    f"postgresql://ana:{SECRET}@host/notes\0",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_can_not_be_read_is_refused_without_repeating_the_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(url)
    assert SECRET not in str(caught.value)
    assert ": give " in str(caught.value)
    assert len(str(caught.value)) < 250


# threads, forks, interruptions, the end


def test_sixteen_threads_share_a_store(memories: Memories) -> None:
    def work(thread: int) -> None:
        mine = memories.in_namespace(f"n{thread % 4}")
        for number in range(5):
            word = f"zq{thread}w{number}x"
            id = mine.remember(f"Note {word}", on_duplicate="keep").id
            assert [hit.memory.id for hit in mine.recall(word, mode="keyword")] == [id]

    for call in [Call(work, thread) for thread in range(16)]:
        call.result()
    assert sum(memories.namespaces().values()) == 80
    assert memories.doctor() == []


def session_of(memories: Memories) -> int:
    """Which of the server's processes answers."""
    store: Any = memories._store
    pid: int = store._connections.read(lambda statements: statements.connection.info.backend_pid)
    return pid


@needs_fork
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a thread of the parent writes"])
def test_a_forked_child_uses_connections_of_its_own(
    server: PostgresServer, url: str, memories: Memories, busy: bool
) -> None:
    before = memories.remember("The parent remembered zqbeforex").id
    other = holder(url)
    call = Call(lambda: memories.remember("The parent remembered zqbusyx")) if busy else None
    if call:
        assert wait_until(lambda: waits_for_a_lock(server))
    else:
        other.rollback()

    parent = session_of(memories)

    def use() -> None:
        assert session_of(memories) != parent
        assert memories.get(before).content == "The parent remembered zqbeforex"
        memories.in_namespace("child").remember("The child remembered zqchildx")
        memories.close()

    forked(use)()
    assert session_of(memories) == parent, "it was not disturbed"
    other.rollback()
    other.close()
    if call:
        assert call.result().outcome == "added"
    memories.remember("The parent remembered zqafterx")
    assert memories.in_namespace("child").recall("zqchildx", mode="keyword")
    assert memories.doctor() == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupted_write_leaves_nothing_and_the_store_goes_on(
    server: PostgresServer, url: str, memories: Memories
) -> None:
    memories.remember("The first")

    def interrupt() -> None:
        assert wait_until(lambda: waits_for_a_lock(server))
        os.kill(os.getpid(), signal.SIGINT)

    with closing(holder(url)):
        call = Call(interrupt)
        with pytest.raises(KeyboardInterrupt):
            memories.remember("Never zqneverx")
        call.result()
        assert not waits_for_a_lock(server)
    assert facts(url, "zqneverx") == NOTHING
    assert memories.remember("And on").outcome == "added"


UNCLOSED = """
import sys, recollect
memories = recollect.open(sys.argv[1], namespace="failures", embedder="hash")
memories.remember("The harbour opens at six")
memories.recall("harbour")
kept = memories._store._connections._pool
print("done")
"""


def test_a_program_that_forgets_to_close_its_store_ends_quietly(url: str) -> None:
    command = [sys.executable, "-c", UNCLOSED, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
    with opened(url) as memories:
        assert memories.stats().memories == 1
        assert [hit.memory.access_count for hit in memories.recall("harbour")] == [1]


# the command line


def cli(url: str, *arguments: str) -> tuple[int, str]:
    done = CliRunner(env={"RECOLLECT_URL": url, "RECOLLECT_EMBEDDER": "hash"}).invoke(
        program, [*arguments], prog_name=NAME
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stderr


def test_the_command_line_says_each_failure_in_one_sentence(
    server: PostgresServer, database: str, role: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LOCK_PATIENCE", 0.1)
    with opened(url) as memories:
        memories.remember("The first")
    fails: list[tuple[str, str]] = [
        (f"postgresql://ana:{SECRET}@{HOST}:{free_port()}/notes", "can't be reached (Connection refused)"),
        (server.url("nothing_here"), "There is no such database"),
        (server.url(database, user="nobody_here"), "refuses this user"),
        (server.url(database, user=role), "permission denied for schema recollect"),
        (server.url(database, options="-c default_transaction_read_only=on"), "can't be written"),
        (server.url(database, options="-c statement_timeout=0"), "kept writing to this namespace"),
    ]
    with closing(holder(url)):
        for where, sentence in fails:
            code, said = cli(where, "add", "Never zqneverx", "-n", "failures")
            assert (code, said.count("\n")) == (3, 1), said
            assert said.startswith("Error: ")
            assert sentence in said
            assert SECRET not in said
    assert facts(url, "zqneverx") == NOTHING
    assert cli(BAD_URLS[0], "add", "Never")[0] == 2


def test_the_command_line_shows_no_traceback_when_the_server_is_down() -> None:
    place = f"{HOST}:{free_port()}/notes"
    done = subprocess.run(
        [sys.executable, "-m", "recollect.doors.cli", "search", "harbour"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ
        | {"RECOLLECT_URL": f"postgresql://ana:{SECRET}@{place}", "RECOLLECT_EMBEDDER": "hash"},
    )
    assert done.returncode == 3
    assert done.stderr == (
        f"Error: The server of postgresql://{place} can't be reached (Connection refused): "
        "see that it runs and that the URL is right.\n"
    )


def test_time_is_not_spent_on_what_waiting_does_not_mend(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Only what passes by itself is waited for."""
    slept: list[float] = []
    with opened(url) as memories:
        monkeypatch.setattr(time, "sleep", slept.append)
        with pytest.raises(recollect.InvalidInput):
            memories.remember("")
        with pytest.raises(recollect.NotFound):
            memories.update("nothing", text="x")
    assert not slept
