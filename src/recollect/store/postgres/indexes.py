"""An index for the vectors of each large namespace, so that not all of them must be looked at."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import psycopg
from psycopg import sql

from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import PostgresStatements, quoted
from recollect.types import Progress

LARGE = 20_000
"""From how many vectors on an index pays: below, looking at all of them takes about as long."""
MOST_DIMENSIONS = 4_000
"""An index over half-precision vectors takes no more."""
SEARCHED = 400
"""How many neighbours a search keeps in mind: enough for 98 of the best 100 to be among them or nearly."""
SETTINGS = (
    "citus.propagate_set_commands = 'local'",  # what follows holds on the nodes too; without Citus it is idle
    f"hnsw.ef_search = {SEARCHED}",
    "hnsw.iterative_scan = 'strict_order'",
)
WITHOUT_INDEX = (
    "Each search by meaning looks at all {vectors:,} vectors: "
    "recollect index, run as the owner of the tables, makes an index for them."
)
_PREFIX = "vector_near_"


class Indexed(NamedTuple):
    """The generation of a namespace that has an index, and how long its vectors are."""

    generation: int
    dimensions: int
    fingerprint: str


def pays(vectors: int, dimensions: int) -> bool:
    """Whether an index for so many vectors makes searching them quicker, and can be made."""
    return vectors >= LARGE and dimensions <= MOST_DIMENSIONS


def index(
    connection: psycopg.Connection, address: Address, least: int = LARGE, progress: Progress | None = None
) -> tuple[list[str], list[str]]:
    """Make the indexes that are missing and drop those that are not needed.

    Returns the namespaces that got one, and the names of the indexes that went.

    Nobody waits meanwhile: each is made and dropped beside whoever reads and writes.
    """
    statements = PostgresStatements(connection, address.schema)
    large = [row for row in statements.rows("large_namespaces", least=least) if row[2] <= MOST_DIMENSIONS]
    wanted = {_name(namespace, generation) for namespace, generation, _, _ in large}
    present = _present(connection, address)
    dropped = _drop(connection, address, sorted(present.keys() - wanted))
    still_large = {row[0] for row in large}
    for (namespace,) in statements.rows("indexed_namespaces"):
        if namespace not in still_large:
            statements.count("set_indexed", namespace=namespace, generation=None)
    made = []
    for done, (namespace, generation, dimensions, is_indexed) in enumerate(large, 1):
        if not (is_indexed and present.get(_name(namespace, generation))):
            _make(connection, address, namespace, generation, dimensions)
            statements.count("set_indexed", namespace=namespace, generation=generation)
            made.append(namespace)
        if progress:
            progress("indexing", done, len(large))
    return made, dropped


def _make(
    connection: psycopg.Connection, address: Address, namespace: str, generation: int, dimensions: int
) -> None:
    """The index of one namespace; what an interrupted attempt left is made anew."""
    name = _name(namespace, generation)
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {quoted(address.schema)}.{name}".encode())
    made = sql.SQL(
        f"CREATE INDEX CONCURRENTLY {name} ON {{}}.vector "
        f"USING hnsw ((embedding::halfvec({dimensions})) halfvec_ip_ops) "
        f"WHERE namespace = {{}} AND generation = {generation}"
    )
    connection.execute(made.format(sql.Identifier(address.schema), sql.Literal(namespace)))


def _present(connection: psycopg.Connection, address: Address) -> dict[str, bool]:
    """The indexes of ours that there are, and whether each is whole."""
    found = connection.execute(
        "SELECT c.relname, i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid "
        "WHERE c.relnamespace = %s::regnamespace AND c.relname ~ %s",
        [quoted(address.schema), f"^{_PREFIX}[0-9a-f]{{24}}_[0-9]+$"],
    )
    return dict(found.fetchall())


def _drop(connection: psycopg.Connection, address: Address, others: list[str]) -> list[str]:
    for name in others:
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {quoted(address.schema)}.{name}".encode())
    return others


def _name(namespace: str, generation: int) -> str:
    digest = hashlib.blake2b(namespace.encode(), digest_size=12).hexdigest()
    return f"{_PREFIX}{digest}_{generation}"
