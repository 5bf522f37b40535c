"""Splits Markdown and plain text into passages along its structure.

`split` reads a document in three steps: lines become blocks (paragraphs, list items, tables, fenced code,
headings), blocks are gathered under their headings, and the blocks of one heading are joined or cut into
passages of a useful size. All steps take time proportional to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect._markdown import Block, body_start, front_matter_title, read_blocks
from recollect.errors import InvalidInput
from recollect.frozen import dataclass

_LEAD_IN = 80
"""A passage shorter than this ("For example:") is joined with the block that it introduces."""

_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]++[”’」』）]*+")
_LINE_END = re.compile(r"\r\n?|\n")
_SPACES = re.compile(r"\s++")
_BLANK_LINES = re.compile(r"(?:[^\S\r\n]*+(?:\r\n?|\n))*+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that can be stored and found by itself."""

    text: str
    """The passage as it stands in the source, without blank lines at its ends."""
    headings: tuple[str, ...]
    """The headings above the passage, outermost first, as plain text."""
    position: int
    """The number of the passage in its document, from 0."""
    span: tuple[int, int]
    """Where the passage stands: `source[span[0]:span[1]] == text`."""


def split(source: str, *, target: int = 900, limit: int = 1600) -> list[Passage]:
    """Split a document into passages; none is longer than `limit` characters.

    A heading begins a new passage. Blocks under one heading are joined up to `target` characters. What fits
    in `limit` stays whole (a paragraph, list item, table or fenced block); what is longer is cut at sentence
    ends (tables and code: at line ends), and where there are none at line ends, at spaces, or anywhere.
    Every character of the source except blanks, headings, front matter and a byte order mark is in exactly
    one passage. A heading is a passage of its own only when nothing stands below it.

    >>> for passage in split("# Guide\\n\\n## Installing\\n\\nRun the installer.\\n\\n## Questions\\n"):
    ...     print(passage.headings, repr(passage.text))
    ('Guide', 'Installing') 'Run the installer.'
    ('Guide',) '## Questions'

    Raises InvalidInput when `target` or `limit` is less than 1.
    """
    if target < 1 or limit < 1:
        raise InvalidInput("target and limit must be at least 1 character")
    target = min(target, limit)
    passages: list[Passage] = []
    for headings, blocks in _sections(read_blocks(source)):
        for start, end in _joined(_fitting(source, blocks, target, limit), target, limit):
            passages.append(Passage(source[start:end], headings, len(passages), (start, end)))
    return passages


def title_of(source: str, fallback: str) -> str:
    """Return the title in the front matter, else the first heading of any level, else `fallback`.

    >>> title_of("Notes\\n=====\\n\\nText", "notes.md")
    'Notes'
    >>> title_of("Only text", "notes.md")
    'notes.md'
    """
    title = front_matter_title(source[: body_start(source)])
    if title:
        return title
    return next((block.title for block in read_blocks(source) if block.level), fallback)


def _sections(blocks: Iterator[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Gather the blocks under each heading; a heading with nothing below it is its own only block."""
    path: list[Block] = []
    body: list[Block] = []
    nothing_below = False
    for block in blocks:
        if not block.level:
            body.append(block)
            nothing_below = False
            continue
        if body:
            yield _titles(path), body
            body = []
        elif nothing_below and block.level <= path[-1].level:
            yield _titles(path[:-1]), path[-1:]
        while path and path[-1].level >= block.level:
            path.pop()
        path.append(block)
        nothing_below = True
    if body:
        yield _titles(path), body
    elif nothing_below:
        yield _titles(path[:-1]), path[-1:]


def _titles(path: list[Block]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path)


def _fitting(source: str, blocks: list[Block], target: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the blocks: list items with what they contain if that fits, long blocks cut."""
    for item in _items(blocks):
        if item[-1].end - item[0].start <= limit:
            yield item[0].start, item[-1].end
            continue
        for block in item:
            yield from _cut(source, block, target, limit)


def _items(blocks: list[Block]) -> Iterator[list[Block]]:
    """Group every block with the nested blocks that follow it."""
    item: list[Block] = []
    for block in blocks:
        if item and not block.nested:
            yield item
            item = []
        item.append(block)
    if item:
        yield item


def _joined(spans: Iterator[tuple[int, int]], target: int, limit: int) -> Iterator[tuple[int, int]]:
    """Join neighbouring spans up to `target` characters, or up to `limit` after a short lead-in."""
    lead_in = min(_LEAD_IN, target // 4)
    current: tuple[int, int] | None = None
    for start, end in spans:
        if current is None:
            current = (start, end)
            continue
        room = limit if current[1] - current[0] < lead_in else target
        if end - current[0] <= room:
            current = (current[0], end)
        else:
            yield current
            current = (start, end)
    if current is not None:
        yield current


def _cut(source: str, block: Block, target: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cut a block into spans of at most `limit` characters, without blank lines at their ends."""
    boundaries = (_LINE_END, _SENTENCE_END, _SPACES) if block.by_line else (_SENTENCE_END, _LINE_END, _SPACES)
    start = block.start
    while start < block.end:
        fits = block.end - start <= limit
        cut = block.end if fits else _cut_point(source, start, boundaries, target, limit)
        text = source[start:cut].rstrip()
        if text:
            yield start, start + len(text)
        start = _next_start(source, cut, block.end)


def _cut_point(
    source: str, start: int, boundaries: tuple[re.Pattern[str], ...], target: int, limit: int
) -> int:
    """Return the best place to end a span: the last boundary up to `target`, else the first up to `limit`."""
    for boundary in boundaries:
        matches = boundary.finditer(source, start + target // 3, start + limit)
        ends = [match.end() for match in matches]
        if ends:
            return max((end for end in ends if end <= start + target), default=ends[0])
    return start + target


def _next_start(source: str, cut: int, end: int) -> int:
    """Skip the blanks after a cut, but keep the indentation when a new line begins there."""
    lines = _BLANK_LINES.match(source, cut, end)
    after_lines = lines.end() if lines else cut
    if after_lines > cut or source[cut - 1] in "\r\n":
        return after_lines
    spaces = _SPACES.match(source, cut, end)
    return spaces.end() if spaces else cut
