"""Hits, memories, previews and sessions in both forms of an answer: ways to show them, the fullest first."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from recollect.doors.cli.render import when
from recollect.doors.mcp.output import LONGEST_RELATIONS, Attributes, Record, Way, listed, tagged, trimmed
from recollect.doors.plain import plain
from recollect.memories.finding import shortened
from recollect.types import Hit, Memory, Preview, Relation, Session

SNIPPET = 300
SHORT_ENOUGH = 1_000
"""A text of so many characters is given whole where there is no snippet to give."""
FEW_RELATIONS = 120
"""In bytes, where there is little room."""

_MARK = re.compile("</?mark>")
_ORIGIN = ("id", "created_at", "sector", "tags", "speaker", "session", "source", "trust")
_RESULT = ("score", "match", "highlights", "is_superseded")


def hit_ways(hit: Hit, *, in_full: bool) -> Iterator[Way]:
    """In full, as a snippet, or by its id alone; what a shorter record has is where a fuller one has it."""
    memory, record = hit.memory, plain(hit)
    further: Attributes = [("score", f"{hit.score:.2f}"), ("match", hit.match)]
    if in_full:
        yield quoted(memory, memory.content.strip(), further), record
    origin = {name: record["memory"][name] for name in _ORIGIN}
    if not hit.highlights and len(memory.content) <= SHORT_ENOUGH:
        origin["content"] = memory.content
    less = {"memory": origin} | {name: record[name] for name in _RESULT}
    if hit.superseded_by:
        less["superseded_by"] = {name: record["superseded_by"][name] for name in ("id", "created_at")}
    yield quoted(memory, _snippet(hit), further), less
    yield bare(memory.id), {"memory": {"id": memory.id}, "score": hit.score}


def _snippet(hit: Hit) -> str:
    if hit.highlights:
        return " ".join(html.unescape(_MARK.sub("", each)) for each in hit.highlights)
    return shortened(hit.memory.summary or hit.memory.content, SNIPPET)


def preview_ways(preview: Preview, *, is_anchor: bool = False) -> Iterator[Way]:
    """A line of a timeline, or the id alone."""
    attributes: Attributes = [
        ("date", when(preview.created_at)),
        ("kind", preview.kind),
        ("sector", preview.sector),
        ("tags", ", ".join(preview.tags)),
        ("speaker", preview.speaker),
        ("source", preview.source),
        ("session", preview.session),
        ("trust", preview.trust),
        ("superseded", "yes" if preview.superseded else None),
        ("asked_for", "yes" if is_anchor else None),
    ]
    record, _ = trimmed(plain(preview), SHORT_ENOUGH, keep=("id", "text"))
    yield tagged("memory", preview.id, attributes, preview.text), record
    yield bare(preview.id), {"id": preview.id}


def session_ways(session: Session) -> Iterator[Way]:
    """A session with its summary, without it, or its id alone."""
    attributes: Attributes = [
        ("agent", session.agent),
        ("from", when(session.started_at)),
        ("to", when(session.ended_at) or "now"),
        ("memories", str(session.memories)),
    ]
    record, _ = trimmed(plain(session), SHORT_ENOUGH)
    yield tagged("session", session.id, attributes, record.get("summary") or ""), record
    yield tagged("session", session.id, (), "…"), {"id": session.id}


def part_ways(
    memory: Memory, relations: Sequence[Relation], text: str, which: Record, size: int
) -> Iterator[Way]:
    """A memory, or one part of its text: with all that is known of it, or with as much as fits."""
    edges = [
        f"{edge.type} {edge.target}" if edge.source == memory.id else f"{edge.source} {edge.type} this"
        for edge in relations
    ]
    part: Attributes = [("part", f"{which['part']} of {which['parts']}" if which else None)]
    whole: Record = plain(memory) | {"relations": plain(relations)} | which
    del whole["content"]
    record, _ = trimmed(whole, size, keep=("id", "part", "parts"))
    filled = record | {"content": text}
    for size in (LONGEST_RELATIONS, FEW_RELATIONS):
        yield quoted(memory, text, [*part, ("relations", listed(edges, size))]), filled
    yield tagged("memory", memory.id, [*part, ("trust", memory.trust)], text), filled


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


def bare(id: str) -> str:
    """A memory that there is no room for: get has it."""
    return tagged("memory", id, (), "…")
