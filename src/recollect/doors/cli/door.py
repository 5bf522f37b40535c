"""What every command has: the shared options, the way to the store, and the way back to the caller."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from recollect.doors.cli import completing, progress, render

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.memories.front import Clock
    from recollect.types import Progress


@dataclass
class Door:
    """How this call was made: which store, and how to answer."""

    store: str | None = None
    namespace: str | None = None
    embedder: str | None = None
    quick: bool | None = None
    json: bool = False
    jsonl: bool = False
    quiet: bool = False

    @property
    def is_for_programs(self) -> bool:
        """Whether the answer is to be JSON, in one document or in lines."""
        return self.json or self.jsonl

    def open(self, *, create: bool = False, store: str | None = None, clock: Clock | None = None) -> Memories:
        """The memories that were asked for; what is not said comes from the settings.

        Only a command that writes something new makes a store that is not there: a typo must not. One that
        works in a store of its own, or at a time of its own, says so.
        """
        import recollect

        if self.quiet:
            _hush()
        at_a_time: Mapping[str, Any] = {"clock": clock} if clock else {}
        return recollect.open(
            store or self.store,
            namespace=self.namespace,
            embedder=self.embedder,
            quick=self.quick,
            create=create,
            **at_a_time,
        )

    def answer(self, value: object, lines: str | Iterable[str], *, one_of_many: bool = False) -> None:
        """Print the answer: one JSON document, JSON lines, or these lines, which are not even made for JSON.

        `one_of_many` answers are each a line of their own with --json too.
        """
        if self.is_for_programs:
            from recollect.doors.plain import plain

            for part in _entries(value) if self.jsonl else [value]:
                is_line = self.jsonl or one_of_many
                render.write(render.json_text(plain(part), indent=None if is_line else 2))
        else:
            for line in (lines,) if isinstance(lines, str) else lines:
                render.write(line)

    def note(self, *notes: str) -> None:
        """Say something that is not the answer, on stderr."""
        if not self.quiet:
            for note in notes:
                click.echo(render.safe(note), err=True)

    def nothing(self, note: str) -> NoReturn:
        """Nothing was found: say so, and end as grep does."""
        self.note(note)
        raise click.exceptions.Exit(1)

    def progress(self) -> AbstractContextManager[Progress | None]:
        """A progress bar where somebody sees it."""
        wanted = not self.quiet and sys.stderr.isatty() and not render.is_dumb()
        return progress.shown(wanted=wanted, colour=render.in_colour(sys.stderr))


def _hush() -> None:
    """Only errors are logged, until the command has ended."""
    import logging

    log = logging.getLogger("recollect")
    if context := click.get_current_context(silent=True):
        context.call_on_close(functools.partial(log.setLevel, log.level))
    log.setLevel(logging.ERROR)


def _entries(value: object) -> Iterable[object]:
    """What stands on lines of its own: every element of a list, the hits of a recall; else the whole."""
    from recollect.doors.plain import plain
    from recollect.types import Recall

    if isinstance(value, Recall):
        return [{"query": value.query, "rank": rank} | plain(hit) for rank, hit in enumerate(value, 1)]
    return value if isinstance(value, (list, tuple)) else (value,)


pass_door = click.make_pass_decorator(Door, ensure=True)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and parameter.name:
        setattr(context.ensure_object(Door), parameter.name.removeprefix("shared_"), value)
    elif value == "":
        raise click.BadParameter("it is empty.", context, parameter)


def _colour(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Where click keeps it: in the outermost context, for render and for click itself."""
    if value:
        context.find_root().color = {"auto": None, "always": True, "never": False}[value]


def _shared(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, **{"callback": _keep, **settings})


SHARED = (
    _shared(
        "-s",
        "--store",
        "shared_store",
        metavar="PATH",
        help="The store: a file or a URL.",
        shell_complete=completing.files,
    ),
    _shared(
        "-n",
        "--namespace",
        "shared_namespace",
        metavar="NAME",
        help="The namespace to work in.",
        shell_complete=completing.namespaces,
    ),
    _shared(
        "--embedder",
        "shared_embedder",
        metavar="NAME",
        help="What makes vectors: auto, none, arctic-s, static-s, hash, or PROVIDER:MODEL, such as "
        "ollama:nomic-embed-text or openai:text-embedding-3-small; also fastembed and sentence-transformers.",
        shell_complete=completing.embedders,
    ),
    _shared(
        "--quick",
        "shared_quick",
        is_flag=True,
        help="Embed questions by a table: sooner, without the model, a little less found.",
    ),
    _shared("--json", "shared_json", is_flag=True, help="Answer with one JSON document."),
    _shared("--jsonl", "shared_jsonl", is_flag=True, help="Answer with JSON lines: of a list, one for each."),
    _shared(
        "--color",
        "shared_color",
        type=click.Choice(("auto", "always", "never")),
        callback=_colour,
        help="When to colour the answer (auto: on a terminal).",
    ),
    _shared("-q", "--quiet", "shared_quiet", is_flag=True, help="No notes, no progress; ids alone."),
)


class _WithShared(click.Command):
    """Takes the shared options too, but for those that it has itself, and lists them apart in its help."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        taken = {name for parameter in own for name in parameter.opts}
        return [*own, *(option for option in SHARED if not taken & {*option.opts})]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        every = self.get_params(ctx)
        own = [parameter for parameter in every if parameter not in SHARED]
        shared = [parameter for parameter in every if parameter in SHARED]
        for title, parameters in (("Options", own), ("Shared options", shared)):
            with formatter.section(title):
                formatter.write_dl(
                    [record for parameter in parameters if (record := parameter.get_help_record(ctx))]
                )
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class Command(_WithShared):
    """A command of `recollect`."""


class Group(_WithShared, click.Group):
    """A command with commands of its own."""

    command_class = Command


Decorated = Callable[..., Any]


def command(
    group: click.Group | None = None, name: str | None = None
) -> Callable[[Decorated], click.Command]:
    """Make a function a command; it gets the Door first."""

    def decorate(function: Decorated) -> click.Command:
        made = click.command(name, cls=Command)(pass_door(function))
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def group(function: Decorated) -> Group:
    """Make a function a command that has commands of its own; it runs when none of them is asked for."""

    @functools.wraps(function)
    def alone(*arguments: Any, **options: Any) -> None:
        if click.get_current_context().invoked_subcommand is None:
            function(*arguments, **options)

    return click.group(cls=Group, invoke_without_command=True)(pass_door(alone))
