"""How far is it? A bar on the terminal's stderr: rich's where rich is installed, else a line of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from recollect.types import Progress


@contextmanager
def shown(*, wanted: bool, colour: bool = True) -> Iterator[Progress | None]:
    """What to call as work goes on; None when nobody would see it."""
    if not wanted:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        with _Line(sys.stderr) as line:
            yield line
        return
    what = TextColumn("{task.description}", markup=False)  # it may name anything
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True, no_color=not colour), transient=True) as bars:
        tasks = {}

        def advance(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                for task in bars.tasks:
                    bars.update(task.id, visible=not task.finished)
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield advance


class _Line:
    """One line that is written over, and is gone at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0

    def __call__(self, what: str, done: int, total: int | None) -> None:
        self._write(f"{what} {done:,}" + (f" of {total:,}" if total is not None else ""))

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            self._write("")
            self._stream.write("\r")
