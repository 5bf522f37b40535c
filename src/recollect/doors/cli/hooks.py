"""What Claude Code's hooks call: session-start, user-prompt, pre-compact, session-end, capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command, group

if TYPE_CHECKING:
    from recollect.doors.agents.events import Given


def complain(error: click.UsageError) -> NoReturn:
    """A wrong command line must not stop an agent: 2 would tell Claude Code to refuse the prompt."""
    from recollect.doors.agents import places

    click.echo(f"Error: {render.one_line(error.format_message())}", err=True)
    try:
        places.log("hook", error.format_message())
    except OSError as trouble:
        click.echo(f"Error: there is no log ({trouble.strerror}).", err=True)
    raise click.exceptions.Exit(0)


TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0.05, max=600),
    metavar="SECONDS",
    help="Give up after so long: session-start 5, user-prompt 2, capture and --wait 120, else 3.",
)
WAIT = click.option("--wait", is_flag=True, help="Capture now, instead of in a process of its own.")


@group
@click.option("--log", "log", is_flag=True, help="Show what the hooks could not do, and what still waits.")
def hook(door: Door, log: bool) -> None:
    """What Claude Code's hooks call; they read its JSON on standard input.

    Each ends with 0 and within its time, and prints nothing but what Claude Code expects. The namespace is
    that of the project that the session's folder is in, unless the settings name one; `hooks = false` in a
    project's recollect.toml leaves the project alone. recollect install claude-code --hooks sets them up.

    \b
    Example:
      recollect hook --log
      echo '{"cwd": "/home/me/app", "prompt": "which database?"}' | recollect hook user-prompt
    """
    if not log:
        raise click.UsageError("Say which event: session-start, user-prompt, pre-compact or session-end.")
    from recollect.doors.agents import capturing, places

    lines = places.read_log()
    waiting = len(capturing.waiting())
    door.answer({"log": lines, "waiting": waiting}, (render.one_line(line) for line in lines))
    door.note(f"{render.count(waiting, 'transcript')} to be captured yet.")
    if not lines:
        door.note("Nothing went wrong so far.")


def _given(door: Door) -> Given:
    from recollect.doors.agents.events import Given, in_full

    return Given(in_full(door.store), door.namespace, door.embedder, door.quick)


@command(hook, "session-start")
@TIMEOUT
def session_start(door: Door, timeout: float | None) -> None:
    """Tell a session what is known about its project: late and important memories, the last sessions.

    \b
    Example:
      echo '{"session_id": "s1", "cwd": "/home/me/app", "source": "startup"}' | recollect hook session-start
    """
    from recollect.doors.agents import events
    from recollect.doors.agents.deadline import Deadline

    with Deadline("session-start", timeout or events.SECONDS["session-start"]) as deadline:
        events.session_start(_given(door), deadline)


@command(hook, "user-prompt")
@TIMEOUT
def user_prompt(door: Door, timeout: float | None) -> None:
    """Tell a session what is remembered about the prompt, if an answer seems to be there.

    \b
    Example:
      echo '{"cwd": "/home/me/app", "prompt": "which database?"}' | recollect hook user-prompt
    """
    from recollect.doors.agents import events
    from recollect.doors.agents.deadline import Deadline

    with Deadline("user-prompt", timeout or events.SECONDS["user-prompt"]) as deadline:
        events.user_prompt(_given(door), deadline)


@command(hook, "pre-compact")
@TIMEOUT
@WAIT
def pre_compact(door: Door, timeout: float | None, wait: bool) -> None:
    """Capture what was said so far, before it is compacted; what is kept already is not kept twice.

    \b
    Example:
      echo '{"session_id": "s1", "cwd": "/home/me/app", "transcript_path": "s1.jsonl"}' \\
        | recollect hook pre-compact
    """
    _capture(door, "pre-compact", timeout, wait, ended=False)


@command(hook, "session-end")
@TIMEOUT
@WAIT
def session_end(door: Door, timeout: float | None, wait: bool) -> None:
    """Capture what was said as an episodic session, and end it.

    \b
    Example:
      echo '{"session_id": "s1", "cwd": "/home/me/app", "transcript_path": "s1.jsonl"}' \\
        | recollect hook session-end --wait
    """
    _capture(door, "session-end", timeout, wait, ended=True)


def _capture(door: Door, event: str, timeout: float | None, wait: bool, *, ended: bool) -> None:
    from recollect.doors.agents import events
    from recollect.doors.agents.deadline import Deadline

    seconds = timeout or events.SECONDS["capture" if wait else event]
    with Deadline(event, seconds) as deadline:
        events.capture_later(_given(door), deadline, ended=ended, wait=wait)


@command(hook, "capture")
@TIMEOUT
def capture(door: Door, timeout: float | None) -> None:
    """Capture the transcripts that wait; the hooks start this in a process of its own.

    \b
    Example:
      recollect hook capture
    """
    from recollect.doors.agents import events
    from recollect.doors.agents.deadline import Deadline

    with Deadline("capture", timeout or events.SECONDS["capture"]) as deadline:
        events.capture(deadline)
