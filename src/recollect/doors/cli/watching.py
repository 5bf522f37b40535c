"""The command that follows folders: watch."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from recollect.doors.cli import options, render
from recollect.doors.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.watching import Event, Watch

_TROUBLES = ("skipped", "waiting", "gone")


@command()
@click.argument(
    "paths",
    metavar="DIR...",
    nargs=-1,
    required=True,
    type=options.file_type(exists=True, file_okay=False),
)
@click.option(
    "--once", is_flag=True, help="Bring everything up to date and end; with 2 if a file was skipped."
)
@click.option("--prune", is_flag=True, help="First forget documents named like files of DIR that are gone.")
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look so often, where the system does not tell of changes, as on a network drive.",
)
@click.option("--meta", "metadata", multiple=True, metavar="KEY=VALUE", help="Kept with each document.")
def watch(
    door: Door,
    paths: tuple[Path, ...],
    once: bool,
    prune: bool,
    poll: float | None,
    metadata: tuple[str, ...],
) -> None:
    """Take in the documents of folders, and again whenever they change.

    Takes the same files under the same names as recollect ingest: .md, .markdown, .rst and .txt, none that
    is hidden. A file that is removed, renamed or emptied while it is watched is forgotten, for good. What
    was removed before is only told of: --prune forgets it. While a whole folder is gone, as with a disk
    that was taken out, nothing of it is forgotten.

    Several may watch and write at once. Ctrl-C or SIGTERM end it after the file in hand, with exit code 0.
    With --json every event is one line. Needs watchfiles (pip install 'recollect[watch]') or --poll.

    \b
    Example:
      recollect watch notes/ docs/
      recollect watch --once --prune notes/
      recollect watch --poll 5 /mnt/share/notes --json >> events.jsonl
    """
    from recollect.following import require
    from recollect.watching import Watch

    if not once and poll is None:
        require()
    with door.open(create=True) as memories, _stopping() as stop:
        watched = Watch(memories, paths, options.pairs(metadata))
        counts = _tell(door, watched.look(), stop)
        _account(door, watched, stop, prune=prune)
        if once:
            _end_once(door, counts)
        else:
            _follow(door, watched, paths, poll, stop, counts)


def _follow(
    door: Door,
    watched: Watch,
    paths: tuple[Path, ...],
    poll: float | None,
    stop: threading.Event,
    counts: Counter[str],
) -> None:
    from recollect.following import moments
    from recollect.watching import Event

    if door.is_for_programs:
        for path in paths:
            door.answer(Event("watching", str(path)), (), one_of_many=True)
    taken = sum(counts[what] for what in ("added", "replaced", "unchanged"))
    door.note(
        f"Watching {', '.join(map(str, paths))}: {render.count(taken, 'document')} ({_summed(counts)})."
    )
    for has_changed in moments(paths, stop, poll):
        if has_changed or watched.is_unsettled:
            _tell(door, watched.look(), stop)
    door.note("Stopped.")


def _tell(door: Door, events: Iterable[Event], stop: threading.Event) -> Counter[str]:
    """Each event as it happens, troubles on stderr; what is unchanged is only counted."""
    counts: Counter[str] = Counter()
    for event in events:
        counts[event.event] += 1
        if door.is_for_programs:
            door.answer(event, (), one_of_many=True)
        elif event.event in _TROUBLES:
            click.echo(_line(event), err=True)
        elif event.event != "unchanged" and not door.quiet:
            render.write(_line(event))
        if stop.is_set():
            break
    return counts


def _line(event: Event) -> str:
    name, reason = render.one_line(event.name), render.one_line(event.reason)
    if reason:
        return f"{name}  {event.event}: {reason.removeprefix(name).strip()}"
    passages = f", {render.count(event.passages, 'passage')}" if event.passages else ""
    return f"{name}  {event.event}{passages}"


def _account(door: Door, watched: Watch, stop: threading.Event, *, prune: bool) -> None:
    """Say, or see to it, that documents have no file any more."""
    names = watched.unaccounted()
    if prune:
        for name in names:
            _tell(door, watched.forget(name), stop)
    elif names:
        some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        door.note(f"{render.count(len(names), 'document')} without a file ({some}): --prune forgets such.")


def _end_once(door: Door, counts: Counter[str]) -> None:
    door.note(f"{_summed(counts)}.")
    if counts["waiting"]:
        raise click.exceptions.Exit(3)
    if counts["skipped"]:
        raise click.exceptions.Exit(2)


def _summed(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts.items()) or "none"


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Set by Ctrl-C and by SIGTERM; whoever presses Ctrl-C again does not want to wait."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
