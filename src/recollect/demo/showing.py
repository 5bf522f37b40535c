"""The demo as it is seen: fill a store, ask, and print, no line wider than 100 columns."""

from __future__ import annotations

import html
import re
import tempfile
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TextIO

from recollect import opening
from recollect.demo.history import Filled, fill
from recollect.demo.questions import QUESTIONS, Ask, Question
from recollect.embed.base import Embedder
from recollect.memories import Memories
from recollect.types import Context, Hit, Leg, Recall, TimeUsed

WIDTH = 100
INDENT = "   "
BESIDE = " " * 17
"""Where the text of a hit begins: after its score and its date."""
LINES = 3
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FOUND_BY = {"both": "words and meaning", "semantic": "meaning", "keyword": "words"}
_PIECE = re.compile(r"<mark>(.*?)</mark>|([^<]+)", re.DOTALL)
_SPACED = re.compile(r"\s+|\S+")
_BREAKABLE = re.compile(r"\s+|[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+")
_ID = re.compile(r'id="[0-9a-f-]+([0-9a-f]{6})"')


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes lines, with ANSI codes or without."""

    out: TextIO
    color: bool

    def line(self, text: str = "") -> None:
        """One line; what the terminal has no letters for becomes a question mark."""
        encoding = getattr(self.out, "encoding", None) or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), file=self.out)

    def dim(self, text: str) -> str:
        """What may be overlooked."""
        return self._styled("2", text)

    def bold(self, text: str) -> str:
        """What must not be overlooked."""
        return self._styled("1", text)

    def mark(self, text: str) -> str:
        """A word that was searched for."""
        return self._styled("1;4", text) if self.color else f"[{text}]"

    def progress(self, what: str, done: int, total: int | None) -> None:
        """A line that is written over, on a terminal alone."""
        if self.color:
            print(f"\r{INDENT}{what} {done} of {total}\x1b[K", end="", file=self.out, flush=True)

    def no_progress(self) -> None:
        """Take that line away."""
        if self.color:
            print("\r\x1b[K", end="", file=self.out, flush=True)

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def run(
    *,
    out: TextIO,
    color: bool,
    now: datetime | None = None,
    store: str | None = None,
    embedder: str | Embedder | None = None,
) -> int:
    """Fill a store, ask the questions, and print what comes back; the exit code.

    Without a `store` a temporary file is used and removed again. Without an embedder, words alone answer.
    """
    moment = now or datetime.now(UTC)
    pen = Pen(out, color)
    with (
        _place(store) as url,
        opening.open(url, namespace="demo", embedder=embedder, clock=lambda: moment) as memories,
    ):
        _show_greeting(pen)
        begun = perf_counter()
        filled = fill(memories, moment, pen.progress)
        seconds = perf_counter() - begun
        pen.no_progress()
        model = memories.stats().embedder if filled.embedded else None
        _show_filled(pen, filled, model)
        asked = _answerable(QUESTIONS, has_meaning=model is not None)
        times = [
            _show_question(pen, memories, number, question, moment)
            for number, question in enumerate(asked, 1)
        ]
        _show_end(pen, filled, seconds, [milliseconds for some in times for milliseconds in some])
    return 0


def _answerable(questions: Sequence[Question], *, has_meaning: bool) -> list[Question]:
    """The questions without what only an embedder can answer, when there is none."""
    left = [
        replace(question, asks=tuple(ask for ask in question.asks if has_meaning or not ask.by_meaning))
        for question in questions
    ]
    return [question for question in left if question.asks]


@contextmanager
def _place(store: str | None) -> Iterator[str]:
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="recollect-demo-", ignore_cleanup_errors=True) as folder:
        yield str(Path(folder) / "demo.db")


def _show_greeting(pen: Pen) -> None:
    pen.line()
    pen.line(pen.bold("recollect") + " remembers what an agent would otherwise forget.")
    pen.line()
    story = (
        "Six weeks of a small invented project: Mara, Jonas, Lin and their coding agent, scout, build "
        "Borrowshed, where neighbours share tools from a shed full of lockers."
    )
    for row in textwrap.wrap(story, WIDTH):
        pen.line(row)


def _show_filled(pen: Pen, filled: Filled, model: str | None) -> None:
    facts = (
        f"{filled.memories} memories from {filled.sessions} sessions in English, German and Chinese, "
        f"{filled.relations} relations, {filled.superseded} facts and decisions replaced by later ones, "
        f"{filled.near_duplicates} near-duplicates linked, {filled.merged} said twice and merged, "
        f"and a handbook of {filled.passages} passages."
    )
    how = f"Vectors by {model}, on this machine; nothing left it."
    if model is None:
        how = (
            "Without an embedder words alone answer, and questions that need more are left out "
            "(pip install recollect-arctic-s)."
        )
    for row in (*textwrap.wrap(facts, WIDTH), *textwrap.wrap(how, WIDTH)):
        pen.line(pen.dim(row))


def _show_question(
    pen: Pen, memories: Memories, number: int, question: Question, now: datetime
) -> list[float]:
    pen.line()
    pen.line()
    pen.line(f"{number:>2} {pen.bold(question.title)}")
    pen.line(INDENT + question.note)
    return [_show_answer(pen, memories, ask, now, explained=question.explained) for ask in question.asks]


def _show_answer(pen: Pen, memories: Memories, ask: Ask, now: datetime, *, explained: bool) -> float:
    memories._later.finish()  # what the last answer left to be marked, so that every run shows the same
    begun = perf_counter()
    answer: Recall | Context = getattr(memories, ask.call)(ask.query, **ask.options_at(now))
    milliseconds = (perf_counter() - begun) * 1000
    call, took = INDENT + ask.as_python(now), f"{milliseconds:.0f} ms"
    pen.line()
    pen.line(pen.dim(call + took.rjust(WIDTH - _columns(call))))
    if isinstance(answer, Context):
        _show_context(pen, answer)
        return milliseconds
    if answer.timeframe is not None:
        _show_time(pen, answer.timeframe)
    for hit in answer[: ask.show]:
        _show_hit(pen, hit)
    if explained:
        _show_reasons(pen, answer[: ask.show])
    return milliseconds


def _show_time(pen: Pen, time: TimeUsed) -> None:
    if time.start and time.end:
        last = time.end - timedelta(days=1)
        pen.line(pen.dim(f'{INDENT}"{time.phrase}" was read as {_date(time.start)} to {_date(last)}'))


def _show_hit(pen: Pen, hit: Hit) -> None:
    rows = _wrapped(_marked(hit), WIDTH - len(BESIDE), pen.mark)
    date = _date(hit.memory.created_at)
    pen.line(f"{INDENT}{pen.bold(f'{hit.score:.2f}')}  {date:>6}  {rows[0]}")
    for row in rows[1:]:
        pen.line(BESIDE + row)
    about = [*_origin(hit), f"by {_FOUND_BY[hit.match]}"]
    if hit.related_count:
        about.append(f"{hit.related_count} related")
    pen.line(pen.dim(BESIDE + " · ".join(about)))
    if hit.superseded_by is not None:
        successor = _shortened(f"replaced by: {hit.superseded_by.content}", WIDTH - len(BESIDE))
        pen.line(pen.dim(BESIDE + successor))


def _origin(hit: Hit) -> list[str]:
    memory = hit.memory
    if memory.kind == "passage":
        return [" > ".join(memory.headings)]
    said = f"{memory.speaker} in {memory.session}" if memory.speaker else memory.session
    return [part for part in (said, memory.sector) if part]


def _date(moment: datetime) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]}"


def _show_reasons(pen: Pen, hits: Sequence[Hit]) -> None:
    """The score as a table: a row a hit, a column for everything that it was made of."""
    names = list(dict.fromkeys(factor.name for hit in hits for factor in hit.why.multipliers))
    rows = [
        ["", "words", "share", "meaning", "share", "lent", *(f"× {name}" for name in names), "= score"],
        *([str(place), *_reasons(hit, names)] for place, hit in enumerate(hits, 1)),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    pen.line()
    for row in rows:
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        pen.line(INDENT + (pen.dim(cells) if row is rows[0] else cells))
    legend = "#: the place among words and among meanings; lent: by what was said beside it"
    pen.line(INDENT + pen.dim(legend))


def _reasons(hit: Hit, names: Sequence[str]) -> list[str]:
    why = hit.why
    values = {factor.name: factor.value for factor in why.multipliers}
    given = sum(leg.share for leg in (why.keyword, why.semantic) if leg)
    scale = why.base / given if given else 0.0
    return [
        *_leg(why.keyword, scale),
        *_leg(why.semantic, scale),
        f"{why.lent:.3f}",
        *(f"{values.get(name, 1.0):.3f}" for name in names),
        f"{hit.score:.3f}",
    ]


def _leg(leg: Leg | None, scale: float) -> tuple[str, str]:
    return (f"#{leg.rank}", f"{leg.share * scale:.3f}") if leg else ("-", "-")


def _show_context(pen: Pen, context: Context) -> None:
    for line in context.text.splitlines():
        shown = _ID.sub(r'id="…\1"', line)
        for row in textwrap.wrap(shown, WIDTH - len(INDENT), subsequent_indent="  ") or [""]:
            pen.line(INDENT + row)
    pen.line(pen.dim(f"{INDENT}{context.tokens} tokens, {len(context.memories)} memories"))


def _show_end(pen: Pen, filled: Filled, seconds: float, times: Sequence[float]) -> None:
    typical = sorted(times)[len(times) // 2]
    pen.line()
    pen.line()
    pen.line(
        f"Remembering {filled.memories} memories and {filled.passages} passages took {seconds:.1f} s, "
        f"each of the {len(times)} answers about {typical:.0f} ms."
    )
    pen.line()
    pen.line(pen.bold("Your turn"))
    for command, purpose in (
        ('recollect add "We ship on Tuesdays" --tag release', "remember something"),
        ('recollect search "when do we ship?"', "find it again; --why explains the score"),
        ("recollect --help", "everything else"),
        ("export RECOLLECT_URL=project.db", "keep a project's memories in its own file"),
    ):
        pen.line(f"{INDENT}{command:<52}{pen.dim(purpose)}")
    pen.line()


def _marked(hit: Hit) -> list[tuple[str, bool]]:
    """The piece of the text that answers, as (text, whether it is marked)."""
    source = hit.highlights[0] if hit.highlights else html.escape(hit.memory.content, quote=False)
    return [
        (html.unescape(marked or plain), bool(marked))
        for marked, plain in (match.groups(default="") for match in _PIECE.finditer(source))
    ]


def _wrapped(pieces: Sequence[tuple[str, bool]], width: int, mark: Callable[[str], str]) -> list[str]:
    """Rows no wider than `width`, at most `LINES`; a marked word counts with its brackets."""
    rows, room = [""], width
    for text, space, is_marked in _atoms(pieces):
        needed = _columns(text) + 2 * is_marked
        if needed + space > room and rows[-1]:
            if len(rows) == LINES:
                rows[-1] += " …" if room >= 2 else ""
                return rows
            rows.append("")
            room, space = width, False
        rows[-1] += (" " if space and rows[-1] else "") + (mark(text) if is_marked else text)
        room -= needed + space
    return rows


def _atoms(pieces: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, bool, bool]]:
    """What must not be broken: a text, whether a space goes before it, whether it is marked.

    >>> list(_atoms([("the ", False), ("Shed", True), (", now", False)]))
    [('the', False, False), ('Shed', True, True), (',', False, False), ('now', True, False)]
    """
    space = False
    for text, is_marked in pieces:
        for part in (_SPACED if is_marked else _BREAKABLE).findall(text):
            if part.isspace():
                space = True
                continue
            yield part, space, is_marked
            space = False


def _columns(text: str) -> int:
    """How wide a text is on a terminal.

    >>> _columns("abc"), _columns("取件码")
    (3, 6)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
