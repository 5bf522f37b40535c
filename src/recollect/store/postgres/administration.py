"""Making a store in PostgreSQL, bringing it up to date, and spreading it over the nodes of Citus."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors

from recollect.errors import NoSuchStore, StoreError, StoreTooNew
from recollect.store import migrate
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import PACKAGE, in_schema, quoted

TABLES = (
    "namespace", "generation", "session", "document", "memory", "vector", "near_key", "session_link",
    "relation",
)  # fmt: skip
"""Every table that is distributed; what others refer to comes first."""
_LOCK = 0x52436C74  # "RClt": whoever makes or migrates a store in this database holds it


def version(connection: psycopg.Connection, address: Address) -> int:
    """The schema version of the store; 0 when there is none yet."""
    # to_regclass would do, but for a server process that remembers for a moment that there was no such table
    asked = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'version'"
    found = _value(connection, asked, address.schema)
    if found is None:
        return 0
    return int(_value(connection, f"SELECT max(version) FROM {quoted(address.schema)}.version") or 0)


def make(connection: psycopg.Connection, address: Address, *, create: bool) -> None:
    """Every migration that is missing, in one transaction; whoever comes second finds nothing to do."""
    present, newest = version(connection, address), migrate.latest(PACKAGE)
    if present > newest:
        raise StoreTooNew(
            f"{address} was written by a newer Recollect (schema {present}, this one knows {newest}): "
            "upgrade with pip install --upgrade recollect."
        )
    if present == newest:
        return
    if not create and present:
        raise StoreError(f"{address} is of an older version: run recollect init to bring it up to date.")
    if not create:
        raise NoSuchStore(f"There is no store in {address} yet: run recollect init, or remember something.")
    _refuse_unfit(connection, address)
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        present = version(connection, address)
        if present == 0:
            _make_extension(connection, address)
            if _value(connection, "SELECT to_regnamespace(%s)", quoted(address.schema)) is None:
                connection.execute(f"CREATE SCHEMA {quoted(address.schema)}".encode())
        for number, text in migrate.steps(PACKAGE):
            if number > present:
                connection.execute(in_schema(text, address.schema).encode())
                table = f"{quoted(address.schema)}.version"
                connection.execute(f"INSERT INTO {table} (version) VALUES ({number})".encode())


def _refuse_unfit(connection: psycopg.Connection, address: Address) -> None:
    if connection.info.server_version < 150000:
        raise StoreError(
            f"{address} runs PostgreSQL {connection.info.server_version // 10000}: "
            "Recollect needs 15 or later."
        )
    encoding = _value(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{address} keeps texts as {encoding}: "
            "make a database with createdb --encoding UTF8 -T template0."
        )


def _make_extension(connection: psycopg.Connection, address: Address) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(
            f"The server of {address} does not have pgvector: install it there (such as the package "
            "postgresql-17-pgvector), or choose a service that has it."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"This user may not install pgvector in {address}: "
            "have a superuser run CREATE EXTENSION vector there once."
        ) from error
    old = _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if tuple(int(part) for part in str(old).split(".")[:2]) < (0, 8):
        raise StoreError(
            f"{address} has pgvector {old}: Recollect needs 0.8 or later; "
            "run ALTER EXTENSION vector UPDATE there."
        )


def distribute(connection: psycopg.Connection, address: Address) -> list[str]:
    """Distribute every table by its namespace over the nodes of a Citus cluster; those that were not yet."""
    if _value(connection, "SELECT 1 FROM pg_extension WHERE extname = 'citus'") is None:
        raise StoreError(
            f"{address} has no Citus: run CREATE EXTENSION citus there and add the nodes, "
            "or leave out --distribute."
        )
    schema, first = quoted(address.schema), f"{quoted(address.schema)}.{TABLES[0]}"
    connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        known = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = %s::regclass"
        missing = [table for table in TABLES if _value(connection, known, f"{schema}.{table}") is None]
        had_rows = _value(connection, f"SELECT 1 FROM {first} LIMIT 1") is not None
        for table in missing:
            beside = "default" if table == TABLES[0] else first
            connection.execute(
                "SELECT create_distributed_table(%s, 'namespace', colocate_with => %s)",
                [f"{schema}.{table}", beside],
            )
        for table in reversed(TABLES) if had_rows else ():  # an interrupted attempt may have left them
            connection.execute(
                "SELECT truncate_local_data_after_distributing_table(%s)", [f"{schema}.{table}"]
            )
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    return missing


def size(connection: psycopg.Connection, address: Address) -> int:
    """How many bytes the tables and indexes of the store take, on all nodes."""
    names = [f"{quoted(address.schema)}.{table}" for table in TABLES]
    of_table = "pg_total_relation_size"
    if _value(connection, "SELECT to_regclass('pg_dist_partition')") is not None:
        known = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = %s::regclass"
        of_table = "citus_total_relation_size" if _value(connection, known, names[0]) else of_table
    total = f"SELECT sum({of_table}(name::regclass)) FROM unnest(%s::text[]) name"
    return int(_value(connection, total, names))


def _value(connection: psycopg.Connection, text: str, *parameters: Any) -> Any:
    row = connection.execute(text.encode(), parameters or None).fetchone()
    return row[0] if row else None
