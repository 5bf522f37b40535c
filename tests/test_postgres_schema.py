"""The tables in PostgreSQL: how they came about, that every key begins with the namespace, who makes them."""

from __future__ import annotations

import multiprocessing
import os
import re
import secrets
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
import pytest

import recollect
from recollect import Memories, StoreError, StoreTooNew
from recollect.store import migrate
from recollect.store.postgres import administration
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import PACKAGE, in_schema, prepared, quoted
from recollect.store.statements import purposes, queries

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
POSTGRES = Path(recollect.__file__).parent / "store" / "postgres"
PROCESSES = 8
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def new_url(connection: psycopg.Connection, postgres_url: str) -> Iterator[Callable[[], str]]:
    """Gives URLs of schemas that are not there yet, and drops what was made of them."""
    with ExitStack() as stack:

        def url() -> str:
            schema = f"new {secrets.token_hex(4)}"
            drop = f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE".encode()
            stack.callback(connection.execute, drop)
            return f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema={schema.replace(' ', '%20')}"

        yield url


@pytest.fixture
def tables(connection: psycopg.Connection, new_url: Callable[[], str]) -> Callable[[list[str]], Address]:
    """Runs pieces of SQL in a schema of their own, as opening a store would."""

    def make(texts: list[str]) -> Address:
        address = Address.parse(new_url())
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE SCHEMA {quoted(address.schema)}".encode())
        for text in texts:
            connection.execute(in_schema(text, address.schema).encode())
        return address

    return make


@pytest.fixture
def address(tables: Callable[[list[str]], Address]) -> Address:
    """The tables as schema.sql has them."""
    return tables([(POSTGRES / "schema.sql").read_text()])


# how they came about

CATALOGUE = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
          a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid), l.collname, a.attstorage::text
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'v', 'm')
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relnamespace = %(schema)s::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    "tables": """
        SELECT relname, relkind::text, relpersistence::text, relrowsecurity, reloptions::text FROM pg_class
        WHERE relnamespace = %(schema)s::regnamespace AND relkind <> 'i'""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid), condeferrable
        FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace""",
    "indexes": """
        SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = %(name)s""",
    "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace",
}


def catalogue(connection: psycopg.Connection, address: Address) -> dict[str, list[str]]:
    """All that PostgreSQL knows of a schema, as if its name were `recollect`."""
    name = quoted(address.schema)
    given = {"schema": name, "name": address.schema}
    return {
        kind: sorted(str(row).replace(name, "recollect") for row in connection.execute(query.encode(), given))
        for kind, query in CATALOGUE.items()
    }


def test_migrations_and_schema_end_in_the_same_place(
    connection: psycopg.Connection, tables: Callable[[list[str]], Address], address: Address
) -> None:
    stepwise = tables([text for _, text in migrate.steps(PACKAGE)])
    found = catalogue(connection, address)
    assert found["columns"]
    assert found["constraints"]
    assert found == catalogue(connection, stepwise)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE recollect.memory ALTER COLUMN tags DROP DEFAULT",
        "ALTER TABLE recollect.memory ALTER COLUMN importance TYPE real",
        "ALTER TABLE recollect.memory ALTER COLUMN tier DROP NOT NULL",
        "DROP INDEX recollect.memory_by_time",
        "ALTER TABLE recollect.vector RESET (toast_tuple_target)",
        "ALTER TABLE recollect.relation DROP CONSTRAINT relation_pkey",
    ],
)
def test_any_difference_would_be_seen(
    connection: psycopg.Connection,
    tables: Callable[[list[str]], Address],
    address: Address,
    change: str,
) -> None:
    other = tables([text for _, text in migrate.steps(PACKAGE)])
    connection.execute(in_schema(change, other.schema).encode())
    assert catalogue(connection, address) != catalogue(connection, other)


# every key begins with the namespace


def test_every_table_is_known_and_has_a_namespace(connection: psycopg.Connection, address: Address) -> None:
    found = connection.execute(
        "SELECT table_name, bool_or(column_name = 'namespace' AND is_nullable = 'NO' AND data_type = 'text') "
        "FROM information_schema.columns WHERE table_schema = %s GROUP BY table_name",
        [address.schema],
    )
    assert dict(found.fetchall()) == dict.fromkeys(administration.TABLES, True) | {"version": False}


def test_every_index_begins_with_the_namespace(connection: psycopg.Connection, address: Address) -> None:
    """And with that every primary key and unique constraint, for each is an index."""
    found = connection.execute(
        "SELECT c.relname, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, 1, false) "
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = %s::regnamespace",
        [quoted(address.schema)],
    ).fetchall()
    firsts = {name.rpartition(".")[2]: first for table, name, first in found if table != "version"}
    assert len(firsts) > 20
    assert firsts.pop("memory_by_words") == "words"
    assert set(firsts.values()) == {"namespace"}


