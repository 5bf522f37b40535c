"""The command that moves a store: migrate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import completing, render
from recollect.doors.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.migrating import Migrated, Moved
    from recollect.store.base import Store


@command()
@click.argument("source", metavar="SOURCE", shell_complete=completing.files)
@click.argument("target", metavar="TARGET", shell_complete=completing.files)
@click.option(
    "-n", "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only this one; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be copied.")
def migrate(door: Door, source: str, target: str, namespaces: tuple[str, ...], dry_run: bool) -> None:
    """Copy everything from one store to another, and verify that both hold the same.

    SOURCE and TARGET are files or postgresql:// URLs; the target is made if it is not there. All
    namespaces come along, with ids, times, links, vectors and generations. Interrupted, run it again:
    it goes on where it stopped. A target that holds anything else there is refused, and left as it is.

    \b
    Example:
      recollect migrate memory.db postgresql://ana@db.example.org/memory
      recollect migrate postgresql://ana@db.example.org/memory memory.db -n billing --dry-run
    """
    if door.store:
        raise click.UsageError("migrate takes a SOURCE and a TARGET, not --store.")
    if ":memory:" in (source, target):
        raise click.UsageError("A store in memory is gone when this ends: name a file or a URL.")
    wanted = list(namespaces) or ([door.namespace] if door.namespace else None)
    try:
        done = _migrate(door, source, target, wanted, dry_run=dry_run)
    except KeyboardInterrupt:
        door.note("Interrupted: what was copied is kept, and running it again goes on from there.")
        raise
    door.answer(_plain(done, dry_run=dry_run), () if door.quiet else _lines(done))


def _migrate(
    door: Door, source: str, target: str, wanted: Sequence[str] | None, *, dry_run: bool
) -> Migrated:
    from recollect import migrating
    from recollect.opening import store_at

    with closing(store_at(source, create=False)) as ours:
        migrating.chosen(ours, wanted)  # before a target is made
        with _target(target, create=not dry_run) as theirs, door.progress() as progress:
            if dry_run or theirs is None:
                planned = migrating.plan(ours, theirs, namespaces=wanted, progress=progress)
                return migrating.Migrated(planned, verified=False)
            return migrating.migrate(ours, theirs, namespaces=wanted, progress=progress)


@contextmanager
def _target(url: str, *, create: bool) -> Iterator[Store | None]:
    """The target; None if it is not there and is not to be made."""
    from recollect.errors import NoSuchStore
    from recollect.opening import store_at

    try:
        store = store_at(url, create=create)
    except NoSuchStore:
        if create:
            raise
        yield None
        return
    with closing(store):
        yield store


def _plain(done: Migrated, *, dry_run: bool) -> dict[str, Any]:
    """What was written is called so, and what would be is not."""
    from recollect.doors.plain import plain

    told: dict[str, Any] = plain(done)
    if dry_run:
        for moved in told["namespaces"]:
            moved["to_write"] = moved.pop("written")
    return told


def _lines(done: Migrated) -> Iterator[str]:
    if done.namespaces:
        types = list(done.namespaces[0].counts)
        headers = ("namespace", *types, "copied" if done.verified else "to copy")
        yield from render.table(headers, map(_row, done.namespaces), right=range(1, len(headers)))
    else:
        yield "the source is empty"
    if done.verified and done.namespaces:
        yield "verified: both stores hold the same, record by record"


def _row(moved: Moved) -> tuple[str, ...]:
    return (moved.namespace, *(f"{number:,}" for number in (*moved.counts.values(), moved.written)))
