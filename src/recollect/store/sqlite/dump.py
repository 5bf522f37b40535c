"""Everything in a namespace as plain records and back, losing nothing.

The order is fixed: the models, the sessions, the documents, the memories as they were written, then their
edges, links and vectors. Times are ISO 8601 in UTC; vectors and hashes are base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import apsw

from recollect import checks
from recollect.errors import InvalidInput
from recollect.store.base import Analyser, Generation, Record, Text
from recollect.store.sqlite.queries import Row, queries, run
from recollect.store.sqlite.writing import Writer
from recollect.times import from_micros, moment, to_micros
from recollect.types import KINDS, SECTORS, TIERS, TRUSTS, Document, Relation, Session

_TIMES = {
    "created_at", "updated_at", "accessed_at", "salience_at", "valid_from", "valid_until", "expires_at",
    "deleted_at", "started_at", "ended_at", "at",
}  # fmt: skip
_LISTS = {"tags", "files", "headings", "metadata"}


def dump(connection: apsw.Connection, namespace: int, *, vectors: bool) -> Iterator[dict[str, Any]]:
    """The records of a namespace; its vectors only when asked for."""
    for record in _rows(connection, "dump_generations", "generation", namespace):
        yield {
            "type": "generation",
            "model": record["model"],
            "dimensions": record["dimensions"],
            "fingerprint": record["fingerprint"],
        }
    for name in ("session", "document", "memory"):
        plural = "memories" if name == "memory" else f"{name}s"
        for record in _rows(connection, f"dump_{plural}", name, namespace):
            record.pop("number", None)
            yield record
    for a, b, type, origin, at in run(connection, "dump_relations", namespace=namespace):
        yield {
            "type": "relation",
            "source": a,
            "target": b,
            "relation": type,
            "origin": origin,
            "at": _iso(at),
        }
    for session, memory, usage, at in run(connection, "dump_links", namespace=namespace):
        yield {"type": "link", "session": session, "memory": memory, "usage": usage, "at": _iso(at)}
    if vectors:
        cursor: Iterator[Row] = connection.execute(queries()["dump_vectors"], {"namespace": namespace})
        for id, fingerprint, blob in cursor:
            yield {"type": "vector", "memory": id, "generation": fingerprint, "embedding": _base64(blob)}


def _rows(connection: apsw.Connection, query: str, type: str, namespace: int) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(queries()[query], {"namespace": namespace})
    for row in cursor:
        names = [str(column[0]) for column in cursor.description]
        yield {"type": type} | {
            name: _plain(name, value) for name, value in zip(names, row, strict=True) if value is not None
        }


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _iso(value)
    if name in _LISTS:
        return json.loads(value)
    return _base64(value) if isinstance(value, bytes) else value


def _iso(micros: int) -> str:
    return from_micros(micros).isoformat()


def _base64(blob: bytes) -> str:
    return base64.b64encode(blob).decode("ascii")


class Undump:
    """Writes dumped records into a namespace; what is there already is left alone and counted."""

    def __init__(self, writer: Writer, analyse: Analyser) -> None:
        self._writer = writer
        self._analyse = analyse
        self._documents: dict[str, tuple[int, str]] = {}
        self._generations: dict[str, Generation] = {}
        self.counts: dict[str, int] = {}

    def write(self, record: Mapping[str, Any]) -> None:
        """One record, by its type."""
        writers = {
            "generation": self._generation,
            "session": self._session,
            "document": self._document,
            "memory": self._memory,
            "relation": self._relation,
            "link": self._link,
            "vector": self._vector,
        }
        type = record.get("type")
        if not isinstance(type, str) or type not in writers:
            raise InvalidInput(f"{type!r} is no type of record: this is not a Recollect export.")
        try:
            written = writers[type](record)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"A {type} record lacks or garbles a field ({error}): export it again."
            ) from error
        self._count(f"{type}s" if type != "memory" else "memories", written)

    def finish(self) -> None:
        """Nothing may be superseded by what did not come along."""
        missing = self._writer.missing_successors()
        if missing:
            raise InvalidInput(
                f"{missing} memories are superseded by one that is missing: export it all again."
            )

    def _count(self, name: str, written: bool) -> None:
        key = name if written else f"{name} already there"
        self.counts[key] = self.counts.get(key, 0) + 1

    def _generation(self, record: Mapping[str, Any]) -> bool:
        generation = Generation(record["model"], int(record["dimensions"]), record["fingerprint"])
        self._generations[generation.fingerprint] = generation
        self._writer.generation(generation)
        return True

    def _session(self, record: Mapping[str, Any]) -> bool:
        self._writer.save_session(
            Session(
                record["id"],
                "",
                moment(record["started_at"]),
                _moment(record, "ended_at"),
                record.get("agent"),
                record.get("summary"),
            )
        )
        return True

    def _document(self, record: Mapping[str, Any]) -> bool:
        document = Document(
            record["id"],
            "",
            record["name"],
            record["title"],
            0,
            moment(record["created_at"]),
            moment(record["updated_at"]),
        )
        number = self._writer.document(document, base64.b64decode(record["hash"]))
        self._documents[document.name] = (number, document.title)
        return True

    def _memory(self, record: Mapping[str, Any]) -> bool:
        if self._writer.has(record["id"]):
            return False
        document, title = self._documents.get(record.get("document", ""), (None, None))
        complete = self._complete(record, title)
        key = self._writer.insert(complete, document=document)
        self._writer.set_near_keys(key, complete.near_keys)
        return True

    def _complete(self, record: Mapping[str, Any], title: str | None) -> Record:
        tags, files, headings = (_strings(record, name) for name in ("tags", "files", "headings"))
        text = Text(
            0,
            0,
            record["content"],
            record.get("speaker"),
            record["language"],
            tags,
            files,
            headings,
            record["kind"],
            title,
        )
        analysed = self._analyse(text)
        plain = ("id", "kind", "content", "sector", "tier", "language", "importance", "salience",
                 "access_count", "token_count", "trust")  # fmt: skip
        optional = ("session", "position", "speaker", "source", "summary", "superseded_by")
        times = ("accessed_at", "valid_from", "valid_until", "expires_at", "deleted_at")
        fields: dict[str, Any] = {name: record[name] for name in plain}
        fields |= {name: record.get(name) for name in optional}
        _check(fields)
        fields |= {name: _moment(record, name) for name in times}
        fields |= {name: moment(record[name]) for name in ("created_at", "updated_at", "salience_at")}
        return Record(
            **fields,
            terms=analysed.terms,
            hash=analysed.hash,
            near_keys=analysed.near_keys,
            tags=tags,
            files=files,
            headings=headings,
            metadata=checks.metadata(record["metadata"]),
        )

    def _relation(self, record: Mapping[str, Any]) -> bool:
        source, target, type, origin = (record[name] for name in ("source", "target", "relation", "origin"))
        self._writer.relate(Relation(source, target, type, origin, moment(record["at"])))
        return True

    def _link(self, record: Mapping[str, Any]) -> bool:
        self._writer.restore_link(
            record["session"], record["memory"], record["usage"], to_micros(moment(record["at"]))
        )
        return True

    def _vector(self, record: Mapping[str, Any]) -> bool:
        import numpy as np

        generation = self._generations[record["generation"]]
        vector = np.frombuffer(base64.b64decode(record["embedding"]), "<f4")
        if len(vector) != generation.dimensions:
            raise InvalidInput(f"The vector of {record['memory']} has {len(vector)} dimensions, not "
                               f"{generation.dimensions}: export it again.")  # fmt: skip
        return self._writer.restore_vector(record["memory"], generation, vector.astype(np.float32))


def _strings(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if not isinstance(record[name], list):
        raise InvalidInput(f"{name} must be a list of strings.")
    return tuple(checks.text(value, what=f"An entry of {name}") for value in record[name])


def _check(fields: Mapping[str, Any]) -> None:
    """What comes from outside must be as good as what we write ourselves."""
    checks.text(fields["content"])
    checks.name(fields["id"], what="The id")
    for name in ("session", "speaker", "source", "superseded_by"):
        checks.optional_name(fields[name], what=f"The {name}")
    checks.optional_text(fields["summary"], what="The summary")
    for name, allowed in (("kind", KINDS), ("sector", SECTORS), ("tier", TIERS), ("trust", TRUSTS)):
        checks.choice(fields[name], allowed, what=name)
    checks.language(fields["language"])
    for name in ("importance", "salience"):
        checks.fraction(fields[name], what=name)
    for name in ("access_count", "token_count", "position"):
        if fields[name] is not None:
            checks.limit(fields[name], what=name, lowest=0, highest=2**53)


def _moment(record: Mapping[str, Any], name: str) -> datetime | None:
    return moment(record[name]) if record.get(name) is not None else None