def test_every_foreign_key_stays_in_its_namespace(connection: psycopg.Connection, address: Address) -> None:
    found = connection.execute(
        "SELECT c.conname, a.attname, b.attname FROM pg_constraint c "
        "JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] "
        "JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1] "
        "WHERE c.contype = 'f' AND c.connamespace = %s::regnamespace",
        [quoted(address.schema)],
    ).fetchall()
    assert len(found) > 10
    assert {(own, other) for _, own, other in found} == {("namespace", "namespace")}


def test_words_hold_the_namespace_as_a_lexeme(connection: psycopg.Connection, postgres_store: str) -> None:
    namespace = f"it's \\ {secrets.token_hex(4)}"
    with recollect.open(postgres_store, namespace=namespace, embedder="none") as memories:
        memories.remember("The walrus sleeps")
        memories.remember("…")
    schema = quoted(Address.parse(postgres_store).schema)
    found = connection.execute(
        f"SELECT tsvector_to_array(words) FROM {schema}.memory WHERE namespace = %s ORDER BY number".encode(),
        [namespace],
    ).fetchall()
    assert [f" {namespace}" in lexemes for (lexemes,) in found] == [True, True], "one without terms too"
    assert len(found[0][0]) == 4


def test_there_are_no_triggers_and_no_sequences(connection: psycopg.Connection, address: Address) -> None:
    schema = [quoted(address.schema)]
    triggers = connection.execute(
        "SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "WHERE NOT t.tgisinternal AND c.relnamespace = %s::regnamespace",
        schema,
    ).fetchone()
    others = connection.execute(
        "SELECT count(*) FROM pg_class WHERE relkind NOT IN ('r', 'i') AND relnamespace = %s::regnamespace",
        schema,
    ).fetchone()
    assert (triggers, others) == ((0,), (0,))


# every statement asks for one namespace

NAMESPACE = "the one that is asked for"
SAMPLES: dict[str, Any] = {
    "namespace": NAMESPACE, "now": NOW, "at": NOW, "as_of": NOW, "since": NOW, "until": NOW,
    "created_at": NOW, "updated_at": NOW, "salience_at": NOW, "accessed_at": NOW, "started_at": NOW,
    "ended_at": NOW, "valid_from": NOW, "valid_until": NOW, "superseded_at": NOW, "expires_at": NOW,
    "deleted_at": NOW, "kinds": ["memory"], "sectors": ["semantic"], "tiers": ["project"],
    "languages": ["en"], "speakers": ["Ana"], "sessions": ["s"], "documents": ["d"], "tags": ["x"],
    "files": ["f"], "headings": ["h"], "ids": ["a", "b"], "numbers": [1, 2], "keys": [1, 2],
    "hashes": [b"h"], "min_salience": 0.5, "importance": 0.5, "salience": 0.5, "amount": 0.1, "limit": 10,
    "older_than": NOW, "older_than_id": "a", "reach": 12, "few": 9, "most": 20, "least": 10, "uses": 1,
    "number": 1, "memory": 1, "session": 1, "document": 1, "searched": 1, "next": None,
    "tuned": "{}", "before": "{}", "generation": 1, "indexed": 1, "entries": 1,
    "words": ["'walrus'", "'seal':*"], "here": f"' {NAMESPACE}'",
    "phrases": "'lost' <-> 'update'", "vector": np.ones(3, np.float32), "embedding": np.ones(3, np.float32),
    "fingerprint": "toy-1", "model": "toy", "dimensions": 3, "pattern": "%x%", "name": "d", "id": "a",
    "type": "x", "origin": "user", "usage": "recalled", "key": 1, "source": 1, "target": 2, "position": 0,
    "length": 1, "terms": "'walrus':1", "content": "Walrus", "hash": b"h", "kind": "memory",
    "sector": "semantic", "tier": "project", "language": "en", "speaker": "Ana", "access_count": 0,
    "token_count": 1,
    "trust": "normal", "metadata": "{}", "summary": "s", "superseded_by": "b", "title": "Guide",
    "agent": "cli", "extracted": True, "expired": True, "replaced": 1, "after": 0, "new": "b", "old": "a",
}  # fmt: skip
OTHERWISE: dict[str, dict[str, Any]] = {
    "add_memory": {"source": "diary", "generation": 1},
    "change": {"source": "diary"},
    "merge": {"source": "diary"},
    "learn_languages": {"languages": "de en"},
    "settle": {"words": 1},
}
"""Where a name stands for something else."""

