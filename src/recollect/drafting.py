"""From what a caller gives to a record that can be written: checked, classified, analysed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from uuid_utils import uuid7

from recollect import checks
from recollect.errors import InvalidInput
from recollect.frozen import maker
from recollect.query.languages import detect_many
from recollect.sectors import classify_many
from recollect.store.base import Analysed, Record, Text, Vector
from recollect.store.text import analyse_many
from recollect.times import moment, moment_or_none
from recollect.types import SECTORS, TIERS, TRUSTS, Draft, Memory, Sector, Tier, Trust

_text, _record = maker(Text), maker(Record)


class Checked(NamedTuple):
    """A draft of which everything can be used, and what it lacks is None."""

    content: str
    created_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    speaker: str | None
    tags: tuple[str, ...]
    files: tuple[str, ...]
    language: str | None
    importance: float
    id: str
    sector: Sector | None
    tier: Tier
    trust: Trust
    session: str | None
    metadata: str
    source: str | None
    summary: str | None
    expires_at: datetime | None
    vector: Vector | None


def new_id() -> str:
    """A UUIDv7: ids sort by when they were made."""
    return str(uuid7())


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model sees: four bytes of UTF-8 each.

    >>> estimate_tokens("The API listens on port 8080"), estimate_tokens("我们用")
    (7, 3)
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)


def record(draft: Draft, now: datetime, vector: Vector | None = None) -> Record:
    """A memory, complete; InvalidInput when something about the draft can't be used."""
    return records([checked(draft, now, vector)])[0]


def checked(draft: Draft, now: datetime, vector: Vector | None = None) -> Checked:
    """What was given, in order; InvalidInput when something about it can't be used."""
    content = checks.text(draft.text)
    created_at = now if draft.created_at is None else moment(draft.created_at)
    valid_from, valid_until = moment_or_none(draft.valid_from), moment_or_none(draft.valid_until)
    checks.interval(valid_from, valid_until)
    speaker = checks.optional_name(draft.speaker, what="The speaker")
    tags = checks.names(draft.tags, what="A tag")
    files = checks.names(draft.files, what="A file name")
    language = checks.language(draft.language)
    importance = checks.fraction(draft.importance, what="importance")
    return Checked(
        content,
        created_at,
        valid_from,
        valid_until,
        speaker,
        tags,
        files,
        language,
        importance,
        checks.optional_name(draft.id, what="The id") or new_id(),
        checks.choice(draft.sector, SECTORS, what="sector") if draft.sector else None,
        checks.choice(draft.tier, TIERS, what="tier"),
        checks.choice(draft.trust, TRUSTS, what="trust"),
        checks.optional_name(draft.session, what="The session"),
        checks.metadata(draft.metadata),
        checks.optional_name(draft.source, what="The source"),
        checks.optional_text(draft.summary, what="The summary"),
        moment_or_none(draft.expires_at),
        vector,
    )


def records(drafts: Sequence[Checked]) -> list[Record]:
    """Memories, complete; many texts are read sooner than one by one."""
    languages = iter(detect_many([draft.content for draft in drafts if draft.language is None]))
    sectors = _sectors(drafts)
    texts = [
        _text(0, 0, d.content, d.speaker, d.language or next(languages), d.tags, d.files, (), "memory", None)
        for d in drafts
    ]
    return [
        _completed(draft, text.language, sector, analysed)
        for draft, text, sector, analysed in zip(drafts, texts, sectors, analyse_many(texts), strict=True)
    ]


def _sectors(drafts: Sequence[Checked]) -> Iterator[Sector]:
    found = iter(classify_many([draft.content for draft in drafts if draft.sector is None]))
    return (next(found) if draft.sector is None else draft.sector for draft in drafts)


def _completed(draft: Checked, language: str, sector: Sector, analysed: Analysed) -> Record:
    return _record(
        id=draft.id,
        kind="memory",
        content=draft.content,
        terms=analysed.terms,
        hash=analysed.hash,
        near_keys=analysed.near_keys,
        created_at=draft.created_at,
        updated_at=draft.created_at,
        sector=sector,
        tier=draft.tier,
        language=language,
        importance=draft.importance,
        salience=draft.importance,
        salience_at=draft.created_at,
        token_count=estimate_tokens(draft.content),
        trust=draft.trust,
        session=draft.session,
        speaker=draft.speaker,
        tags=draft.tags,
        files=draft.files,
        metadata=draft.metadata,
        source=draft.source,
        summary=draft.summary,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        expires_at=draft.expires_at,
        vector=draft.vector,
    )


_fields_of = attrgetter(*(field.name for field in fields(Record)))


def with_vector(record: Record, vector: Vector | None) -> Record:
    """The same record with a vector, which is its last field; sooner than `replace` makes it."""
    return _record(*(*_fields_of(record)[:-1], vector))


_UPDATABLE = sorted({field.name for field in fields(Draft)} - {"id", "vector"})


def changed(memory: Memory, changes: dict[str, Any], now: datetime) -> Record:
    """An existing memory with some of a draft's fields changed; the rest as it was."""
    checks.known(changes, _UPDATABLE, what="field to update")
    if memory.kind == "passage":
        raise InvalidInput("A passage belongs to its document: change that, and ingest it again.")
    if "session" in changes and changes["session"] is None:
        raise InvalidInput("A memory can't leave its session: name another one.")
    kept: dict[str, Any] = {name: getattr(memory, name) for name in _UPDATABLE if name != "text"}
    kept["text"] = memory.content
    if "text" in changes:
        del kept["language"], kept["sector"]
    if not {"valid_from", "valid_until"} & changes.keys():
        del kept["valid_from"], kept["valid_until"]
    written = record(Draft(**kept | changes, id=memory.id), now)
    if not {"valid_from", "valid_until"} & changes.keys():
        written = replace(written, valid_from=memory.valid_from, valid_until=memory.valid_until)
    salience = written.importance if "importance" in changes else memory.salience
    return replace(written, updated_at=now, salience=salience, salience_at=now)
