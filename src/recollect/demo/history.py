"""Six weeks of an invented project: where its lines are, when they happened, and how a store gets them.

`history.jsonl` has a line for every session and every memory. Times are days before now and a time of day
("-12T14:30"), so that "last week" is always last week: what happened on day -7 lies in it on any weekday.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, time, timedelta
from importlib.resources import files
from typing import Any

from recollect.memories import Memories
from recollect.types import Draft, Memory, Progress, Remembered

HANDBOOK = "handbook.md"
_IN_A_DRAFT = {field.name for field in fields(Draft)}


@dataclass(frozen=True, slots=True)
class Filled:
    """What a store was given: counts, and the id of every memory by its key in `history.jsonl`."""

    ids: Mapping[str, str]
    sessions: int
    memories: int
    merged: int
    near_duplicates: int
    superseded: int
    relations: int
    passages: int
    embedded: bool

    def key_of(self, memory: Memory) -> str:
        """The key of a memory; for a passage of the handbook, the heading above it."""
        if memory.kind == "passage":
            return f"{HANDBOOK}: {memory.headings[-1]}"
        return next(key for key, id in self.ids.items() if id == memory.id)


def fill(memories: Memories, now: datetime, progress: Progress | None = None) -> Filled:
    """Remember the whole history, as seen from `now`."""
    lines = list(read_history())
    sessions = [line for line in lines if "key" not in line]
    told = [line for line in lines if "key" in line]
    for line in sessions:
        memories.start_session(line["session"], agent=line["agent"], started_at=moment(line["start"], now))
    written = memories.remember_many([_draft(line, now) for line in told], progress=progress)
    ids = {line["key"]: item.id for line, item in zip(told, written, strict=True)}
    superseded = _supersede(memories, told, ids)
    relations = _relate(memories, told, ids)
    for line in sessions:
        memories.end_session(line["session"], summary=line["summary"], ended_at=moment(line["end"], now))
    ingested = memories.ingest(_text(HANDBOOK), name=HANDBOOK, progress=progress)
    return Filled(
        ids=ids,
        sessions=len(sessions),
        memories=len(set(ids.values())),
        merged=sum(item.outcome == "reinforced" for item in written),
        near_duplicates=sum(_is_near_duplicate(item) for item in written),
        superseded=superseded,
        relations=relations,
        passages=ingested.document.passages,
        embedded=all(item.embedded for item in written),
    )


def read_history() -> Iterator[dict[str, Any]]:
    """The lines of the history: those of sessions have no key."""
    for line in _text("history.jsonl").splitlines():
        yield json.loads(line)


def moment(offset: str, now: datetime) -> datetime:
    """A day before now and a time of day.

    >>> moment("-7T09:30", datetime(2026, 11, 4, 12, 0)).isoformat()
    '2026-10-28T09:30:00'
    """
    day, _, clock = offset.partition("T")
    date = now.date() + timedelta(days=int(day))
    return datetime.combine(date, time.fromisoformat(clock), now.tzinfo)


def _text(name: str) -> str:
    return (files("recollect.demo") / name).read_text("utf-8")


def _draft(line: Mapping[str, Any], now: datetime) -> Draft:
    given = {name: value for name, value in line.items() if name in _IN_A_DRAFT}
    return Draft(**given, created_at=moment(line["at"], now), source="demo")


def _supersede(memories: Memories, told: list[dict[str, Any]], ids: Mapping[str, str]) -> int:
    pairs = [(ids[line["supersedes"]], ids[line["key"]]) for line in told if "supersedes" in line]
    for old, new in pairs:
        memories.supersede(old, new)
    return len(pairs)


def _relate(memories: Memories, told: list[dict[str, Any]], ids: Mapping[str, str]) -> int:
    edges = [
        (ids[line["key"]], ids[target], type)
        for line in told
        for type, targets in line.get("relations", {}).items()
        for target in targets
    ]
    for source, target, type in edges:
        memories.relate(source, target, type)
    return len(edges)


def _is_near_duplicate(item: Remembered) -> bool:
    return item.outcome == "added" and bool(item.near_duplicates)
