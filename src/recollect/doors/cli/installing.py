"""The command that puts Recollect into an agent's configuration: install."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect import config
from recollect.doors.agents.clients import CLIENTS, SCOPES
from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.doors.agents.installing import Shared, Wanted
    from recollect.doors.agents.planning import Plan


@command()
@click.argument("agent", metavar="AGENT", type=click.Choice(tuple(CLIENTS)))
@click.option("--scope", type=click.Choice(SCOPES), help="For this project, or for all of yours.")
@click.option("--hooks", is_flag=True, help="Claude Code's hooks too: recall and capture by themselves.")
@click.option(
    "--write/--dry-run",
    "write",
    default=None,
    help="Write, or only show what would change (where a file is there already).",
)
@click.option("--print", "printing", is_flag=True, help="Only print what belongs in the file.")
@click.option("--uninstall", is_flag=True, help="Take out what install put there, and nothing else.")
def install(
    door: Door,
    agent: str,
    scope: str | None,
    hooks: bool,
    write: bool | None,
    printing: bool,
    uninstall: bool,
) -> None:
    """Put Recollect into an agent's configuration: claude-code, cursor, codex, gemini or vscode.

    A file that is not there is written. One that is there is never touched without --write: what would change
    is shown. With --write everything else in it is kept, comments too, with a copy of the old file beside it.
    The shared options that are given go into the command line.

    \b
    Example:
      recollect install claude-code --hooks
      recollect install codex --write
      recollect install vscode --uninstall --write
    """
    from recollect.doors.agents import installing

    client = CLIENTS[agent]
    if hooks and agent != "claude-code":
        raise click.UsageError("--hooks is for claude-code: the other agents have the server alone.")
    if printing and (write is not None or uninstall):
        raise click.UsageError("--print goes with neither --write, --dry-run nor --uninstall.")
    chosen: Any = scope or client.scope
    wanted = installing.Wanted(client, chosen, Path.cwd(), hooks, uninstall)
    shared = installing.Shared(door.store, door.namespace, door.embedder, bool(door.quick))
    if printing:
        shown = installing.printed(wanted, shared)
        asked = installing.asked_of_client(wanted, shared)
        door.answer(
            {"files": [{"path": path, "text": text} for path, text in shown], "run": asked},
            _printed(shown, asked),
        )
    else:
        _carry_out(door, wanted, shared, write)


def _printed(shown: list[tuple[Path, str]], asked: str | None) -> Iterator[str]:
    for path, text in shown:
        yield render.style(f"# {render.safe(str(path))}", dim=True)
        yield render.safe(text)
    if asked:
        yield render.safe(asked)


def _carry_out(door: Door, wanted: Wanted, shared: Shared, write: bool | None) -> None:
    from recollect.doors.agents import installing, planning

    results: list[dict[str, Any]] = []
    lines: list[str] = []
    plans = installing.plans(wanted, shared)  # all of them, before anything is written
    is_new = all(plan.before is None for plan in plans if plan.changes)
    for plan in plans:
        writes = plan.changes and (is_new if write is None else write)
        backup = planning.write(plan, datetime.now()) if writes else None
        outcome = "written" if writes else "would change" if plan.changes else "unchanged"
        results.append(
            {"path": plan.path, "outcome": outcome, "backup": backup, "diff": [*plan.difference()]}
        )
        lines += _told(plan, outcome, backup)
    asked = installing.asked_of_client(wanted, shared)
    if asked:
        lines += [
            "Claude Code keeps its own servers in a file that it rewrites as it runs. Run:",
            f"  {asked}",
        ]
    door.answer({"files": results, "run": asked}, (render.safe(line) for line in lines))
    if door.store and config.without_password(door.store) != door.store:
        door.note("The store's password is in that file now: RECOLLECT_URL keeps it out.")
    waiting = any(result["outcome"] == "would change" for result in results)
    door.note(*_next(wanted, waiting, changed=any(plan.changes for plan in plans) or bool(asked)))


def _told(plan: Plan, outcome: str, backup: Path | None) -> Iterator[str]:
    if outcome == "would change":
        yield from plan.difference()
    elif outcome == "unchanged":
        yield f"{plan.path}: nothing to change"
    elif plan.after is None:
        yield f"{plan.path}: removed, nothing else was in it"
    else:
        yield f"{plan.path}: written"
    if backup:
        yield f"{backup}: what it was before"


def _next(wanted: Wanted, waiting: bool, *, changed: bool) -> Iterator[str]:
    if waiting:
        yield "Nothing was changed yet: say --write to change it so."
    elif wanted.uninstall:
        yield f"Restart {wanted.client.title} for it to notice." if changed else "It was not installed there."
    else:
        yield wanted.client.next_step
        if wanted.client.name == "claude-code" and not wanted.hooks:
            scope = "--scope user " if wanted.scope == "user" else ""
            yield f"To recall and capture by themselves: recollect install claude-code {scope}--hooks"
        elif wanted.hooks:
            yield "What the hooks could not do is told by: recollect hook --log"
