"""`recollect`: its commands, imported when they are asked for, and how it ends."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import click

from recollect import __version__
from recollect.doors.cli.door import Group
from recollect.doors.cli.render import one_line
from recollect.errors import ConfigError, EmbedderError, InvalidInput, NotFound, RecollectError

NAME = "recollect"
COMMANDS = {
    "Writing": {
        "add": ("writing", "Remember a text, or what comes from standard input."),
        "supersede": ("writing", "Let one memory take the place of another."),
        "relate": ("writing", "Draw a relation between memories, or list those of one."),
        "forget": ("writing", "Remove memories for good, or hide them."),
        "restore": ("writing", "Bring back memories that were hidden."),
        "sessions": ("sessions", "List, start, end, summarise or show sessions."),
    },
    "Finding": {
        "search": ("finding", "Find memories by meaning, by words and by time."),
        "show": ("finding", "Show memories in full, with their relations."),
        "timeline": ("finding", "Show what was remembered around a memory, or within a time."),
        "context": ("finding", "Assemble the best memories for a prompt."),
    },
    "Bringing in and taking out": {
        "ingest": ("moving", "Take in documents: files, folders or standard input."),
        "documents": ("moving", "List the documents that were taken in."),
        "watch": ("watching", "Take in the documents of folders as they change."),
        "import": ("moving", "Bring in JSON lines: an export, or any with a text."),
        "export": ("moving", "Write everything in the namespace as JSON lines."),
        "migrate": ("migrating", "Copy everything from one store to another, and verify it."),
    },
    "Serving": {
        "serve": ("http", "Serve the memories over HTTP, with a web page."),
        "token": ("http", "List, add or remove the tokens that the server lets in."),
    },
    "Agents": {
        "mcp": ("mcp", "Serve an agent over the Model Context Protocol."),
        "install": ("installing", "Put Recollect into an agent's configuration."),
        "hook": ("hooks", "What Claude Code's hooks call."),
    },
    "Measuring": {
        "eval": ("evaluating", "Measure how well questions are answered."),
        "tune": ("tuning", "Fit the weights of keywords and meaning to your memories."),
    },
    "Looking after the store": {
        "init": ("serving", "Make a store, or bring it up to date."),
        "index": ("serving", "Make indexes for the large namespaces of a PostgreSQL store."),
        "grant": ("serving", "Let a role of a PostgreSQL server see a namespace."),
        "stats": ("upkeep", "Show the namespace in numbers."),
        "namespaces": ("upkeep", "List the namespaces of the store."),
        "doctor": ("upkeep", "Check that everything agrees, and mend it."),
        "backfill": ("upkeep", "Give rows what they lack: keyword entries and vectors."),
        "reembed": ("upkeep", "Give every memory a vector of the embedder that is set."),
        "config": ("upkeep", "Show each setting, its value, and where it comes from."),
        "bench": ("benching", "Measure how fast stores write and recall."),
        "demo": ("upkeep", "See what Recollect does with a project's history."),
        "completion": ("upkeep", "Print the completion script for a shell."),
    },
}
_MODULE_OF = {name: module for section in COMMANDS.values() for name, (module, _) in section.items()}

NOTHING, USAGE, STORE, EMBEDDER, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
EXIT_CODES = {
    0: "it worked",
    NOTHING: "nothing was found, or there is no such thing; doctor: something is wrong",
    USAGE: "the command line, the input or a setting can't be used; nothing was changed",
    STORE: "the store or a file can't be read or written",
    EMBEDDER: "the embedder is missing or failed; add and ingest keep the text all the same, and end with 0",
    INTERRUPTED: "interrupted with Ctrl-C",
    BROKEN_PIPE: "whoever read the output went away",
}


class Program(Group):
    """The commands, listed without importing them; errors become one sentence and an exit code."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the command line; a wrong one of a hook is written down, and does not stop the agent."""
        given = [*args]
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if any(before == "hook" and "-" in after for before, after in pairwise(given)):
                _pass_over(error)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the help."""
        return list(_MODULE_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, imported now."""
        if cmd_name not in _MODULE_OF:
            return None
        module = import_module(f"recollect.doors.cli.{_MODULE_OF[cmd_name]}")
        found: click.Command = getattr(module, "import_" if cmd_name == "import" else cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was named; for a slip of the hand, the one that was meant."""
        is_unknown = args and args[0] not in _MODULE_OF and not args[0].startswith("-")
        if is_unknown and not ctx.resilient_parsing:
            from difflib import get_close_matches

            meant = get_close_matches(args[0], _MODULE_OF, 1)
            hint = f" Did you mean {meant[0]!r}?" if meant else ""
            ctx.fail(f"No such command {one_line(args[0])!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from what is known here."""
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(10), summary) for name, (_, summary) in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and end as EXIT_CODES says."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if ctx.invoked_subcommand == "hook":
                _pass_over(error)
            raise
        except RecollectError as error:
            _end(_code(error), str(error))
        except BrokenPipeError:
            _let_go_of_stdout()
            _end(BROKEN_PIPE)
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else ""
            _end(STORE, f"{where}{error.strerror or error}.")
        except (KeyboardInterrupt, click.Abort):
            _end(INTERRUPTED)


def _pass_over(error: click.UsageError) -> None:
    from recollect.doors.cli import hooks

    hooks.complain(error)


def _code(error: RecollectError) -> int:
    if isinstance(error, NotFound):
        return NOTHING
    if isinstance(error, (InvalidInput, ConfigError)):
        return USAGE
    return EMBEDDER if isinstance(error, EmbedderError) else STORE


def _end(code: int, message: str = "") -> None:
    if message:
        click.echo(f"Error: {one_line(message)}", err=True)
    raise click.exceptions.Exit(code)


def _let_go_of_stdout() -> None:
    """Nobody reads any more: what is still in the buffer must not raise when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    NAME,
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
)
@click.version_option(__version__, "--version", message="recollect %(version)s", help="Show the version.")
def recollect() -> None:
    """Memory for AI agents: keep what was learned, and find it by meaning, words, time and context.

    The shared options may stand before or after the command. What they don't say comes from RECOLLECT_URL,
    RECOLLECT_NAMESPACE, RECOLLECT_EMBEDDER, RECOLLECT_QUICK, RECOLLECT_HOOKS or recollect.toml; see recollect
    config. Ids may be shortened to their last characters. Times are in UTC.

    \b
    Example:
      recollect add "We chose PostgreSQL 17.2 for billing" --tag database
      recollect search "which database for billing?" --why
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """The whole program: UTF-8 whatever the locale says, and no traceback for Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if f"_{NAME.upper()}_COMPLETE" in os.environ:
        from recollect.doors.cli.completing import mind_bash

        mind_bash()
    try:
        recollect.main(arguments, prog_name=NAME)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
