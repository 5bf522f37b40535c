"""Commands for a store on a database server: init, index, grant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from recollect.doors.cli.door import Door, command
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from psycopg import Connection

    from recollect.store.postgres.address import Address

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def _url(decorated: Decorated) -> Decorated:
    return click.option("--url", metavar="URL", help="The store; the same as --store.")(decorated)


def _on_a_server(where: str) -> str:
    """The URL itself; a file is refused, before it is made."""
    from recollect.opening import is_postgres

    if not is_postgres(where):
        raise ConfigError(
            f"{where} is a file, which needs none of this: name a server with --url postgresql://…"
        )
    return where


@contextmanager
def _server(door: Door, url: str | None) -> Iterator[tuple[Connection, Address]]:
    """A connection to the PostgreSQL server that the settings name, and the address of the store there."""
    from recollect import config
    from recollect.opening import store_at

    where = _on_a_server(config.load(url=url or door.store).url)
    store_at(where, create=False).close()
    from recollect.store.postgres.address import Address
    from recollect.store.postgres.connections import Connections
    from recollect.store.postgres.failures import translated

    address = Address.parse(where)
    with translated(address), Connections(address).connect() as connection:
        yield connection, address


@command()
@_url
@click.option("--distribute", is_flag=True, help="Spread the tables over the nodes of a Citus cluster.")
@click.option("--row-security", is_flag=True, help="Let a role see only what recollect grant gave it.")
def init(door: Door, url: str | None, distribute: bool, row_security: bool) -> None:
    """Make a store, or bring it up to date; safe to run again.

    A file needs no init. On PostgreSQL it makes the extension, the tables and the indexes, for which it may
    need more rights than those who use the store afterwards.

    \b
    Example:
      recollect init --url postgresql://owner@db.example/memories
      recollect init --url postgresql://owner@db.example/memories --distribute
    """
    from recollect import config
    from recollect.opening import store_at

    where = config.load(url=url or door.store).url
    if distribute or row_security:
        _on_a_server(where)
    store_at(where, make_folder=True).close()
    shown = config.without_password(where)
    lines, distributed = [f"{shown} is ready"], []
    if distribute or row_security:
        with _server(door, url) as (connection, address):
            from recollect.store.postgres import administration, tenants

            if distribute:
                distributed = administration.distribute(connection, address)
                lines.append(f"tables distributed now: {', '.join(distributed) or 'none, all were'}")
            if row_security:
                tenants.secure(connection, address)
                lines.append("row-level security is on: but for the owner, a role sees what it is granted")
    door.answer(
        {"store": shown, "distributed": distributed, "row_security": row_security},
        () if door.quiet else lines,
    )


@command()
@_url
@click.option(
    "--least",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="From how many vectors on a namespace gets an index (20,000).",
)
def index(door: Door, url: str | None, least: int | None) -> None:
    """Make an index for the vectors of each large namespace, and drop what is not needed any more.

    Nobody waits meanwhile. Run it now and then, as from cron, on a PostgreSQL store that grows; without it
    every recall is right all the same, and looks at every vector of its namespace.

    \b
    Example:
      recollect index --url postgresql://owner@db.example/memories
    """
    with _server(door, url) as (connection, address), door.progress() as progress:
        from recollect.store.postgres import indexes

        made, dropped = indexes.index(connection, address, least or indexes.LARGE, progress)
    said = [f"made for {name}" for name in made] + [f"dropped {name}" for name in dropped]
    door.answer({"made": made, "dropped": dropped}, () if door.quiet else said or "no index is missing")


@command()
@_url
@click.argument("role", metavar="ROLE")
@click.option("--revoke", is_flag=True, help="Take it away again.")
def grant(door: Door, url: str | None, role: str, revoke: bool) -> None:
    """Let a role of the PostgreSQL server read and write the namespace, and none that it was not granted.

    Needs row-level security: recollect init --row-security.

    \b
    Example:
      recollect grant ana --namespace team-a --url postgresql://owner@db.example/memories
    """
    from recollect import checks, config

    namespace = checks.name(config.load(namespace=door.namespace).namespace, what="The namespace")
    with _server(door, url) as (connection, address):
        from recollect.store.postgres import tenants

        (tenants.revoke if revoke else tenants.grant)(connection, address, role, namespace)
        is_there = tenants.is_there(connection, address, namespace)
    verb = "no longer sees" if revoke else "sees"
    door.answer({"role": role, "namespace": namespace, "granted": not revoke}, f"{role} {verb} {namespace}")
    if not is_there:
        door.note(f"There is no namespace {namespace} yet: was another name meant?")
