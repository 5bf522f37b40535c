"""Writing to SQLite. Everything here runs inside the caller's one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import apsw

from recollect.errors import InvalidInput, NoSuchDocument, NoSuchMemory
from recollect.query.duplicates import is_near_duplicate
from recollect.query.terms import terms_of
from recollect.store.base import Added, Generation, Record, Text, Vector
from recollect.store.sqlite import rows
from recollect.store.sqlite.queries import Row, queries
from recollect.store.text import analyse
from recollect.times import from_micros_or_none, micros_or_none, to_micros
from recollect.types import Document, Memory, OnDuplicate, Receipt, Relation, Session, Usage

REINFORCEMENT = 0.1


class Writer:
    """One transaction's view of one namespace, which is made when it is not there yet."""

    def __init__(self, connection: apsw.Connection, namespace: str, now: datetime) -> None:
        self._connection = connection
        self._now = to_micros(now)
        self._sessions: dict[str, int] = {}
        self.number = 0
        self._run("make_namespace", name=namespace)
        self.number, languages = self._run("namespace", name=namespace).get
        self._languages = set(languages.split())

    def _run(self, query: str, **parameters: Any) -> apsw.Cursor:
        given = {"namespace": self.number, "now": self._now} | parameters
        return self._connection.execute(queries()[query], given)

    def _rows(self, query: str, **parameters: Any) -> list[Row]:
        return self._run(query, **parameters).fetchall()

    def _count(self, query: str, **parameters: Any) -> int:
        self._run(query, **parameters)
        return self._connection.changes()

    # memories

    def add(
        self, records: Sequence[Record], generation: Generation | None, on_duplicate: OnDuplicate
    ) -> list[Added]:
        """Write records, or reinforce the memory that says the same."""
        number = self.generation(generation) if generation else None
        return [self._add(record, number, on_duplicate) for record in records]

    def _add(self, record: Record, generation: int | None, on_duplicate: OnDuplicate) -> Added:
        if on_duplicate == "reinforce" and record.speaker is None and record.kind == "memory":
            same = self._run("same_text", hash=record.hash).fetchone()
            if same is not None:
                return self._reinforce(record, same, generation)
        key = self.insert(record)
        if record.vector is not None and generation is not None:
            self.set_vector(key, generation, record.hash, record.vector)
        embedded = record.vector is not None and generation is not None
        return Added(record.id, "added", embedded, self._link_near_duplicates(key, record))

    def insert(self, record: Record, *, document: int | None = None) -> int:
        """The row alone; the triggers write its keyword entry."""
        if self.has(record.id):
            raise InvalidInput(
                f"A memory with the id {record.id!r} is there already: leave the id out, or update that one."
            )
        self._learn_languages([record])
        session = None if record.session is None else self.session(record.session, record.created_at)
        self._run(
            "add_memory", **columns(record), session=session, document=document, position=record.position
        )
        return self._connection.last_insert_rowid()

    def has(self, id: str) -> bool:
        """Whether an id is taken."""
        return bool(self._run("has_id", id=id).get)

    def _reinforce(self, record: Record, same: Sequence[Any], generation: int | None) -> Added:
        """The same text again: what it brings is added, what it says anew counts, and it lives longer."""
        key, id, content, language, old_tags, old_files, old_metadata = same
        tags = tuple(dict.fromkeys([*json.loads(old_tags), *record.tags]))
        files = tuple(dict.fromkeys([*json.loads(old_files), *record.files]))
        analysed = analyse(Text(key, self.number, content, None, language, tags, files, (), "memory", None))
        metadata = json.loads(old_metadata) | json.loads(record.metadata)
        self._run(
            "merge",
            **columns(record)
            | {"tags": _json(tags), "files": _json(files), "terms": analysed.terms, "number": key}
            | {"metadata": json.dumps(metadata, ensure_ascii=False)},
        )
        self.touch([key], REINFORCEMENT, uses=0)
        if record.session is not None:
            self.link([key], self.session(record.session, record.created_at), "reinforced")
        return Added(id, "reinforced", self._embed_late(key, generation, record))

    def _embed_late(self, key: int, generation: int | None, record: Record) -> bool:
        """A memory that waited for its vector gets the one that came with the same text."""
        if generation is None:
            return False
        embedded = bool(self._run("has_vector", memory=key, generation=generation).get)
        if not embedded and record.vector is not None:
            self.set_vector(key, generation, record.hash, record.vector)
        return embedded or record.vector is not None

    def _link_near_duplicates(self, key: int, record: Record) -> tuple[str, ...]:
        if not record.near_keys:
            return ()
        found = self._rows("similar_texts", keys=json.dumps(record.near_keys), itself=key)
        terms = terms_of(record.content, record.language)
        near = [
            (number, id)
            for number, id, content, language in found
            if is_near_duplicate(terms, terms_of(content, language))
        ]
        self.set_near_keys(key, record.near_keys)
        for number, _ in near:
            self._relate(key, number, "near_duplicate", "recollect", self._now)
        return tuple(id for _, id in near)

    def set_near_keys(self, key: int, near_keys: Iterable[int]) -> None:
        """What near-duplicates of this memory will be found by."""
        entries = [{"namespace": self.number, "key": near, "memory": key} for near in near_keys]
        self._connection.executemany(queries()["add_near_key"], entries)

    def change(
        self, id: str, rewrite: Callable[[Memory], Record], generation: Generation | None, session: str | None
    ) -> None:
        """Write a memory anew under its id; what was derived from the old text goes."""
        key = self.keys([id])[0]
        row = self._rows("present", number=key)[0]
        present = replace(rows.memory(row), valid_until=from_micros_or_none(row[-1]))
        record = rewrite(present)
        said_anew = (record.content, record.speaker) != (present.content, present.speaker)
        self._learn_languages([record])
        self._run("change", number=key, **columns(record))
        if record.session is not None:
            number = self.session(record.session, record.created_at)
            self._run("move_to_session", number=key, session=number)
        if said_anew:
            self._remove_vectors([key])
            self._run("remove_near_keys", numbers=json.dumps([key]))
            self._run("remove_near_links", number=key)
            self._link_near_duplicates(key, record)
        if record.vector is not None and generation is not None:
            self.set_vector(key, self.generation(generation), record.hash, record.vector)
        if session is not None:
            self.link([key], self.session(session), "updated")

    def keys(self, ids: Sequence[str]) -> list[int]:
        """The numbers of these memories, in order; NoSuchMemory for the first that is not there."""
        found: dict[str, int] = dict(self._rows("keys", ids=json.dumps(list(ids))))
        for id in ids:
            if id not in found:
                raise NoSuchMemory(
                    f"There is no memory {id!r} in this namespace: recall or timeline show ids."
                )
        return [found[id] for id in ids]

    def touch(self, keys: Sequence[int], amount: float, uses: int = 1) -> None:
        """Settle decay and raise salience."""
        self._run("touch", numbers=json.dumps(list(keys)), amount=amount, uses=uses)

    def supersede(self, old: str, new: str, at: datetime) -> None:
        """Close `old` at the moment `new` began to hold, and link both."""
        old_key, new_key = self.keys([old, new])
        following: str | None = new
        passed: set[str] = set()
        while following is not None and following not in passed:
            if following == old:
                raise InvalidInput(f"{new} was itself superseded by {old}: that would be a circle.")
            passed.add(following)
            following = self._run("successor_of", id=following).get
        self._run("close_validity", number=old_key, new=new, at=to_micros(at))
        self._relate(new_key, old_key, "supersedes", "recollect", self._now)

    def relate(self, relation: Relation) -> None:
        """Draw an edge between two memories of this namespace."""
        source, target = self.keys([relation.source, relation.target])
        self._relate(source, target, relation.type, relation.origin, to_micros(relation.created_at))

    def _relate(self, source: int, target: int, type: str, origin: str, at: int) -> None:
        self._run("relate", source=source, target=target, type=type, origin=origin, at=at)

    def unrelate(self, source: str, target: str, type: str | None) -> int:
        """Remove edges from one memory to another."""
        first, second = self.keys([source, target])
        return self._count("unrelate", source=first, target=second, type=type)

    def set_deleted(self, ids: Sequence[str], at: datetime | None) -> int:
        """Delete softly, or restore."""
        self.keys(ids)
        return self._count("set_deleted", ids=json.dumps(list(ids)), at=micros_or_none(at))

    # sessions

    def session(self, id: str, started_at: datetime | None = None) -> int:
        """The number of a session, which is made when it is not there yet."""
        if id not in self._sessions:
            started = self._now if started_at is None else to_micros(started_at)
            self._run("make_session", id=id, started_at=started)
            self._sessions[id] = self._run("session_number", id=id).get
        return self._sessions[id]

    def save_session(self, session: Session, *, extracted: bool = False) -> None:
        """Make a session, or write over it."""
        self._run("save_session", **session_values(session, extracted=extracted))
        self._sessions[session.id] = self._run("session_number", id=session.id).get

    def link(self, keys: Sequence[int], session: int, usage: Usage) -> None:
        """A session used these memories; one that was removed meanwhile is passed over."""
        self._run("link", numbers=json.dumps(list(keys)), session=session, usage=usage)

    # vectors

    def generation(self, generation: Generation) -> int:
        """Its number. The first of a namespace is searched at once, a further one when it is complete."""
        self._run("make_generation", **asdict(generation))
        number: int = self._run("generation_number", fingerprint=generation.fingerprint).get
        self._run("use_generation", generation=number)
        return number

    def set_vector(self, key: int, generation: int, hash: bytes, vector: Vector) -> None:
        """Keep a vector, unless the text that it was made from has changed."""
        embedding = vector.astype("<f4").tobytes()
        self._run("set_vector", generation=generation, memory=key, hash=hash, embedding=embedding)

    def switch_generation(self, generation: Generation) -> int:
        """Search this generation from now on; the vectors of others go."""
        number = self.generation(generation)
        self._run("switch_generation", generation=number)
        return self._count("remove_other_generations", generation=number)

    # forgetting

    def forget_sessions(self) -> int:
        """Every session of the namespace, once its memories are gone."""
        return self._count("remove_sessions")

    def all_keys(self, *, expired: bool) -> list[Row]:
        """Every memory of the namespace, deleted ones too; or those that have expired."""
        return self._rows("to_forget_all", expired=int(expired))

    def forget(self, keys: Sequence[int], *, replaced: int | None = None) -> Receipt:
        """Remove memories and all that hangs on them, and documents that have no passage left."""
        numbers = json.dumps(list(keys))
        while self._count("bypass", numbers=numbers):
            pass  # once for each link of a chain that goes
        self._run("clear_extracts", numbers=numbers)
        created: int = self._run("count_created", numbers=numbers).get
        return Receipt(
            session_links=created + self._count("remove_links", numbers=numbers),
            relations=self._count("remove_relations", numbers=numbers),
            near_keys=self._count("remove_near_keys", numbers=numbers),
            vectors=self._remove_vectors(keys),
            keyword_entries=self._run("count_entries", numbers=numbers).get,
            memories=self._count("remove_memories", numbers=numbers),
            documents=self._count("remove_empty_documents", replaced=replaced),
        )

    def _remove_vectors(self, keys: Sequence[int]) -> int:
        count = self._count("remove_vectors", numbers=json.dumps(list(keys)))
        self._run("count_removed", count=count)
        return count

    # documents

    def document(self, document: Document, hash: bytes) -> int:
        """Make a document, or write over the one with its name; its number."""
        self._run("save_document", **document_values(document, hash))
        return self._document_number(document.name)

    def _document_number(self, name: str) -> int:
        number: int | None = self._run("document_number", name=name).get
        if number is None:
            raise NoSuchDocument(f"There is no document {name!r} in this namespace.")
        return number

    def replace_passages(
        self, document: int, records: Sequence[Record], generation: Generation | None
    ) -> Receipt:
        """The passages of a document, in the place of those that stood there."""
        passages = [key for (key,) in self._rows("passages", document=document)]
        receipt = self.forget(passages, replaced=document)
        number = self.generation(generation) if generation else None
        for record in records:
            key = self.insert(record, document=document)
            if record.vector is not None and number is not None:
                self.set_vector(key, number, record.hash, record.vector)
        return receipt

    def forget_document(self, name: str) -> Receipt:
        """A document and its passages."""
        number = self._document_number(name)
        receipt = self.replace_passages(number, [], None)
        self._run("remove_document", document=number)
        return receipt

    def _learn_languages(self, records: Sequence[Record]) -> None:
        languages = {record.language for record in records}
        if not languages <= self._languages:
            self._languages |= languages
            self._run("learn_languages", languages=" ".join(sorted(self._languages)))


