"""What Claude Code's hooks call: session-start, user-prompt, pre-compact, session-end, capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Command, Door, Group, pass_door

if TYPE_CHECKING:
    from recollect.doors.agents.events import Given


def complain(error: click.UsageError) -> None:
    """A wrong command line must not stop an agent: 2 would tell Claude Code to refuse the prompt."""
    from recollect.doors.agents import places

    click.echo(f"Error: {render.one_line(error.format_message())}", err=True)
    try:
        places.log("hook", error.format_message())
    except OSError as trouble:
        click.echo(f"Error: there is no log ({trouble.strerror}).", err=True)
    raise click.exceptions.Exit(0)


class HookCommand(Command):
    """A command that ends with 0 however it was called."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line; a wrong one is written down."""
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            complain(error)
            raise


class HookGroup(Group):
    """The same, for the name of the event."""

    command_class = HookCommand

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line; a wrong one is written down."""
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            complain(error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the event's command."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            complain(error)
            raise


TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0.05, max=600),
    metavar="SECONDS",
    help="Give up after so long: session-start 5, user-prompt 2, capture and --wait 120, else 3.",
)
WAIT = click.option("--wait", is_flag=True, help="Capture now, instead of in a process of its own.")


@click.group(cls=HookGroup, invoke_without_command=True)
@click.option("--log", "log", is_flag=True, help="Show what the hooks could not do, and what still waits.")
@pass_door
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
    if click.get_current_context().invoked_subcommand is not None:
        return
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


@hook.command("session-start", cls=HookCommand)
@TIMEOUT
@pass_door
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


@hook.command("user-prompt", cls=HookCommand)
@TIMEOUT
@pass_door
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


@hook.command("pre-compact", cls=HookCommand)
@TIMEOUT
@WAIT
@pass_door
def pre_compact(door: Door, timeout: float | None, wait: bool) -> None:
    """Capture what was said so far, before it is compacted; what is kept already is not kept twice.

    \b
    Example:
      echo '{"session_id": "s1", "cwd": "/home/me/app", "transcript_path": "s1.jsonl"}' \\
        | recollect hook pre-compact
    """
    _capture(door, "pre-compact", timeout, wait, ended=False)


@hook.command("session-end", cls=HookCommand)
@TIMEOUT
@WAIT
@pass_door
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


@hook.command("capture", cls=HookCommand)
@TIMEOUT
@pass_door
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
