"""How answers look to people: safe on any terminal, coloured only on one, times in UTC."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from recollect.types import Hit, Memory, Preview, Relation, Session, Timeline

SHORT_ID = 12
SNIPPET = 200
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe(text: str) -> str:
    r"""Text that does nothing to a terminal: control characters and bidi overrides are shown, not obeyed.

    >>> print(safe("a\x1b[31mred\u202e"))
    a\x1b[31mred\u202e
    """
    return _UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, length: int = 0) -> str:
    """A safe text on one line, cut to a length if one is given."""
    line = " ".join(safe(text).split())
    return line if not length or len(line) <= length else line[: length - 1] + "…"


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON that any terminal may show: what is unsafe is written as \u escapes, and nothing is lost.

    >>> json_text({"text": "é\x9b"})
    '{"text": "é\\u009b"}'
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def write(line: str) -> None:
    """One line of the answer, as it is."""
    click.echo(line, color=True)


def on_terminal() -> bool:
    """Whether a person sees the answer as it is printed."""
    return sys.stdout.isatty()


def is_dumb() -> bool:
    """Whether the terminal can do no more than print."""
    return os.environ.get("TERM") == "dumb"


def in_colour(stream: TextIO | None = None) -> bool:
    """Whether to colour it: as --color says, else NO_COLOR, else FORCE_COLOR, else on a terminal that can."""
    context = click.get_current_context(silent=True)
    if context is not None and context.find_root().color is not None:
        return bool(context.find_root().color)
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (on_terminal() if stream is None else stream.isatty()) and not is_dumb()


def style(text: str, **how: Any) -> str:
    """Coloured where colours are wanted."""
    return click.style(text, **how) if text and in_colour() else text


def when(moment: datetime | None) -> str:
    """A moment in UTC, to the minute."""
    return "" if moment is None else moment.astimezone(UTC).isoformat(" ", "minutes")[:16]


def short(id: str | None) -> str:
    """The end of an id, which is enough wherever an id is asked for."""
    return safe(id or "")[-SHORT_ID:]


def count(number: int, thing: str, things: str = "") -> str:
    """A number of things.

    >>> count(1, "memory", "memories"), count(1200, "session")
    ('1 memory', '1,200 sessions')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


# tables


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> Iterator[str]:
    """Aligned columns; rich draws them on a terminal, if it is installed."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    numbers = frozenset(right)
    if on_terminal():
        try:
            from rich.table import Table
        except ImportError:
            pass
        else:
            yield _drawn(Table(box=None, pad_edge=False), headers, cells, numbers)
            return
    widths = [max(_width(row[i]) for row in (headers, *cells)) for i in range(len(headers))]
    for row in (headers, *cells):
        yield "  ".join(_padded(cell, widths[i], i in numbers) for i, cell in enumerate(row)).rstrip()


def _drawn(drawing: Any, headers: Sequence[str], cells: list[list[str]], numbers: frozenset[int]) -> str:
    import shutil

    from rich.console import Console
    from rich.text import Text

    for i, header in enumerate(headers):
        drawing.add_column(header, justify="right" if i in numbers else "left", no_wrap=i in numbers)
    for row in cells:
        drawing.add_row(*(Text(cell) for cell in row))
    widths = [max(map(_width, column)) for column in zip(headers, *cells, strict=True)]
    needed = sum(min(width, width if i in numbers else 12) + 2 for i, width in enumerate(widths))
    console = Console(
        width=max(shutil.get_terminal_size().columns, needed),
        force_terminal=in_colour(),
        no_color=not in_colour(),
    )
    with console.capture() as capture:
        console.print(drawing)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


# memories


def snippet(hit: Hit) -> str:
    """The piece of the text that answers, on one line, its matched words in bold."""
    if not hit.highlights:
        return one_line(hit.memory.summary or hit.memory.content, SNIPPET)
    pieces = re.split(r"(<mark>.*?</mark>)", " ".join(hit.highlights), flags=re.DOTALL)
    return " ".join("".join(_marked(piece) for piece in pieces).split())


def _marked(piece: str) -> str:
    from recollect.query.highlight import unescaped

    is_match = piece.startswith("<mark>")
    text = safe(unescaped(piece.removeprefix("<mark>").removesuffix("</mark>") if is_match else piece))
    return style(text, bold=True, fg="green") if is_match else text


def hits(found: Sequence[Hit], first: int = 1) -> Iterator[str]:
    """Each hit: rank, score, date, id and origin; the text; what else is to be known of it."""
    several = len({hit.memory.namespace for hit in found}) > 1
    for rank, hit in enumerate(found, first):
        memory = hit.memory
        origin = [memory.namespace if several else "", memory.speaker or "", _place(memory)]
        head = [
            f"{rank:>2}",
            f"{hit.score:.3f}",
            when(memory.created_at),
            style(short(memory.id), fg="yellow"),
        ]
        yield "  ".join((*head, *(style(one_line(part), fg="cyan") for part in origin if part)))
        yield f"    {snippet(hit)}"
        for remark in _remarks(hit):
            yield "    " + style(f"[{remark}]", dim=True)
        for neighbour in hit.neighbours:
            yield f"      {line(neighbour)}"


def _place(memory: Memory) -> str:
    if memory.document:
        return " › ".join((memory.document, *memory.headings))
    return f"session {memory.session}" if memory.session else ""


def _remarks(hit: Hit) -> Iterator[str]:
    if hit.superseded_by:
        yield f"superseded by {short(hit.superseded_by.id)}: {one_line(hit.superseded_by.content, 80)}"
    elif hit.memory.valid_until:
        yield f"valid until {when(hit.memory.valid_until)}"
    if hit.memory.trust != "normal":
        yield f"{hit.memory.trust} trust"
    if hit.related_count:
        yield f"{count(hit.related_count, 'relation')}: recollect relate --list {short(hit.memory.id)}"


def line(memory: Memory) -> str:
    """A memory on one line."""
    speaker = f"{one_line(memory.speaker)}: " if memory.speaker else ""
    text = one_line(memory.summary or memory.content, SNIPPET // 2)
    return f"{when(memory.created_at)}  {style(short(memory.id), fg='yellow')}  {speaker}{text}"


def whole(memory: Memory, relations: Iterable[Relation]) -> Iterator[str]:
    """Everything about a memory, then its text."""
    facts = {
        "id": memory.id, "namespace": memory.namespace, "created": when(memory.created_at),
        "updated": when(memory.updated_at) if memory.updated_at != memory.created_at else "",
        "sector": memory.sector, "tier": memory.tier, "kind": memory.kind,
        "speaker": memory.speaker, "session": memory.session, "document": memory.document,
        "headings": " › ".join(memory.headings), "tags": ", ".join(memory.tags),
        "files": ", ".join(memory.files), "summary": memory.summary, "language": memory.language,
        "importance": f"{memory.importance:.2f}", "salience": f"{memory.salience:.2f}",
        "used": count(memory.access_count, "time"), "last used": when(memory.accessed_at),
        "tokens": f"{memory.token_count:,}", "source": memory.source, "trust": memory.trust,
        "valid from": when(memory.valid_from), "valid until": when(memory.valid_until),
        "superseded by": memory.superseded_by, "expires": when(memory.expires_at),
        "deleted": when(memory.deleted_at),
        "metadata": json_text(dict(memory.metadata)) if memory.metadata else "",
    }  # fmt: skip
    named = [(name, one_line(value)) for name, value in facts.items() if value]
    for name, value in (*named, *(("relation", edge(each)) for each in relations)):
        yield f"{style(name.ljust(13), fg='cyan')}  {value}"
    yield ""
    yield safe(memory.content)


def edge(relation: Relation) -> str:
    """A relation on one line."""
    type, origin = one_line(relation.type), one_line(relation.origin)
    said = f"by {origin}, {when(relation.created_at)}"
    return f"{short(relation.source)} {type} {short(relation.target)}  ({said})"


# time


def around(timeline: Timeline) -> Iterator[str]:
    """What was remembered around a memory, with the sessions as they change."""
    session: str | None = None
    for memory in (*timeline.before, timeline.anchor, *timeline.after):
        if memory.session != session and (session := memory.session):
            yield style(f"session {headline(timeline.sessions[session])}", fg="cyan")
        yield f"{'>' if memory.id == timeline.anchor.id else ' '} {line(memory)}"


def previews(found: Iterable[Preview]) -> Iterator[str]:
    """Previews, one a line."""
    for each in found:
        tags = "".join(f" #{one_line(tag)}" for tag in each.tags)
        speaker = f"{one_line(each.speaker)}: " if each.speaker else ""
        gone = " [superseded]" if each.superseded else ""
        yield (
            f"{when(each.created_at)}  {style(short(each.id), fg='yellow')}  {each.sector:<10}  "
            f"{speaker}{one_line(each.text)}{tags}{gone}"
        )


def headline(session: Session) -> str:
    """A session on one line."""
    ended = when(session.ended_at) if session.ended_at else "open"
    parts = [session.id, session.agent, f"{when(session.started_at)} … {ended}", session.summary]
    return " · ".join(one_line(part) for part in parts if part)