def session_values(session: Session, *, extracted: bool) -> dict[str, Any]:
    """A session's columns."""
    return {
        "id": session.id,
        "started_at": to_micros(session.started_at),
        "ended_at": micros_or_none(session.ended_at),
        "agent": session.agent,
        "summary": session.summary,
        "extracted": int(extracted),
    }


def document_values(document: Document, hash: bytes) -> dict[str, Any]:
    """A document's columns."""
    return {
        "id": document.id,
        "name": document.name,
        "title": document.title,
        "hash": hash,
        "created_at": to_micros(document.created_at),
        "updated_at": to_micros(document.updated_at),
    }


def _json(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def columns(record: Record) -> dict[str, Any]:
    """A record's own columns; session, position and document are the writer's business."""
    return {
        "id": record.id,
        "kind": record.kind,
        "content": record.content,
        "terms": record.terms,
        "hash": record.hash,
        "created_at": to_micros(record.created_at),
        "updated_at": to_micros(record.updated_at),
        "accessed_at": micros_or_none(record.accessed_at),
        "sector": record.sector,
        "tier": record.tier,
        "language": record.language,
        "importance": record.importance,
        "salience": record.salience,
        "salience_at": to_micros(record.salience_at),
        "access_count": record.access_count,
        "token_count": record.token_count,
        "trust": record.trust,
        "speaker": record.speaker,
        "tags": _json(record.tags),
        "files": _json(record.files),
        "headings": _json(record.headings),
        "metadata": record.metadata,
        "source": record.source,
        "summary": record.summary,
        "valid_from": micros_or_none(record.valid_from),
        "valid_until": micros_or_none(record.valid_until),
        "superseded_by": record.superseded_by,
        "superseded_at": micros_or_none(record.superseded_at),
        "expires_at": micros_or_none(record.expires_at),
        "deleted_at": micros_or_none(record.deleted_at),
    }
