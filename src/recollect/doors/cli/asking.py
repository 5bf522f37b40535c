"""Questions one after the other in one process: from a person at a terminal, or a line each from a pipe."""

from __future__ import annotations

import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import options, render
from recollect.doors.cli.door import Door
from recollect.doors.cli.finding import opened, tell, within
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Hit, Recall

DEFAULT_LIMIT = 10
NOT_SETTABLE = ("why", "why_not")
HELP = """\
  which port?      a question: finds what answers it
  2                shows the second hit in full
  why, why 2       explains every score, or that of the second hit
  more             shows further hits
  :mode keyword    sets an option of search (recollect search --help), and asks again
  :mode            takes it back; of an option that is on or off, switches it
  :                lists what is set
  ? more           asks for a word that means something else here
  help             shows this
  an empty line or Ctrl-D leaves, Ctrl-C cancels the line"""


def ask(door: Door, *, why: bool, given: dict[str, Any], on_terminal: bool) -> None:
    """Talk with the person at the terminal, if that is wanted and there is one; else read lines."""
    with opened(door) as memories:
        if on_terminal and not door.is_for_programs and sys.stdin.isatty() and render.on_terminal():
            Conversation(door, memories, given, why=why).hold()
        else:
            _answer_lines(door, memories, given, why=why)


def _answer_lines(door: Door, memories: Memories, given: dict[str, Any], *, why: bool) -> None:
    """Every question is answered before the next is read."""
    asking = within(memories, given.pop("in_session"))
    how = options.recalling(given)
    number = number_found = 0
    for number, question in enumerate(options.questions(), 1):
        if not door.is_for_programs and not door.quiet:
            render.write("\n" * (number > 1) + render.style(render.one_line(question), bold=True))
        found = asking.recall(question, **how)
        tell(door, found, why=why, one_of_many=True)
        number_found += bool(found)
        if not found:
            door.note("Nothing was found.")
    if not number:
        raise click.UsageError("Give a query, or questions on standard input, one a line.")
    if not number_found:
        raise click.exceptions.Exit(1)