FRAGMENTS = set(re.findall(r"\{(\w+)\}", (POSTGRES / "queries.sql").read_text()))
STATEMENTS = [name for name in queries(PACKAGE) if name not in FRAGMENTS and not name.startswith("filter_")]
FILTERS = frozenset(name.removeprefix("filter_") for name in queries(PACKAGE) if name.startswith("filter_"))
OF_A_NAMESPACE = [name for name in STATEMENTS if "(administration)" not in purposes(PACKAGE)[name]]


def complete(name: str) -> str:
    """A statement with every filter, as it is written."""
    return queries(PACKAGE)[name].replace(
        "{filters}", " ".join(queries(PACKAGE)[f"filter_{each}"] for each in sorted(FILTERS))
    )


def plan(connection: psycopg.Connection, address: Address, name: str) -> dict[str, Any]:
    text = prepared(address.schema, name, FILTERS, 3).as_string(connection)
    return explained(connection, text, SAMPLES | OTHERWISE.get(name, {}))


def explained(connection: psycopg.Connection, text: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """How PostgreSQL would run it."""
    wanted = {name: parameters[name] for name in re.findall(r"%\((\w+)\)s", text)}
    bound = {
        name: str(value.tolist()) if hasattr(value, "dtype") else value for name, value in wanted.items()
    }
    cursor = connection.execute(f"EXPLAIN (FORMAT JSON, VERBOSE) {text}".encode(), bound)
    row: Any = cursor.fetchone()
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from nodes(below)


def unrestricted(found: dict[str, Any], schema: str) -> list[str]:
    """The tables of ours that are read without saying which namespace is meant."""
    return [
        f"{node['Node Type']} on {node['Relation Name']} {node.get('Alias')}"
        for node in nodes(found)
        if node.get("Schema") == schema and node["Node Type"] != "ModifyTable"
        if not any(
            f"namespace = '{NAMESPACE}'::text" in str(node.get(condition))
            for condition in ("Index Cond", "Recheck Cond", "Filter")
        )
    ]


def test_there_are_statements_to_look_at() -> None:
    assert len(OF_A_NAMESPACE) > 80
    assert set(STATEMENTS) - set(OF_A_NAMESPACE) == {
        "namespace_names", "large_namespaces", "indexed_namespaces", "identity"
    }  # fmt: skip


@pytest.fixture(scope="module")
def planned(postgres_url: str) -> Iterator[tuple[psycopg.Connection, Address]]:
    """A store that is not distributed, so that plans show the tables themselves."""
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}schema=planned_{os.getpid()}"
    recollect.open(url).close()
    address = Address.parse(url)
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        yield connection, address
        connection.execute(f"DROP SCHEMA planned_{os.getpid()} CASCADE".encode())


@pytest.mark.parametrize("name", OF_A_NAMESPACE)
def test_no_statement_reads_rows_of_another_namespace(
    planned: tuple[psycopg.Connection, Address], name: str
) -> None:
    connection, address = planned
    assert unrestricted(plan(connection, address, name), address.schema) == []


@pytest.mark.parametrize("name", OF_A_NAMESPACE)
def test_every_table_of_a_statement_is_compared_with_the_namespace(name: str) -> None:
    assert unnamed(complete(name)) == []


TABLE = re.compile(
    r"\b(FROM|JOIN|UPDATE|INTO) recollect\.(\w+)(?: (?:AS )?(?!(?i:where|set|on|order|left)\b)(\w+))?"
)


def unnamed(text: str) -> list[str]:
    """The tables of a statement that the namespace is not asked of, by the word."""
    missing = []
    places = [(verb, table, alias or "") for verb, table, alias in TABLE.findall(text)]
    for verb, table, alias in places:
        if verb == "INTO":
            columns = re.search(rf"INTO recollect\.{table}[^(]*\(([^)]*)\)", text)
            given = ":namespace" in text.partition("VALUES")[2] or "SELECT m.namespace" in text
            named = columns is not None and "namespace" in columns[1] and given
        else:
            column = rf"\b{alias}\.namespace" if alias else r"(?<![\w.])namespace"
            asked = len(re.findall(rf"{column} = :namespace", text))
            named = asked >= sum(1 for each in places if each[0] != "INTO" and each[2] == alias)
        missing += [] if named else [f"{table} {alias}".strip()]
    return missing


BAD = {
    "SELECT m.id FROM recollect.memory m WHERE m.id = :id": ["memory m"],
    "SELECT m.id FROM recollect.memory m JOIN recollect.session s ON s.number = m.session "
    "WHERE m.namespace = :namespace": ["session s"],
    "UPDATE recollect.memory SET summary = NULL WHERE number = :number": ["memory"],
    "DELETE FROM recollect.vector WHERE memory = :memory": ["vector"],
    "SELECT id FROM recollect.memory WHERE namespace = :namespace UNION SELECT id FROM recollect.session": [
        "memory",
        "session",
    ],
}


