"""Sessions: list, start, end, summarise, show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from recollect.doors.cli import completing, options, render
from recollect.doors.cli.door import Door, command, group
from recollect.types import Session


@group
@options.SINCE
@options.UNTIL
@options.limit(100)
def sessions(door: Door, **given: Any) -> None:
    """List sessions, newest first; or start, end, summarise or show one.

    \b
    Example:
      recollect sessions --since 2026-03-01
      recollect sessions start refactoring --agent claude
    """
    with door.open() as memories:
        found = memories.sessions(**options.chosen(given))
    door.answer(found, _table(found) if found else ())
    if not found:
        door.nothing("There are no sessions.")


def _table(found: list[Session]) -> Iterator[str]:
    headers = ("id", "started", "ended", "memories", "agent", "summary")
    rows = (
        (
            each.id,
            render.when(each.started_at),
            render.when(each.ended_at),
            f"{each.memories:,}",
            each.agent or "",
            render.one_line(each.summary or "", 100),
        )
        for each in found
    )
    return render.table(headers, rows, right=(3,))


def _answer(door: Door, session: Session) -> None:
    door.answer(session, render.safe(session.id) if door.quiet else render.headline(session))


@command(sessions)
@click.argument("id", metavar="[ID]", required=False, shell_complete=completing.sessions)
@click.option("--agent", metavar="NAME", help="Who works in it.")
@click.option("--at", "started_at", metavar="WHEN", help="When it began, if not now (UTC).")
def start(door: Door, id: str | None, **given: Any) -> None:
    """Start a session, or go on with one; without ID it gets one.

    \b
    Example:
      recollect sessions start refactoring --agent claude
    """
    with door.open(create=True) as memories:
        _answer(door, memories.start_session(id, **options.chosen(given)))


@command(sessions)
@click.argument("id", metavar="ID", shell_complete=completing.sessions)
@click.option("--summary", metavar="TEXT", help="What came of it (- for standard input).")
@click.option("--at", "ended_at", metavar="WHEN", help="When it ended, if not now (UTC).")
def end(door: Door, id: str, summary: str | None, ended_at: str | None) -> None:
    """End a session.

    \b
    Example:
      recollect sessions end refactoring --summary "Moved the parser into its own module"
    """
    with door.open() as memories:
        text = None if summary is None else options.read_text(summary)
        memories.session(id)
        _answer(door, memories.end_session(id, summary=text, ended_at=ended_at))


@command(sessions)
@click.argument("id", metavar="ID", shell_complete=completing.sessions)
@click.argument("summary", metavar="[SUMMARY]", required=False)
def summarise(door: Door, id: str, summary: str | None) -> None:
    """Keep a summary of a session; without one, its most important memories are put together.

    \b
    Example:
      recollect sessions summarise refactoring
    """
    with door.open() as memories:
        text = None if summary is None else options.read_text(summary)
        _answer(door, memories.summarise_session(id, text))


@command(sessions)
@click.argument("id", metavar="ID", shell_complete=completing.sessions)
@options.limit(100)
def show(door: Door, id: str, limit: int | None) -> None:
    """Show a session and what was remembered in it.

    \b
    Example:
      recollect sessions show refactoring
    """
    from recollect.doors.plain import plain

    with door.open() as memories:
        session = memories.session(id)
        previews = memories.timeline(session=id, **options.chosen({"limit": limit}))
    door.answer(
        plain(session) | {"timeline": plain(previews)},
        (render.headline(session), *render.previews(previews)),
    )
