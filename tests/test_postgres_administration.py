"""Looking after a PostgreSQL store: init, Citus, an index for each large namespace, row-level security."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
import pytest
from psycopg import sql

import recollect
from recollect import Draft, Memories, StoreError
from recollect.store.postgres import administration, indexes, search, tenants
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import quoted
from tests.conftest import OpenMemories, postgres_only
from tests.test_cli import Cli

pytestmark = postgres_only


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> Cli:
    return Cli(tmp_path, monkeypatch)


@pytest.fixture
def address(store_url: str) -> Address:
    return Address.parse(store_url)


@pytest.fixture
def connection(address: Address) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        yield connection


def with_user(user: str, address: Address) -> str:
    """The same store as another user."""
    known = psycopg.conninfo.conninfo_to_dict(address.conninfo)
    return f"postgresql://{user}:secret@{known['host']}:{known['port']}/{known['dbname']}?schema={address.schema}"


class TestInit:
    def test_makes_a_store_and_can_be_run_again(self, cli: Cli, postgres_url: str) -> None:
        schema = f"made_{secrets.token_hex(4)}"
        url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema={schema}"
        try:
            for _ in range(2):
                assert cli.out("init", "--url", url).endswith("is ready\n")
            with recollect.open(url, create=False) as memories:
                assert memories.namespaces() == {}
        finally:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE".encode())

    def test_makes_a_file_too(self, cli: Cli, tmp_path: Path) -> None:
        assert cli.out("init", "--url", str(tmp_path / "new.db")).endswith("new.db is ready\n")
        assert (tmp_path / "new.db").exists()

    def test_a_schema_may_have_any_name(self, cli: Cli, postgres_url: str) -> None:
        schema = f"a:b {{}} 100% {secrets.token_hex(4)}"
        url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema={quote(schema)}"
        try:
            with recollect.open(url, namespace="n", embedder=Compass()) as memories:
                fill(memories, 40)
                assert cli.out("index", "--url", url, "--least", "10") == "made for n\n"
                assert memories.recall("harbour")
                assert memories.doctor() == []
        finally:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE".encode())

    def test_never_shows_a_password(self, cli: Cli, address: Address) -> None:
        shown = cli.out("init", "--url", with_user("postgres", address))
        assert "***" in shown
        assert "secret" not in shown

    def test_says_clearly_when_there_is_no_citus(
        self, cli: Cli, store_url: str, connection: psycopg.Connection
    ) -> None:
        if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone():
            assert "none, all were" in cli.out("init", "--url", store_url, "--distribute")
            return
        done = cli.run("init", "--url", store_url, "--distribute", code=3)
        assert "has no Citus: run CREATE EXTENSION citus there" in done.stderr

    def test_what_only_a_server_needs_is_refused_for_a_file(self, cli: Cli) -> None:
        for command in (["index"], ["grant", "ana"], ["init", "--distribute"]):
            assert "is a file, which needs none of this" in cli.run(*command, code=2).stderr
        cli.run("init", "--distribute", "--url", "never.db", code=2)
        assert not (cli.folder / "never.db").exists()


@pytest.fixture
def memories(open_memories: OpenMemories) -> Memories:
    return open_memories(embedder=Compass())


class Compass:
    """Vectors in eight dimensions that are given, never made: nothing here is about meaning."""

    name, dimensions, fingerprint, query_prefix, languages = "compass", 8, "compass-1", "", ()

    def embed(self, texts: Any) -> Any:
        made = [np.random.default_rng(len(text)).standard_normal(8) for text in texts]
        return np.array([vector / np.linalg.norm(vector) for vector in made], np.float32)


def test_the_server_learns_at_once_that_a_store_has_grown(
    memories: Memories, connection: psycopg.Connection, address: Address
) -> None:
    """Or it would go on, for a minute or so, by plans that it made for an empty store."""

    def known() -> float:
        found = connection.execute(
            "SELECT c.reltuples FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s AND c.relname = 'memory'",
            [address.schema],
        ).fetchone()
        return float(found[0]) if found else -1.0

    connection.execute(f'ANALYZE "{address.schema}".memory'.encode())
    memories.remember("The first one.")
    assert known() <= 1
    memories.remember_many(f"Number {number}" for number in range(200))
    assert known() >= 200


def fill(memories: Memories, count: int) -> None:
    drawn = np.random.default_rng(1).standard_normal((count, 8))
    memories.remember_many(
        Draft(f"Note {number} of the harbour", vector=list(vector), tags=["rare"] if number % 50 == 0 else [])
        for number, vector in enumerate(drawn)
    )


def found(memories: Memories, **options: Any) -> list[list[str]]:
    return [
        [hit.memory.id for hit in memories.recall("x" * n, mode="semantic", reinforce=False, **options)]
        for n in range(1, 20)
    ]


class TestIndexes:
    @pytest.fixture(autouse=True)
    def leave_none(self, connection: psycopg.Connection, address: Address) -> Iterator[None]:
        yield
        indexes.index(connection, address, 1_000_000_000)

    def test_a_large_namespace_gets_one_and_answers_as_before(
        self, cli: Cli, open_memories: OpenMemories, memories: Memories, store_url: str,
        connection: psycopg.Connection, address: Address,
    ) -> None:  # fmt: skip
        fill(memories, 300)
        fill(open_memories("small", Compass()), 30)
        exactly, narrow = found(memories), found(memories, tags="rare")
        assert cli.out("index", "--url", store_url, "--least", "100") == "made for proj1\n"
        assert cli.out("index", "--url", store_url, "--least", "100").startswith("no index is missing")
        assert cli.run("index", "--url", store_url, "--least", "100", "-q").output == ""
        shared = [len(set(a) & set(b)) for a, b in zip(exactly, found(memories), strict=True)]
        assert sum(shared) / len(shared) >= 9.8
        assert found(memories, tags="rare") == narrow, "a narrow scope gets all that it has"
        assert memories._store._large["proj1"].indexed  # type: ignore[attr-defined]

    def test_stats_and_doctor_say_when_one_is_missing(
        self, cli: Cli, memories: Memories, store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(memories, 120)
        said = "looks at all 120 vectors: recollect index"
        assert not memories.stats().notes, "too few"
        monkeypatch.setattr(indexes, "LARGE", 120)
        monkeypatch.setattr(search, "FEW", 20)
        assert said in memories.stats().notes[0]
        checked = cli.run("--store", store_url, "-n", "proj1", "doctor")
        assert (checked.exit_code, checked.stdout) == (0, "all is well\n"), "slow is not wrong"
        assert said in checked.stderr
        cli.out("index", "--url", store_url, "--least", "120")
        assert not memories.stats().notes

    def test_it_is_used(self, memories: Memories, connection: psycopg.Connection, address: Address) -> None:
        fill(memories, 300)
        indexes.index(connection, address, 100)
        with connection.transaction():
            connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
            plan = str(
                connection.execute(
                    sql.SQL(
                        "EXPLAIN SELECT memory FROM {}.vector WHERE namespace = 'proj1' AND generation = 1 "
                        "ORDER BY (embedding::halfvec(8)) <#> '[1,0,0,0,0,0,0,0]'::halfvec(8) LIMIT 5"
                    ).format(sql.SQL(quoted(address.schema)))
                ).fetchall()
            )
        assert "vector_near_" in plan

    def test_it_is_still_used_when_a_connection_has_asked_often(
        self, memories: Memories, connection: psycopg.Connection, address: Address
    ) -> None:
        """A plan that PostgreSQL makes once for all could not use an index of one namespace."""
        fill(memories, 300)
        indexes.index(connection, address, 100)
        for _ in range(20):
            memories.recall("harbour", mode="semantic", reinforce=False)
        prepared = memories._store._read(  # type: ignore[attr-defined]
            lambda statements: statements.connection.execute(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%halfvec%'"
            ).fetchone()
        )
        assert prepared == (0,)

    def test_it_goes_when_the_namespace_is_no_longer_large(
        self, memories: Memories, connection: psycopg.Connection, address: Address
    ) -> None:
        fill(memories, 120)
        assert indexes.index(connection, address, 100)[0] == ["proj1"]
        memories.forget(tags="rare")
        made, dropped = indexes.index(connection, address, 119)
        assert (made, len(dropped)) == ([], 1)
        assert found(memories)[0]
        assert not memories._store._large  # type: ignore[attr-defined]

    def test_another_generation_is_not_searched_by_the_old_index(
        self,
        open_memories: OpenMemories,
        memories: Memories,
        connection: psycopg.Connection,
        address: Address,
    ) -> None:
        fill(memories, 120)
        indexes.index(connection, address, 100)
        changed = open_memories(embedder="hash")
        assert changed.reembed() == 0
        assert (
            changed.recall("Note 7 of the harbour", mode="semantic")[0].memory.content
            == "Note 7 of the harbour"
        )
        assert not changed._store._large  # type: ignore[attr-defined]
        made, dropped = indexes.index(connection, address, 100)
        assert (made, len(dropped)) == (["proj1"], 1)


@pytest.fixture
def tenant(connection: psycopg.Connection, address: Address) -> Iterator[str]:
    """A role that may log in and nothing else."""
    role = f"tenant_{secrets.token_hex(6)}"
    connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'".encode())
    yield role
    groups = [tenants.role_of(connection, address, namespace) for namespace in ("proj1", "proj2", "new")]
    for name in [role, *groups]:
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
            connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())
    for table in administration.TABLES:
        name = f"{quoted(address.schema)}.{table}"
        connection.execute(f"DROP POLICY IF EXISTS tenant ON {name}".encode())
        connection.execute(f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY".encode())


class TestTenants:
    @pytest.fixture
    def shared(
        self, open_memories: OpenMemories, connection: psycopg.Connection, address: Address, tenant: str
    ) -> None:
        """Two namespaces, of which the tenant is granted one."""
        for namespace in ("proj1", "proj2"):
            memories = open_memories(namespace)
            first = memories.remember(f"{namespace} keeps walrus", session="s1", tags=["t"]).id
            memories.relate(first, memories.remember(f"{namespace} keeps plugh as well").id)
            memories.in_session("s2").recall("walrus")
            memories.ingest("# Title\n\nText of it.", name="doc.md")
            memories.stats()
        tenants.secure(connection, address)
        tenants.grant(connection, address, tenant, "proj1")

    @pytest.fixture
    def theirs(self, address: Address, tenant: str) -> Iterator[psycopg.Connection]:
        url = Address.parse(with_user(tenant, address)).conninfo
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection

    def test_a_tenant_works_in_its_own_namespace(self, shared: None, address: Address, tenant: str) -> None:
        url = with_user(tenant, address)
        with recollect.open(url, namespace="proj1", embedder="hash") as memories:
            assert [hit.memory.namespace for hit in memories.recall("walrus")][:1] == ["proj1"]
            memories.remember("A sentence that is long enough to have keys for its near-duplicates")
            memories.remember_many([Draft(f"Number {number} of a dozen") for number in range(12)])
            memories.ingest("# Another\n\nText of it.", name="other.md")
            assert memories.namespaces() == {"proj1": 15}
            assert memories.forget_document("other.md").memories == 1

    def test_what_is_granted_in_one_database_opens_nothing_in_another(
        self, shared: None, connection: psycopg.Connection, address: Address, tenant: str
    ) -> None:
        group = tenants.role_of(connection, address, "proj1")
        with psycopg.connect(address.conninfo, dbname="template1") as elsewhere:
            assert tenants.role_of(elsewhere, address, "proj1") != group
        other = Address(address.conninfo, f"{address.schema}:p")
        assert tenants.role_of(connection, other, "roj1") != tenants.role_of(connection, other, ":proj1")

    def test_and_in_no_other(self, shared: None, address: Address, tenant: str) -> None:
        url = with_user(tenant, address)
        with recollect.open(url, namespace="proj2", embedder="hash") as memories:
            assert memories.recall("walrus") == []
            assert list(memories.export_records()) == []
            with pytest.raises(StoreError, match="may not write to that namespace"):
                memories.remember("Smuggled in")
            with pytest.raises(StoreError, match="may not write to that namespace"):
                memories.in_namespace("new").remember("A namespace of its own making")

    @pytest.mark.parametrize("table", administration.TABLES)
    def test_no_sql_shows_another_s_rows(
        self, shared: None, theirs: psycopg.Connection, address: Address, table: str
    ) -> None:
        name = f"{quoted(address.schema)}.{table}"
        seen = theirs.execute(f"SELECT DISTINCT namespace FROM {name}".encode()).fetchall()
        assert seen == [("proj1",)]
        for attempt in (
            f"SELECT 1 FROM {name} WHERE namespace = 'proj2'",
            f"SELECT 1 FROM {name} t WHERE t::text LIKE '%proj2%'",
            f"SELECT 1 FROM (TABLE {name}) t WHERE namespace <> 'proj1'",
            f"UPDATE {name} SET namespace = namespace WHERE namespace <> 'proj1' RETURNING 1",
            f"DELETE FROM {name} WHERE namespace <> 'proj1' RETURNING 1",
        ):
            assert theirs.execute(attempt.encode()).fetchall() == [], attempt
        with theirs.cursor() as cursor, cursor.copy(f"COPY {name} TO STDOUT".encode()) as copy:
            assert b"proj2" not in b"".join(bytes(line) for line in copy)

    def test_no_trick_helps(
        self,
        shared: None,
        connection: psycopg.Connection,
        theirs: psycopg.Connection,
        address: Address,
        tenant: str,
    ) -> None:
        name = f"{quoted(address.schema)}.memory"
        other = tenants.role_of(connection, address, "proj2")
        for attempt in (
            f"SET row_security = off; SELECT * FROM {name}",
            f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
            f"DROP POLICY tenant ON {name}",
            f"TRUNCATE {name}",
            f"SET ROLE {other}",
            f"GRANT {other} TO {tenant}",
            f"UPDATE {name} SET namespace = 'proj2'",
            f"CREATE FUNCTION {quoted(address.schema)}.peek() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        ):
            with pytest.raises(psycopg.Error):
                theirs.execute(attempt.encode())
            theirs.execute("RESET row_security")
        leaky = "CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ "
        leaky += "BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        heard: list[str] = []
        theirs.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        theirs.execute(leaky.encode())
        theirs.execute(f"SELECT 1 FROM {name} WHERE pg_temp.leak(content)".encode())
        assert heard
        assert not [text for text in heard if "proj2" in text]

    def test_what_is_granted_can_be_taken_away(
        self, shared: None, cli: Cli, store_url: str, address: Address, tenant: str
    ) -> None:
        url = with_user(tenant, address)
        assert cli.out("grant", tenant, "-n", "proj2", "--url", store_url) == f"{tenant} sees proj2\n"
        with recollect.open(url, namespace="proj2", embedder="hash") as memories:
            assert memories.recall("walrus")
        assert "no longer" in cli.out("grant", tenant, "--revoke", "-n", "proj2", "--url", store_url)
        done = cli.run("grant", tenant, "-n", "porj2", "--url", store_url)
        assert done.stderr == "There is no namespace porj2 yet: was another name meant?\n"
        assert cli.run("grant", tenant, "-n", "porj2", "--url", store_url, "--revoke", "-q").stderr == ""
        with recollect.open(url, namespace="proj2", embedder="hash") as memories:
            assert memories.recall("walrus") == []

    def test_a_role_that_is_not_there_is_named(self, shared: None, cli: Cli, store_url: str) -> None:
        done = cli.run("grant", "nobody-here", "--url", store_url, code=2)
        assert "There is no role 'nobody-here' in " in done.stderr

    def test_without_row_security_nothing_is_granted(self, cli: Cli, store_url: str, tenant: str) -> None:
        done = cli.run("grant", tenant, "--url", store_url, code=3)
        assert "run recollect init --row-security first" in done.stderr
