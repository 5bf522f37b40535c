"""Commands that look after the store: stats, doctor, reembed, namespaces, config, demo, completion."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command, group

if TYPE_CHECKING:
    from recollect.types import Stats, Tuned


@command()
def stats(door: Door) -> None:
    """Show the namespace in numbers.

    \b
    Example:
      recollect stats
      recollect -n proj1 stats --json
    """
    with door.open() as memories:
        found = memories.stats()
    door.answer(found, _stats(found))
    door.note(*found.notes)


def _stats(found: Stats) -> Iterator[str]:
    facts = {
        "namespace": found.namespace,
        "memories": f"{found.memories:,}",
        "  superseded": f"{found.superseded:,}",
        "  hidden": f"{found.deleted:,}",
        "  expired": f"{found.expired:,}",
        "documents": f"{found.documents:,} ({render.count(found.passages, 'passage')})",
        "sessions": f"{found.sessions:,}",
        "relations": f"{found.relations:,}",
        "sectors": ", ".join(f"{name} {number:,}" for name, number in found.sectors.items()) or "–",
        "languages": ", ".join(f"{name} {number:,}" for name, number in found.languages.items()) or "–",
        "first, last": f"{render.when(found.first) or '–'}, {render.when(found.last) or '–'}",
        "embedder": found.embedder or "none",
        "vectors": f"{found.vectors:,} ({found.pending_vectors:,} pending)",
        "weights": _weights(found.tuned),
        "size": f"{found.bytes / 1_000_000:,.1f} MB",
    }
    for name, value in facts.items():
        yield f"{render.style(f'{name:<12}', fg='cyan')}  {render.one_line(value)}"


def _weights(tuned: Tuned | None) -> str:
    from recollect.weighing import told

    return f"{told(tuned.weights)} (tuned)" if tuned else "the default"


@command()
@click.option("--rebuild", is_flag=True, help="Make everything derived anew from the rows first.")
def doctor(door: Door, rebuild: bool) -> None:
    """Check that rows, keyword index, vectors and links agree; exit code 1 if not.

    On standard error it says what could be done for the namespace, and whether hooks failed in the last week.

    \b
    Example:
      recollect doctor
      recollect doctor --rebuild
    """
    with door.open() as memories, door.progress() as progress:
        findings = memories.doctor(rebuild=rebuild, progress=progress)
        notes = memories.stats().notes
    door.answer(findings, (render.one_line(each.message) for each in findings) if findings else "all is well")
    if any(each.mendable for each in findings) and not rebuild:
        door.note("recollect doctor --rebuild mends this.")
    door.note(*notes, *_failed_hooks())
    if findings:
        raise click.exceptions.Exit(1)


def _failed_hooks() -> Iterator[str]:
    from datetime import UTC, datetime, timedelta

    from recollect.doors.agents import places

    try:
        number = places.failures_since(datetime.now(UTC) - timedelta(days=7))
    except OSError as error:
        yield f"The log of the hooks can't be read ({error.strerror})."
    else:
        if number:
            yield f"{render.count(number, 'failure')} of hooks in the last week: recollect hook --log tells."


@command()
def backfill(door: Door) -> None:
    """Give rows what they lack: keyword entries in the whole store, then vectors in the namespace.

    For rows that came some other way, as from an older program. Until then they are found by what they have,
    or by their text as it stands.

    \b
    Example:
      recollect backfill
    """
    with door.open(create=False) as memories, door.progress() as progress:
        waiting = memories.backfill(progress)
    door.answer(
        {"pending": waiting},
        f"{waiting:,} still without a vector" if waiting else "every memory has its keyword entry and vector",
    )


@command()
def reembed(door: Door) -> None:
    """Give every memory a vector of the embedder that is set; goes on where it was interrupted.

    \b
    Example:
      recollect reembed
      recollect --embedder static-s reembed
      recollect --embedder ollama:nomic-embed-text reembed
    """
    try:
        with door.open() as memories, door.progress() as progress:
            waiting = memories.reembed(progress)
    except KeyboardInterrupt:
        door.note("Interrupted: the vectors made so far are kept, and running it again goes on from there.")
        raise
    told = (
        f"{render.count(waiting, 'memory', 'memories')} still without a vector" if waiting else "all embedded"
    )
    door.answer({"waiting": waiting}, told)
    if waiting:
        door.note("The embedder failed on the way: run recollect reembed again.")
        raise click.exceptions.Exit(4)


@command()
def namespaces(door: Door) -> None:
    """List the namespaces of the store, and how many memories each has.

    \b
    Example:
      recollect namespaces
    """
    with door.open() as memories:
        found = memories.namespaces()
    rows = [(name, f"{number:,}") for name, number in found.items()]
    door.answer(found, render.table(("namespace", "memories"), rows, right=(1,)) if rows else ())
    if not found:
        door.nothing("There are no namespaces yet.")


@group
def config(door: Door) -> None:
    """Show each setting, its value, and where it comes from.

    An option wins over the environment (RECOLLECT_URL, RECOLLECT_NAMESPACE, RECOLLECT_EMBEDDER,
    RECOLLECT_QUICK, RECOLLECT_HOOKS), that over recollect.toml (the nearest from the working folder upwards,
    else your own), that over the default. Keys and passwords are never shown.

    \b
    Example:
      recollect config
      recollect config path
    """
    from recollect import config as settings

    loaded = settings.load(url=door.store, namespace=door.namespace, embedder=door.embedder, quick=door.quick)
    found = settings.shown(loaded)
    door.answer(
        {name: {"value": value, "origin": origin} for name, (value, origin) in found.items()},
        render.table(
            ("setting", "value", "from"),
            [(name, _shown(value), origin) for name, (value, origin) in found.items()],
        ),
    )


def _shown(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()


@command(config)
def path(door: Door) -> None:
    """Print which recollect.toml is in force, or where yours would be.

    \b
    Example:
      recollect config path
    """
    from recollect import config as settings

    found = settings.find_file()
    if found is None:
        door.note("No recollect.toml is in force; yours would be here:")
    named = str(found or settings.user_file())
    door.answer({"path": named, "exists": found is not None}, render.safe(named))


@command()
def demo(door: Door) -> None:
    """Fill a small store with a project's history and ask it ten questions.

    It works in a store of its own, offline, and leaves yours alone.

    \b
    Example:
      recollect demo
    """
    if door.is_for_programs:
        raise click.UsageError("The demo is for people: it has no --json.")
    from recollect.demo import run

    raise click.exceptions.Exit(run(out=sys.stdout, color=render.in_colour()))


@command()
@click.argument("shell", metavar="SHELL", type=click.Choice(("bash", "zsh", "fish")))
def completion(door: Door, shell: str) -> None:
    """Print the completion script for a shell: bash, zsh or fish.

    \b
    Example:
      recollect completion bash > ~/.local/share/bash-completion/completions/recollect
      recollect completion fish > ~/.config/fish/completions/recollect.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from recollect.doors.cli.program import NAME, recollect

    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    script = ShellComplete.source(found(recollect, {}, NAME, f"_{NAME.upper()}_COMPLETE"))
    door.answer({"shell": shell, "script": script}, script)
