"""From what a caller gives to a record that can be written: checked, classified, analysed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from recollect import checks
from recollect.errors import InvalidInput
from recollect.frozen import fill, maker
from recollect.query.languages import detect_many
from recollect.store.base import Record, Vector
from recollect.store.text import read, text_hash, with_labels
from recollect.times import moment, moment_or_none
from recollect.types import SECTORS, TIERS, TRUSTS, Draft, Memory


def new_id() -> str:
    """A UUIDv7: ids sort by when they were made."""
    from uuid_utils import uuid7  # whoever only asks needs none

    return str(uuid7())


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model sees: four bytes of UTF-8 each.

    >>> estimate_tokens("The API listens on port 8080"), estimate_tokens("我们用")
    (7, 3)
    """
    return -(-(len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // 4)


def record(draft: Draft, now: datetime, vector: Vector | None = None) -> Record:
    """A memory, complete; InvalidInput when something about the draft can't be used."""
    return completed([draft], [checked(draft, now, vector)])[0]


def checked(draft: Draft, now: datetime, vector: Vector | None = None) -> Record:
    """A memory but for what is read in its text; InvalidInput when something can't be used."""
    content = checks.text(draft.text)
    created_at = now if draft.created_at is None else moment(draft.created_at)
    valid_from, valid_until = moment_or_none(draft.valid_from), moment_or_none(draft.valid_until)
    checks.interval(valid_from, valid_until)
    speaker = checks.optional_name(draft.speaker, what="The speaker")
    tags = checks.names(draft.tags, what="A tag")
    files = checks.names(draft.files, what="A file name")
    language = checks.language(draft.language)
    importance = checks.fraction(draft.importance, what="importance")
    return maker(Record)(  # by place: named, they take four times as long
        checks.optional_name(draft.id, what="The id") or new_id(),
        "memory",
        content,
        "",
        b"",
        created_at,
        created_at,
        checks.choice(draft.sector, SECTORS, what="sector") if draft.sector else "semantic",
        checks.choice(draft.tier, TIERS, what="tier"),
        language or "",
        importance,
        importance,
        created_at,
        estimate_tokens(content),
        checks.choice(draft.trust, TRUSTS, what="trust"),
        0,
        None,
        checks.optional_name(draft.session, what="The session"),
        None,
        speaker,
        tags,
        files,
        (),
        checks.metadata(draft.metadata),
        checks.optional_name(draft.source, what="The source"),
        checks.optional_text(draft.summary, what="The summary"),
        valid_from,
        valid_until,
        None,
        None,
        moment_or_none(draft.expires_at),
        None,
        None,
        (),
        vector,
    )


def completed(drafts: Sequence[Draft], records: list[Record]) -> list[Record]:
    """The same records, each with what is read in its text; many are read sooner than one by one."""
    from recollect.sectors import classify_many  # for what is written, not for what is asked

    detected = iter(detect_many([record.content for record in records if not record.language]))
    languages = [record.language or next(detected) for record in records]
    unsorted = [record.content for draft, record in zip(drafts, records, strict=True) if not draft.sector]
    sectors = iter(classify_many(unsorted))
    found = read([record.content for record in records], languages)
    for draft, record, language, (terms, keys) in zip(drafts, records, languages, found, strict=True):
        fill(
            record,
            language=language,
            sector=record.sector if draft.sector else next(sectors),
            terms=with_labels(terms, (record.speaker, *record.tags, *record.files), language),
            hash=text_hash(record.content),
            near_keys=keys if record.speaker is None else (),
        )
    return records


_fields_of = attrgetter(*Record.__slots__)


def with_vector(record: Record, vector: Vector | None) -> Record:
    """The same record with a vector, which is its last field; sooner than `replace` makes it."""
    return maker(Record)(*(*_fields_of(record)[:-1], vector))


_UPDATABLE = sorted({*Draft.__slots__} - {"id", "vector"})


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
