"""Records from outside, checked and made steps of: they must be as good as what we write ourselves."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from recollect import checks, weighing
from recollect.errors import InvalidInput
from recollect.store.base import Analyser, Generation, Record, Text, Vector
from recollect.times import moment
from recollect.types import (
    KINDS,
    READINGS,
    SECTORS,
    TIERS,
    TRUSTS,
    Document,
    Relation,
    Session,
    Tuned,
    Usage,
)

_USAGES: tuple[Usage, ...] = get_args(Usage)
_MOST_DIMENSIONS = 100_000
_MOST_METADATA = 100 * checks.LONGEST_METADATA
"""The same text again adds its metadata: what came of that may be longer than what may be given at once."""
_HASH_LENGTH = 16
_UNIT = 1e-3
"""A vector whose length is further from 1 is none of ours."""
_UNIT_AS_IT_IS = 2e-4
"""One that is as near as this stays as it is, to the bit: embedders are allowed half of it."""


Role = Literal["searched", "next"]
_ROLES: tuple[Role, ...] = get_args(Role)


class DumpedGeneration(NamedTuple):
    """A model, and what its vectors are for; None when they are merely there, or in an older export.

    The one that is searched comes with the weights that its namespace is tuned to, and those before them.
    """

    generation: Generation
    role: Role | None
    tuned: Tuned | None
    tuned_before: Tuned | None


class DumpedSession(NamedTuple):
    """A session, and whether its summary was taken from its memories."""

    session: Session
    extracted: bool


class DumpedDocument(NamedTuple):
    """A document and the hash of its text."""

    document: Document
    hash: bytes


class DumpedLink(NamedTuple):
    """What a session did with a memory."""

    session: str
    memory: str
    usage: Usage
    at: datetime


class DumpedVector(NamedTuple):
    """A vector, the fingerprint of what made it, and the hash of the text that it was made from."""

    memory: str
    generation: str
    hash: bytes
    vector: Vector


Step: TypeAlias = (
    DumpedGeneration | DumpedSession | DumpedDocument | Record | Relation | DumpedLink | DumpedVector
)


class Reader:
    """Makes steps of records; what comes from outside must be as good as what we write ourselves.

    `title_of` gives the title of a document that did not come before its passages, or None.
    """

    def __init__(self, analyse: Analyser, title_of: Callable[[str], str | None] = lambda _: None) -> None:
        self._analyse = analyse
        self._title_of = title_of
        self._titles: dict[str, str] = {}
        self._dimensions: dict[str, int] = {}

    def steps(self, records: object) -> Iterator[Step]:
        """A step for each record; InvalidInput for the first that can't be used."""
        if not isinstance(records, Iterable):
            raise InvalidInput(f"The records must come in a list or the like, not {type(records).__name__}.")
        for record in records:
            yield self._step(record)

    def _step(self, record: object) -> Step:
        if not isinstance(record, Mapping):
            raise InvalidInput(f"A record must be a mapping, not {type(record).__name__}.")
        readers: dict[str, Callable[[Mapping[str, Any]], Step]] = {
            "generation": self._generation,
            "session": _session,
            "document": self._document,
            "memory": self._memory,
            "relation": _relation,
            "link": _link,
            "vector": self._vector,
        }
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in readers:
            raise InvalidInput(f"{kind!r} is no type of record: this is not a Recollect export.")
        try:
            return readers[kind](record)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"A {kind} record lacks or garbles a field ({error}): export it again."
            ) from error

    def _generation(self, record: Mapping[str, Any]) -> DumpedGeneration:
        generation = Generation(
            checks.name(record["model"], what="The model"),
            checks.limit(record["dimensions"], what="dimensions", highest=_MOST_DIMENSIONS),
            checks.name(record["fingerprint"], what="The fingerprint"),
        )
        self._dimensions[generation.fingerprint] = generation.dimensions
        role = record.get("role")
        return DumpedGeneration(
            generation,
            None if role is None else checks.choice(role, _ROLES, what="role"),
            _tuned(record.get("tuned")),
            _tuned(record.get("tuned_before")),
        )

    def _document(self, record: Mapping[str, Any]) -> DumpedDocument:
        document = Document(
            checks.name(record["id"], what="The id of a document"),
            "",
            checks.name(record["name"], what="The name of a document"),
            _label(record["title"], what="The title of a document"),
            0,
            moment(record["created_at"]),
            moment(record["updated_at"]),
        )
        self._titles[document.name] = document.title
        return DumpedDocument(document, _hash(record))

    def _memory(self, record: Mapping[str, Any]) -> Record:
        fields = _fields(record)
        document = checks.optional_name(record.get("document"), what="The document")
        text = Text(
            0,
            0,
            fields["content"],
            fields["speaker"],
            fields["language"],
            fields["tags"],
            fields["files"],
            fields["headings"],
            fields["kind"],
            None if document is None else self._title(document),
        )
        analysed = self._analyse(text)
        return Record(
            **fields,
            terms=analysed.terms,
            hash=analysed.hash,
            near_keys=analysed.near_keys,
            document=document,
        )

    def _title(self, document: str) -> str:
        title = self._titles.get(document)
        if title is None:
            title = self._title_of(document)
        if title is None:
            raise InvalidInput(f"The document {document!r} did not come before its passage: export it again.")
        self._titles[document] = title
        return title

    def _vector(self, record: Mapping[str, Any]) -> DumpedVector:
        memory = checks.name(record["memory"], what="The memory of a vector")
        generation = checks.name(record["generation"], what="The generation of a vector")
        if generation not in self._dimensions:
            raise InvalidInput(f"The vector of {memory} is of {generation!r}, which did not come before it.")
        vector = _unit(base64.b64decode(record["embedding"], validate=True), memory)
        if len(vector) != self._dimensions[generation]:
            raise InvalidInput(f"The vector of {memory} has {len(vector)} dimensions, not "
                               f"{self._dimensions[generation]}: export it again.")  # fmt: skip
        return DumpedVector(memory, generation, _hash(record), vector)


