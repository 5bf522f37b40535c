"""What an answer looks like: quoted as data, within a budget of tokens, with a word on how to get the rest."""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from mcp_types import CallToolResult, TextContent

from recollect.assembling import FOOTER, HEADER, element
from recollect.doors.cli.render import one_line, safe, when
from recollect.types import Memory, Preview

BYTES_OF_A_TOKEN = 4
FEWEST_TOKENS, USUAL_TOKENS, MOST_TOKENS = 500, 2_000, 1_000_000
RESERVED = 600
"""Bytes kept for what is said after the memories: notes, and how to get the rest."""
LONGEST_ATTRIBUTE = 120
BLOCK = 100
"""A long text is cut into parts between blocks of so many characters."""

Record = dict[str, Any]
Attributes = Sequence[tuple[str, str | None]]


def answer(text: str, content: Record) -> CallToolResult:
    """An answer in both forms: for the model to read, and for programs."""
    return CallToolResult(content=[TextContent(type="text", text=safe(text))], structured_content=content)


def failure(sentence: str) -> CallToolResult:
    """What went wrong, in one sentence that the model can act upon."""
    return CallToolResult(content=[TextContent(type="text", text=one_line(sentence, 1_000))], is_error=True)


def in_bytes(value: str | Record) -> int:
    """How many bytes a text takes, or a record as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace"))


class Room:
    """What is left for one answer: its text and its structured content each stay within the budget.

    >>> room = Room(500)
    >>> room.takes("a line", {"id": "7"}), room.takes("x" * 2000, {})
    (True, False)
    """

    def __init__(self, tokens: int) -> None:
        self._text = self._content = tokens * BYTES_OF_A_TOKEN - RESERVED

    @property
    def left(self) -> int:
        """In bytes."""
        return min(self._text, self._content)

    def takes(self, text: str, content: Record) -> bool:
        """Whether both fit; what fits is taken at once."""
        text_size, content_size = in_bytes(text), in_bytes(content) + 1
        if text_size > self._text or content_size > self._content:
            return False
        self._text -= text_size
        self._content -= content_size
        return True


def trimmed(record: Record, size: int, keep: Collection[str] = ("id",)) -> tuple[Record, list[str]]:
    """A record without its largest values until it fits, and the names of what was left out.

    >>> trimmed({"id": "7", "summary": "a long one", "sector": "semantic"}, 40)
    ({'id': '7', 'sector': 'semantic'}, ['summary'])
    """
    left, out = dict(record), []
    while in_bytes(left) > size and (names := left.keys() - set(keep)):
        largest = max(sorted(names), key=lambda name: in_bytes({name: left[name]}))
        del left[largest]
        out.append(largest)
    return left, out


def parts(text: str, size: int) -> list[str]:
    """A text in parts that each fit, quoted and as JSON; put together again they are the text.

    >>> [len(part) for part in parts("x" * 250, 120)]
    [100, 100, 50]
    """
    made, current, used = [], "", 0
    for start in range(0, len(text), BLOCK):
        block = text[start : start + BLOCK]
        cost = max(
            in_bytes(html.escape(safe(block), quote=False)),
            in_bytes(json.dumps(block, ensure_ascii=False)[1:-1]),
        )
        if current and used + cost > size:
            made.append(current)
            current, used = "", 0
        current += block
        used += cost
    return [*made, current]


def framed(quoted: Iterable[str], doubt: str = "") -> str:
    """Quoted memories between the tags that say what they are."""
    return f"{HEADER.format(doubt)}{''.join(quoted)}{FOOTER}"


def quoted(memory: Memory, text: str, further: Attributes = ()) -> str:
    """A text of a memory as data, with where it comes from and how far to trust it."""
    attributes: Attributes = [
        ("date", when(memory.created_at)),
        ("speaker", memory.speaker),
        ("source", memory.source),
        ("document", memory.document),
        ("session", memory.session),
        ("trust", memory.trust),
        ("tags", ", ".join(memory.tags)),
        *further,
        ("superseded_by", memory.superseded_by),
    ]
    return tagged("memory", memory.id, attributes, text)


def previewed(preview: Preview, *, is_anchor: bool = False) -> str:
    """One line of a timeline as data."""
    attributes: Attributes = [
        ("date", when(preview.created_at)),
        ("kind", preview.kind),
        ("sector", preview.sector),
        ("tags", ", ".join(preview.tags)),
        ("speaker", preview.speaker),
        ("session", preview.session),
        ("superseded", "yes" if preview.superseded else None),
        ("asked_for", "yes" if is_anchor else None),
    ]
    return tagged("memory", preview.id, attributes, preview.text)


def tagged(name: str, id: str, attributes: Attributes, text: str) -> str:
    """A text between tags; nothing in it can close them, and no attribute is long but the id."""
    short = [(each, one_line(value, LONGEST_ATTRIBUTE) if value else None) for each, value in attributes]
    return element(name, [("id", one_line(id)), *short], safe(text))


def said(*sentences: str) -> str:
    """What is said after the memories, a line each."""
    return "".join(f"\n{one_line(sentence, RESERVED // 3)}" for sentence in sentences if sentence)