class Conversation:
    """Questions and commands from a terminal, until an empty line."""

    def __init__(self, door: Door, memories: Memories, given: dict[str, Any], *, why: bool) -> None:
        self._door = door
        self._memories = memories
        self._asking = within(memories, given.pop("in_session"))
        self._given = given
        self._why = why
        self._question = ""
        self._found: Recall | None = None

    def hold(self) -> None:
        """Ask and answer; the model is loaded while the first question is being typed."""
        self._door.note("Ask a question. help says what else can be done; an empty line leaves.")
        loading = threading.Thread(target=self._load, name="recollect-load")
        loading.start()
        try:
            for line in _typed():
                self._obey(line)
        finally:
            loading.join()

    def _load(self) -> None:
        with suppress(RecollectError):  # whoever asks is told
            self._memories.recall("warm up", **{**options.recalling(self._given), "reinforce": False})

    def _obey(self, line: str) -> None:
        try:
            self._action(line)()
        except KeyboardInterrupt:
            self._door.note("Cancelled.")
        except RecollectError as error:
            _complain(str(error))
        except click.UsageError as error:
            _complain(error.format_message())

    def _action(self, line: str) -> Callable[[], None]:
        """What a line means: one of a few words, else a question."""
        if line == "help":
            return lambda: render.write(HELP)
        if line.startswith(":"):
            return lambda: self._set(line[1:].strip())
        if self._found:
            if line == "more":
                return self._more
            if line.isdecimal() and line.isascii():
                return lambda: self._show(int(line))
            if wanted := re.fullmatch(r"why(?:\s+(\d{1,9}))?", line):
                return lambda: self._explain(wanted[1])
        return lambda: self._ask(line[1:].strip() if line.startswith("?") else line)

    def _ask(self, question: str) -> None:
        found = self._asking.recall(question, **options.recalling(self._given))
        self._question, self._found = question, found
        tell(self._door, found, why=self._why)
        if not found:
            self._door.note("Nothing was found.")

    def _more(self) -> None:
        """Those that follow; what was shown keeps its number, wherever it would be among more."""
        assert self._found is not None
        step = self._given["limit"] or DEFAULT_LIMIT
        deeper = {"limit": min(len(self._found) + step, 1000), "reinforce": False}
        found = self._asking.recall(self._question, **{**options.recalling(self._given), **deeper})
        shown = {hit.memory.id for hit in self._found}
        further = [hit for hit in found if hit.memory.id not in shown][:step]
        for line in render.hits(further, len(self._found) + 1):
            render.write(line)
        self._found.extend(further)
        if not further:
            self._door.note("There are no more.")

    def _show(self, rank: int) -> None:
        memory = self._hit(rank).memory
        relations = self._memories.in_namespace(memory.namespace).relations(memory.id)
        for line in render.whole(memory, relations):
            render.write(line)

    def _explain(self, rank: str | None) -> None:
        from recollect.doors.cli.why import explained

        assert self._found is not None
        only = int(rank) if rank else None
        if only is not None:
            self._hit(only)
        for line in explained(self._found, only):
            render.write(line)

    def _hit(self, rank: int) -> Hit:
        assert self._found is not None
        if not 1 <= rank <= len(self._found):
            raise click.UsageError(f"There are hits 1 to {len(self._found)}: for a question, write ? {rank}")
        return self._found[rank - 1]

    def _set(self, said: str) -> None:
        """Set an option, take it back, or list what is set; what can't be used is not kept."""
        name, _, value = said.partition(" ")
        if not name:
            self._list()
            return
        option = _option(name)
        assert option.name is not None
        before = self._given[option.name]
        self._given[option.name] = _converted(option, value, before)
        try:
            self._memories.recall("", **{**options.recalling(self._given), "reinforce": False})
        except (RecollectError, click.UsageError):
            self._given[option.name] = before
            raise
        self._list()
        if self._question:
            self._ask(self._question)

    def _list(self) -> None:
        told = [
            f":{option.opts[-1].removeprefix('--')}{_shown(self._given[option.name])}"
            for option in _settable()
            if option.name and options.chosen({option.name: self._given[option.name]})
        ]
        self._door.note(*told or ["Nothing is set."])


def _typed() -> Iterator[str]:
    """Lines as they are typed; a line that is cancelled is none."""
    with suppress(ImportError):  # readline: input() then lets lines be edited, and brings back earlier ones
        import readline  # noqa: F401
    while True:
        try:
            line = input("search> ").strip()
        except EOFError:
            render.write("")
            return
        except KeyboardInterrupt:
            render.write("")
            continue
        if not line:
            return
        yield line


def _complain(message: str) -> None:
    click.echo(f"Error: {render.one_line(message)}", err=True)


def _settable() -> list[click.Option]:
    command = click.get_current_context().command
    found = (each for each in command.params if isinstance(each, click.Option))
    return [option for option in found if option.name not in (*NOT_SETTABLE, "in_session")]


def _option(name: str) -> click.Option:
    found = next((option for option in _settable() if f"--{name}" in option.opts), None)
    if found is None:
        known = ", ".join(option.opts[-1].removeprefix("--") for option in _settable())
        raise click.UsageError(f"{name!r} can't be set here: choose from {known}.")
    return found


def _converted(option: click.Option, text: str, before: Any) -> Any:
    """What was typed, as the command line would take it."""
    if option.is_flag:
        return not before
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(f"{text!r} can't be read ({error}).") from None
    given = tuple(words) if option.multiple else " ".join(words) or None
    return option.process_value(click.get_current_context(), given)


def _shown(value: Any) -> str:
    if value is True:
        return ""
    if isinstance(value, dict):
        return " " + " ".join(f"{name}={number}" for name, number in value.items())
    return " " + (shlex.join(value) if isinstance(value, tuple) else str(value))