@pytest.mark.parametrize("text", BAD)
def test_a_statement_that_forgets_the_namespace_would_be_seen(
    planned: tuple[psycopg.Connection, Address], text: str
) -> None:
    connection, address = planned
    assert unnamed(text) == BAD[text]
    sent = re.sub(r":(\w+)", r"%(\1)s", in_schema(text, address.schema))
    assert len(unrestricted(explained(connection, sent, SAMPLES), address.schema)) == 1


def test_every_statement_is_used() -> None:
    source = "".join(path.read_text() for path in POSTGRES.parent.rglob("*.py"))
    composed = ("dump_", "check_", "mend_")
    for name in STATEMENTS:
        assert f'"{name}"' in source or name.startswith(composed), name


# making a store


def opened(url: str, **options: Any) -> Memories:
    return recollect.open(url, namespace="made", embedder="hash", clock=lambda: NOW, **options)


@pytest.fixture
def new_databases(connection: psycopg.Connection, postgres_url: str) -> Iterator[list[str]]:
    """Two databases without anything, not even pgvector."""
    names = [f"empty_{secrets.token_hex(4)}" for _ in range(2)]
    for name in names:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())
    yield [urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}")) for name in names]
    for name in names:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def make(urls: list[str], number: int, gate: Any, results: Any) -> None:
    try:
        for url in urls:
            gate.wait(60)
            with opened(url) as memories:
                memories.remember(f"Made by {number}", id=f"made by {number}")
        results.put(None)
    except BaseException:  # noqa: BLE001  whatever it is, the test must see it
        gate.abort()
        results.put(traceback.format_exc())


def test_eight_processes_make_the_same_new_store_at_once(new_databases: list[str]) -> None:
    results, gate = SPAWN.Queue(), SPAWN.Barrier(PROCESSES)
    processes = [
        SPAWN.Process(target=make, args=(new_databases, number, gate, results)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    reports = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    assert [report for report in reports if report] == []
    for url in new_databases:
        with opened(url, create=False) as memories:
            assert len(memories.get([f"made by {number}" for number in range(PROCESSES)])) == PROCESSES
            assert memories.doctor() == []


def test_opening_again_is_safe(new_url: Callable[[], str]) -> None:
    url = new_url()
    with opened(url) as memories:
        memories.remember("Kept", id="a")
        before = list(memories.export_records(vectors=True))
    for create in (True, False):
        with opened(url, create=create) as memories:
            assert list(memories.export_records(vectors=True)) == before


def test_a_store_beside_other_tables_in_a_schema_that_is_there(
    connection: psycopg.Connection, new_url: Callable[[], str]
) -> None:
    url = new_url()
    schema = quoted(Address.parse(url).schema)
    connection.execute(f"CREATE SCHEMA {schema}".encode())
    connection.execute(f"CREATE TABLE {schema}.something_else (id int)".encode())
    with opened(url) as memories:
        assert memories.remember("Kept").embedded


def test_a_store_of_a_newer_version_is_refused(
    connection: psycopg.Connection, new_url: Callable[[], str]
) -> None:
    url = new_url()
    opened(url).close()
    newer = migrate.latest(PACKAGE) + 1
    table = f"{quoted(Address.parse(url).schema)}.version"
    connection.execute(f"INSERT INTO {table} VALUES ({newer})".encode())
    with pytest.raises(StoreTooNew, match=rf"schema {newer}, this one knows {newer - 1}.*upgrade"):
        opened(url)


def test_an_empty_database_is_no_store_and_stays_empty(
    connection: psycopg.Connection, new_url: Callable[[], str]
) -> None:
    url = new_url()
    with pytest.raises(StoreError, match=r"There is no store in postgresql://.* yet: run recollect init"):
        opened(url, create=False)
    found = connection.execute("SELECT to_regnamespace(%s)", [quoted(Address.parse(url).schema)]).fetchone()
    assert found == (None,)


def test_an_unfinished_making_leaves_nothing(
    connection: psycopg.Connection, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    steps = [*migrate.steps(PACKAGE), (migrate.latest(PACKAGE) + 1, "CREATE TABLE recollect.memory ()")]
    monkeypatch.setattr(migrate, "steps", lambda _: iter(steps))
    with pytest.raises(StoreError):
        opened(url)
    monkeypatch.undo()
    assert administration.version(connection, Address.parse(url)) == 0
    with opened(url) as memories:
        assert memories.doctor() == []
