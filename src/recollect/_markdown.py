"""Reads the lines of a Markdown or plain text into blocks: what `recollect.documents` joins and cuts.

This knows as much of Markdown as is needed to cut a text in good places. It departs from CommonMark where
that serves people's notes better: a heading has text, at most 300 characters of it, and an underlined
(setext) heading is one line, so that a paragraph above a forgotten blank line and `---` remains a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_HEADING = 300
_CODE_INDENT = 4

_LINES = re.compile(r"(?:[^\S\r\n]*+(?:\r\n?|\n))++|([^\r\n]++)(?:\r\n?|\n)?")
_FRONT_MATTER = re.compile(
    r"""\ufeff?---[ \t]*+(?:\r\n?|\n)
    (?=[\w"'])
    (?:(?:["']?[\w./-]++["']?[ \t]*+:(?!\S)[^\r\n]*+   # key: value
         |(?:[ \t#\]}]|-[ \t])[^\r\n]*+                # continuation, comment, closing bracket, list entry
       )?+(?:\r\n?|\n))*+
    (?:---|\.\.\.)[ \t]*+(?:\r\n?|\n|\Z)""",
    re.VERBOSE,
)
_FRONT_MATTER_TITLE = re.compile(r"(?<=[\r\n])title[ \t]*+:[ \t]*+([^\r\n]++)", re.IGNORECASE)
_QUOTED = re.compile(r"([\"'])((?:(?!\1).)*+)\1\s*+(?:#.*)?", re.DOTALL)
_ATX = re.compile(r"(#{1,6})[ \t]++(.*)", re.DOTALL)
_UNDERLINE = re.compile(r"(?:=++|-++)\s*+\Z")
_FENCE = re.compile(r"(`{3,}+)[^`]*+\Z|(~{3,}+)")
_MARKER = re.compile(r"(?:[-*+•]|([0-9]{1,9})[.)])(?:[ \t]++|\Z)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(`++|\*\*)([^`*]+)\1")


@dataclass(slots=True)
class Block:
    """A heading, paragraph, list item, table or fenced code block: `source[start:end]`."""

    start: int
    end: int
    by_line: bool = False
    """Lines matter more than sentences here: a table or code."""
    nested: bool = False
    """The block is part of the list item before it."""
    level: int = 0
    """1 to 6 for a heading, 0 for everything else."""
    title: str = ""
    """The plain text of a heading."""


def body_start(source: str) -> int:
    """Return the offset behind the byte order mark and the YAML front matter, where there are any."""
    front_matter = _FRONT_MATTER.match(source)
    if front_matter:
        return front_matter.end()
    return 1 if source.startswith("\ufeff") else 0


def front_matter_title(front_matter: str) -> str:
    """Return what `title:` says in YAML front matter, or an empty string.

    >>> front_matter_title("---\\ntitle: 'Field notes' # draft\\n---\\n")
    'Field notes'
    """
    match = _FRONT_MATTER_TITLE.search(front_matter)
    if not match:
        return ""
    value = match[1].strip()
    quoted = _QUOTED.fullmatch(value)
    return quoted[2].strip() if quoted else value.split(" #")[0].strip()


def read_blocks(source: str) -> Iterator[Block]:
    """Yield the blocks of a text in order; between them stand only blanks and front matter."""
    reader = _Reader()
    for line in _LINES.finditer(source, body_start(source)):
        text = (line[1] or "").rstrip()
        if text:
            reader.read_line(line.start(), text)
        else:
            reader.read_blank()
        yield from reader.take_finished()
    reader.finish_block()
    yield from reader.take_finished()


class _Reader:
    """Takes the lines of a text one by one and puts them together to blocks."""

    def __init__(self) -> None:
        self._finished: list[Block] = []
        self._open: Block | None = None
        self._heading_candidate = ""
        self._fence: tuple[str, int] | None = None
        self._list_indent: int | None = None

    def take_finished(self) -> list[Block]:
        """Hand over the blocks that no further line can change."""
        finished, self._finished = self._finished, []
        return finished

    def finish_block(self) -> None:
        if self._open:
            self._finished.append(self._open)
        self._open = None
        self._heading_candidate = ""

    def read_blank(self) -> None:
        if not self._fence:
            self.finish_block()

    def read_line(self, start: int, text: str) -> None:
        """Read a line that is not blank, given without the blanks at its end."""
        content = text.lstrip()
        indent = len(text[: len(text) - len(content)].expandtabs(_CODE_INDENT))
        end = start + len(text)
        if self._fence:
            self._read_code(content, indent, end)
            return
        nested = self._list_indent is not None and indent > self._list_indent
        is_code = indent >= _CODE_INDENT and not nested
        if not (is_code or nested) and self._read_heading(content, start, end):
            return
        marker = None if is_code else self._marker(content)
        if marker:
            self._read_item(indent, nested, start, end)
        elif not nested and not self._open:
            self._list_indent = None
        width = marker.end() if marker else 0
        if not is_code and self._opens_fence(content[width:], indent + width):
            if not marker:
                self._begin(start, end, nested)
            self._extend(end, by_line=True)
        elif not marker:
            self._read_text(content, start, end, nested)
            self._heading_candidate = "" if is_code or nested else self._as_heading(content, start)

    def _as_heading(self, content: str, start: int) -> str:
        """Return the line if an underline below would make it a heading, else an empty string."""
        is_lone_line = self._open is not None and self._open.start == start and not self._open.by_line
        is_text = content[0] != ">" and content.strip("-=*_ \t") != ""
        return content if is_lone_line and is_text and len(content) <= _LONGEST_HEADING else ""

    def _read_code(self, content: str, indent: int, end: int) -> None:
        self._extend(end, by_line=True)
        fence, allowed_indent = self._fence or ("", 0)
        if indent < allowed_indent and content.startswith(fence) and not content.strip(fence[0]):
            self._fence = None
            self.finish_block()

    def _read_heading(self, content: str, start: int, end: int) -> bool:
        """Read the line as a heading, or as what makes the line before it one, if it is that."""
        if self._open and self._heading_candidate and _UNDERLINE.match(content):
            start, level, title = self._open.start, 1 if content[0] == "=" else 2, self._heading_candidate
            self._open = None
        else:
            atx = _ATX.match(content)
            if not atx:
                return False
            level, title = len(atx[1]), _without_closing_marks(atx[2])
            if not title or len(title) > _LONGEST_HEADING:
                return False
        self.finish_block()
        self._list_indent = None
        self._finished.append(Block(start, end, level=level, title=_plain(title)))
        return True

    def _marker(self, content: str) -> re.Match[str] | None:
        """Return the list marker at the start; a number other than 1 does not interrupt a paragraph."""
        marker = _MARKER.match(content)
        in_paragraph = self._open is not None and self._list_indent is None
        return None if marker and in_paragraph and marker[1] not in (None, "1") else marker

    def _read_item(self, indent: int, nested: bool, start: int, end: int) -> None:
        self._begin(start, end, nested)
        if not nested:
            self._list_indent = indent

    def _opens_fence(self, content: str, indent: int) -> bool:
        fence = _FENCE.match(content)
        if fence:
            self._fence = (fence[1] or fence[2], indent + _CODE_INDENT)
        return fence is not None

    def _read_text(self, content: str, start: int, end: int, nested: bool) -> None:
        """Read a line of a paragraph or a table."""
        in_table = self._open is not None and self._open.by_line
        is_delimiter = "|" in content and "-" in content and not content.strip("|:- \t")
        is_row = is_delimiter or content[0] == "|" or (in_table and "|" in content)
        if not self._open or (is_row != in_table and not is_delimiter):
            self._begin(start, end, nested)
        self._extend(end, by_line=is_row)

    def _begin(self, start: int, end: int, nested: bool) -> None:
        self.finish_block()
        self._open = Block(start, end, nested=nested)

    def _extend(self, end: int, *, by_line: bool) -> None:
        if self._open:
            self._open.end = end
            self._open.by_line = by_line


def _without_closing_marks(heading: str) -> str:
    """Remove the closing `##` of a heading, but not that of `C#`."""
    unmarked = heading.rstrip("#")
    return unmarked.rstrip() if not unmarked or unmarked[-1].isspace() else heading


def _plain(heading: str) -> str:
    """Return the words of a heading without the marks of links, code and strong emphasis."""
    words = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", heading)).strip()
    return words or heading
