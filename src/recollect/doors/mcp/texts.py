"""Hits and memories in both forms of an answer, shortened where there is no room for all of them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from mcp_types import CallToolResult

from recollect.doors.cli.render import count
from recollect.doors.mcp.output import (
    BYTES_OF_A_TOKEN,
    RESERVED,
    Record,
    Room,
    answer,
    framed,
    parts,
    quoted,
    said,
    trimmed,
)
from recollect.doors.plain import plain
from recollect.errors import InvalidInput
from recollect.memories.finding import shortened
from recollect.types import Hit, Memory, Relation

SNIPPET = 300
SHORT_ENOUGH = 1_000
"""A text of so many characters is given whole where there is no snippet to give."""

_MARK = re.compile("</?mark>")
_ORIGIN = ("id", "created_at", "sector", "tags", "speaker", "session", "source", "trust")
_RESULT = ("score", "match", "highlights", "is_superseded")


def shown_hit(hit: Hit, *, in_full: bool = False) -> tuple[str, Record]:
    """A hit as quoted text and as a record; of the record, a snippet has less, at the same places."""
    record: Record = plain(hit)
    memory = hit.memory
    further = [("score", f"{hit.score:.2f}"), ("match", hit.match)]
    if in_full:
        return quoted(memory, memory.content.strip(), further), record
    kept = {name: record["memory"][name] for name in _ORIGIN}
    if not hit.highlights and len(memory.content) <= SHORT_ENOUGH:
        kept["content"] = memory.content
    origin, _ = trimmed(kept, 2 * SHORT_ENOUGH, keep=("id", "content"))
    less = {"memory": origin} | {name: record[name] for name in _RESULT}
    if hit.superseded_by:
        less["superseded_by"] = {name: record["superseded_by"][name] for name in ("id", "created_at")}
    return quoted(memory, _snippet(hit), further), less


def _snippet(hit: Hit) -> str:
    if hit.highlights:
        return " ".join(html.unescape(_MARK.sub("", each)) for each in hit.highlights)
    return shortened(hit.memory.summary or hit.memory.content, SNIPPET)


def shown_memories(
    found: Sequence[tuple[Memory, Sequence[Relation]]], part: int, max_tokens: int
) -> CallToolResult:
    """Whole memories: the first in parts if it is long, the others while there is room."""
    room = Room(max_tokens)
    room.takes(framed(()), {"memories": []})
    longest = (max_tokens * BYTES_OF_A_TOKEN - RESERVED) // 2
    texts: list[str] = []
    records: list[Record] = []
    hints: list[str] = []
    for memory, relations in found:
        pieces = parts(memory.content, longest)
        if part > len(pieces):
            raise InvalidInput(
                f"The text of {memory.id} has {count(len(pieces), 'part')}: ask for one from 1 to {len(pieces)}."
            )
        if texts and len(pieces) > 1:
            break
        origin, out = _described(memory, relations, room.left - longest if not texts else room.left)
        record = origin | {"content": pieces[part - 1]} | _which(part, pieces)
        text = _read(memory, relations, pieces, part)
        if not room.takes(text, record):
            break
        texts.append(text)
        records.append(record)
        if out:
            hints.append(f"Of {memory.id} there was no room for: {', '.join(out)}.")
        if part < len(pieces):
            hints.append(f"The text goes on: get {memory.id} with part={part + 1} of {len(pieces)}.")
    left = [memory.id for memory, _ in found[len(texts) :]]
    if left:
        hints.append(
            f"There was no room for {count(len(left), 'memory', 'memories')}: get {', '.join(left)}."
        )
    content: Record = {"memories": records} | ({"more": " ".join(hints)[: RESERVED // 3]} if hints else {})
    return answer(framed(texts) + said(*hints), content)


def _described(memory: Memory, relations: Sequence[Relation], size: int) -> tuple[Record, list[str]]:
    whole: Record = plain(memory) | {"relations": plain(relations)}
    del whole["content"]
    return trimmed(whole, size)


def _which(part: int, pieces: Sequence[str]) -> Record:
    return {"part": part, "parts": len(pieces)} if len(pieces) > 1 else {}


def _read(memory: Memory, relations: Sequence[Relation], pieces: Sequence[str], part: int) -> str:
    edges = [
        f"{edge.type} {edge.target}" if edge.source == memory.id else f"{edge.source} {edge.type} this"
        for edge in relations
    ]
    further = [
        ("part", f"{part} of {len(pieces)}" if len(pieces) > 1 else None),
        ("relations", "; ".join(edges)),
    ]
    return quoted(memory, pieces[part - 1], further)