def _tuned(record: Mapping[str, Any] | None) -> Tuned | None:
    if record is None:
        return None
    return Tuned(
        **weighing.shares({name: record[name] for name in weighing.LEGS}),
        generation=checks.name(record["generation"], what="The generation of tuned weights"),
        reading=checks.choice(record["reading"], READINGS, what="reading"),
    )


def _session(record: Mapping[str, Any]) -> DumpedSession:
    session = Session(
        checks.name(record["id"], what="The session"),
        "",
        moment(record["started_at"]),
        _moment(record, "ended_at"),
        checks.optional_name(record.get("agent"), what="The agent"),
        checks.optional_text(record.get("summary"), what="The summary"),
    )
    if session.ended_at != session.started_at:
        checks.interval(session.started_at, session.ended_at)
    extracted = record.get("summary_extracted", False)
    if not isinstance(extracted, bool):
        raise InvalidInput(f"summary_extracted must be true or false, not {extracted!r}.")
    return DumpedSession(session, extracted)


def _relation(record: Mapping[str, Any]) -> Relation:
    source = checks.name(record["source"], what="The source of a relation")
    target = checks.name(record["target"], what="The target of a relation")
    if source == target:
        raise InvalidInput(f"{source} is related to itself: export it again.")
    return Relation(
        source,
        target,
        checks.name(record["relation"], what="The type of a relation"),
        checks.name(record["origin"], what="The origin of a relation"),
        moment(record["at"]),
    )


def _link(record: Mapping[str, Any]) -> DumpedLink:
    return DumpedLink(
        checks.name(record["session"], what="The session"),
        checks.name(record["memory"], what="The memory"),
        checks.choice(record["usage"], _USAGES, what="usage"),
        moment(record["at"]),
    )


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a memory's record says, field by field."""
    fields: dict[str, Any] = {
        "id": checks.name(record["id"], what="The id"),
        "content": checks.text(record["content"]),
        "summary": checks.optional_text(record.get("summary"), what="The summary"),
        "language": checks.language(checks.name(record["language"], what="The language")),
        "tags": checks.names(_list(record, "tags"), what="A tag"),
        "files": checks.names(_list(record, "files"), what="A file name"),
        "headings": tuple(_label(value, what="A heading") for value in _list(record, "headings")),
        "metadata": checks.metadata(record["metadata"], longest=_MOST_METADATA),
    }
    for name in ("session", "speaker", "source", "superseded_by"):
        fields[name] = checks.optional_name(record.get(name), what=f"The {name}")
    for name, allowed in _CHOICES.items():
        fields[name] = checks.choice(record[name], allowed, what=name)
    for name in ("importance", "salience"):
        fields[name] = checks.fraction(record[name], what=name)
    for name in ("access_count", "token_count"):
        fields[name] = _whole(record[name], name)
    place = record.get("position")
    fields["position"] = None if place is None else _whole(place, "position")
    if fields["superseded_by"] == fields["id"]:
        raise InvalidInput(f"{fields['id']} is superseded by itself: export it again.")
    return fields | _times(record)


_CHOICES: dict[str, tuple[str, ...]] = {"kind": KINDS, "sector": SECTORS, "tier": TIERS, "trust": TRUSTS}


def _times(record: Mapping[str, Any]) -> dict[str, datetime | None]:
    optional = ("accessed_at", "valid_from", "valid_until", "superseded_at", "expires_at", "deleted_at")
    times = {name: _moment(record, name) for name in optional}
    checks.interval(times["valid_from"], times["valid_until"])
    return times | {name: moment(record[name]) for name in ("created_at", "updated_at", "salience_at")}


def _moment(record: Mapping[str, Any], name: str) -> datetime | None:
    return moment(record[name]) if record.get(name) is not None else None


def _whole(value: object, what: str) -> int:
    return checks.limit(value, what=what, lowest=0, highest=2**53)


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(record[name], list):
        raise InvalidInput(f"{name} must be a list of strings.")
    return list(record[name])


def _label(value: object, *, what: str) -> str:
    """A title or heading as documents have them: of any length, blank, even with control characters."""
    if isinstance(value, str) and not value.strip():
        return value
    return checks.text(value, what=what, longest=checks.LONGEST_DOCUMENT)


def _hash(record: Mapping[str, Any]) -> bytes:
    hash = base64.b64decode(record["hash"], validate=True)
    if len(hash) != _HASH_LENGTH:
        raise InvalidInput(f"A hash has {len(hash)} bytes, not {_HASH_LENGTH}: export it again.")
    return hash


def _unit(blob: bytes, memory: str) -> Vector:
    """A vector of unit length; what is a little off is put right."""
    import numpy as np

    vector: Vector = np.frombuffer(blob, "<f4").astype(np.float32)
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not abs(length - 1) <= _UNIT:
        raise InvalidInput(f"The vector of {memory} has the length {length:g}, not 1: export it again.")
    return vector if abs(length - 1) <= _UNIT_AS_IT_IS else (vector / length).astype(np.float32)
