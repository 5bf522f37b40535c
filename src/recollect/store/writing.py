"""Writing, on any backend. Everything here runs inside the caller's one transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, cast

from recollect.errors import InvalidInput, NoSuchDocument, NoSuchMemory
from recollect.frozen import maker
from recollect.query.duplicates import alike
from recollect.query.terms import terms_of
from recollect.store import rows
from recollect.store.base import Added, Generation, Record, Text, Vector
from recollect.store.text import analyse, without_labels
from recollect.store.transaction import Transaction, document_values
from recollect.times import from_micros_or_none
from recollect.types import Document, Memory, OnDuplicate, Receipt, Relation

REINFORCEMENT = 0.1
MOST_SIMILAR = 20
"""How many texts that share a key are looked at before a memory is taken for new."""


_WORTH_NUMPY = 2_048
"""Whoever writes so many numbers has numpy imported anyway, which sorts them sooner."""
_NOT_OWN = ("session", "position", "document", "near_keys", "vector")
OWN_COLUMNS = tuple(name for name in Record.__slots__ if name not in _NOT_OWN)
_values_of = attrgetter(*OWN_COLUMNS)
_OF_VECTOR = ("namespace", "generation", "memory", "embedding")


class Known(NamedTuple):
    """A memory that a new one may say the same as."""

    key: int
    id: str
    content: str
    language: str
    tags: Sequence[str] = ()
    files: Sequence[str] = ()
    metadata: str = "{}"
    terms: str | None = None
    """Those of its text, and after them those of its labels, where the backend tells."""


Similar = dict[int, Sequence[int]]
"""Memories by the near-duplicate keys that they have, newest first. What is no key of it nobody shares."""


class New(NamedTuple):
    """A memory that waits to be written: its number, and its place in a session or document."""

    key: int
    record: Record
    session: int | None
    position: int | None
    document: int | None


class Writer(Transaction):
    """Memories, their relations and documents: written, changed, forgotten."""

    own: ClassVar[tuple[str, ...]] = OWN_COLUMNS

    # memories

    def add(
        self, records: Sequence[Record], generation: Generation | None, on_duplicate: OnDuplicate
    ) -> list[Added]:
        """Write records, or reinforce the memory that says the same."""
        number = self.generation(generation) if generation else None
        self._make_sessions(records)
        self._find_ends(records)
        self.learn_languages(records)
        self.refuse_taken(record.id for record in records)
        same = self._same_texts(records) if on_duplicate == "reinforce" else None
        similar = self._similar_texts(records)
        return [self._add(record, number, same, similar) for record in records]

    def _add(
        self,
        record: Record,
        generation: int | None,
        same: dict[bytes, Known] | None,
        similar: Similar,
    ) -> Added:
        merges = same is not None and _is_merged(record)
        if same is not None and merges and record.hash in same:
            same[record.hash] = known = self._reinforce(record, same[record.hash])
            return Added(known.id, "reinforced", self._embed_late(known.key, generation, record))
        key = self.insert(record)
        if same is not None and merges and _is_current(record, self._now):
            same[record.hash] = _known(key, record)
        embedded = record.vector is not None and generation is not None
        if embedded:
            self._add_vector(generation, key, record.vector)
        return maker(Added)(record.id, "added", embedded, self._link_near_duplicates(key, record, similar))

    def _add_vector(self, generation: int | None, key: int, vector: Vector | None) -> None:
        self.soon_each("add_vector", _OF_VECTOR, [(self.namespace, generation, key, vector)])

    def refuse_taken(self, ids: Iterable[str]) -> None:
        """InvalidInput when one of these ids is there already, or is there twice."""
        wanted = list(ids)
        taken = {row[0] for row in self.rows("taken_ids", ids=wanted)}
        for id in wanted:
            if id in taken:
                raise InvalidInput(
                    f"A memory with the id {id!r} is there already: leave the id out, or update that one."
                )
            taken.add(id)

    def insert(self, record: Record, *, document: int | None = None) -> int:
        """The row, with its keyword entry; its number."""
        key = self.next_number("memory")
        self.soon_each("add_memory", self._names, [New(key, record, *self._place(record), document)])
        return key

    def _many(self, query: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        if query == "add_memory":
            self._insert(cast("Sequence[New]", rows))
        else:
            super()._many(query, names, rows)

    def _insert(self, new: Sequence[New]) -> None:
        """The rows of new memories."""
        rows = [
            (*self.values(record), session, position, document, key, self.namespace)
            for key, record, session, position, document in new
        ]
        self._statements.many("add_memory", self._names, rows)

    def write_over(self, key: int, record: Record, *, document: int | None = None) -> None:
        """Every column of a memory that is there, but for its number and its id."""
        self._terms_change(key, record.terms)
        row = (*self.values(record), *self._place(record), document, key, self.namespace)
        self.run("copy_memory", **dict(zip(self._names, row, strict=True)))

    def _place(self, record: Record) -> tuple[int | None, int | None]:
        """Its session, which is made when it is not there yet, and its place there."""
        if record.session is None:
            return None, None
        session = self.session(record.session, record.created_at)
        return session, self._place_in(session, record.position)

    def columns(self, record: Record) -> dict[str, Any]:
        """A record's own columns; number, session, position and document are the writer's business."""
        return dict(zip(self.own, self.values(record), strict=True))

    def values(self, record: Record) -> tuple[Any, ...]:
        """The values of those columns."""
        return _values_of(record)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return (*self.own, "session", "position", "document", "number", "namespace")

    @cached_property
    def _known(self) -> dict[int, Known]:
        """The memories that new ones of this transaction share a near-duplicate key with."""
        return {}

    @cached_property
    def _said(self) -> dict[int, str]:
        return {}

    def _place_in(self, session: int, wanted: int | None) -> int:
        """The next place in a session, unless one is wanted."""
        if wanted is not None:
            self._positions.pop(session, None)  # to be asked for again, when it matters
            return wanted
        self._positions[session] = self._last_position(session) + 1
        return self._positions[session]

    def _last_position(self, session: int) -> int:
        if session not in self._positions:
            self._positions[session] = self.value("last_position", session=session)
        return self._positions[session]

    def _find_ends(self, records: Sequence[Record]) -> None:
        """Where their sessions end, asked before rows wait: these would be written in many small parts."""
        for id in {record.session for record in records if record.session and record.position is None}:
            self._last_position(self.session(id))

    def _same_texts(self, records: Sequence[Record]) -> dict[bytes, Known]:
        """The live memories that say the same as one of these, by the hash of the text."""
        hashes = [record.hash for record in records if _is_merged(record)]
        if not hashes:
            return {}
        found: dict[bytes, Known] = {}
        for hash, key, id, content, language, tags, files, metadata in self.rows("same_texts", hashes=hashes):
            known = Known(key, id, content, language, rows.strings(tags), rows.strings(files), metadata)
            found.setdefault(hash, known)
        return found

    def _reinforce(self, record: Record, same: Known) -> Known:
        """The same text again: what it brings is added, what it says anew counts, and it lives longer."""
        tags = tuple(dict.fromkeys([*same.tags, *record.tags]))
        files = tuple(dict.fromkeys([*same.files, *record.files]))
        metadata = json.dumps(json.loads(same.metadata) | json.loads(record.metadata), ensure_ascii=False)
        text = Text(same.key, 0, same.content, None, same.language, tags, files, (), "memory", None)
        merged = replace(record, tags=tags, files=files, metadata=metadata, terms=analyse(text).terms)
        self._terms_change(same.key, merged.terms)
        self.run("merge", **self.columns(merged) | {"number": same.key})
        self.touch([same.key], REINFORCEMENT, uses=0)
        if record.session is not None:
            self.link([same.key], self.session(record.session, record.created_at), "reinforced")
        return same._replace(tags=tags, files=files, metadata=metadata)

    def _terms_change(self, key: int, terms: str) -> None:
        """Called before a memory gets other terms, for backends that count them."""

    def _embed_late(self, key: int, generation: int | None, record: Record) -> bool:
        """A memory that waited for its vector gets the one that came with the same text."""
        if generation is None:
            return False
        embedded = bool(self.value("has_vector", memory=key, generation=generation))
        if not embedded and record.vector is not None:
            self.set_vector(key, generation, record.hash, record.vector)
        return embedded or record.vector is not None

    def _similar_texts(self, records: Sequence[Record]) -> Similar:
        """The live memories that share a near-duplicate key with one of these records, by the keys that any
        two of all of them share."""
        keys, repeated = _each_once(list(chain.from_iterable(record.near_keys for record in records)))
        similar: Similar = dict.fromkeys(repeated, ())
        if keys:
            similar.update(self._sharing(keys))
        return similar

    def _sharing(self, keys: Sequence[int]) -> Iterable[tuple[int, Sequence[int]]]:
        """Which of these near-duplicate keys live memories have; the newest few of each, newest first. They
        are known from then on."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for near, *known in self.rows("similar_texts", keys=keys, most=MOST_SIMILAR):
            found[near].append(known[0])
            self._known[known[0]] = Known(*known)
        return found.items()

    def _link_near_duplicates(self, key: int, record: Record, similar: Similar) -> tuple[str, ...]:
        if not record.near_keys:
            return ()
        self.set_near_keys(key, record.near_keys)
        if similar.keys().isdisjoint(record.near_keys):
            return ()
        sharing = [near for near in record.near_keys if near in similar]
        shared = set().union(*map(similar.__getitem__, sharing)) - {key}
        found = self._near_duplicates(record, shared) if shared else []
        for number in found:
            self.draw(key, number, "near_duplicate", "recollect", self._now)
        if record.deleted_at is None:
            self._known[key] = _known(key, record)
            for near in sharing:
                similar[near] = (key, *similar[near][: MOST_SIMILAR - 1])
        return tuple(self._known[number].id for number in found)

    def _near_duplicates(self, record: Record, shared: Iterable[int]) -> list[int]:
        """Those of the newest few of these that say nearly the same."""
        newest = sorted(shared, reverse=True)[:MOST_SIMILAR]
        found = alike(_said(_known(0, record)), list(map(self._said_by, newest)))
        return [newest[place] for place in found]

    def _said_by(self, number: int) -> str:
        """A memory's terms alone. Many of one transaction may be compared with the same one."""
        if number not in self._said:
            self._said[number] = _said(self._known[number])
        return self._said[number]

    def set_near_keys(self, key: int, near_keys: Sequence[int]) -> None:
        """What near-duplicates of this memory will be found by."""
        rows = [(self.namespace, near, key) for near in dict.fromkeys(near_keys)]
        self.soon_each("add_near_key", ("namespace", "key", "memory"), rows)

    def change(
        self, id: str, rewrite: Callable[[Memory], Record], generation: Generation | None, session: str | None
    ) -> None:
        """Write a memory anew under its id; what was derived from the old text goes."""
        key = self.keys([id])[0]
        row = self.rows("present", number=key)[0]
        present = replace(rows.memory(row), valid_until=from_micros_or_none(row[-1]))
        record = rewrite(present)
        said_anew = (record.content, record.speaker) != (present.content, present.speaker)
        self.learn_languages([record])
        self._terms_change(key, record.terms)
        self.run("change", number=key, **self.columns(record))
        if record.session is not None and record.session != present.session:
            number = self.session(record.session, record.created_at)
            self.run("move_to_session", number=key, session=number, position=self._place_in(number, None))
        if said_anew:
            self._remove_vectors([key])
            self._remove_near_keys([key])
            self.run("remove_near_links", number=key)
            self._link_near_duplicates(key, record, self._similar_texts([record]))
        if record.vector is not None and generation is not None:
            if not said_anew:
                self._note_replaced_vector()
            self.set_vector(key, self.generation(generation), record.hash, record.vector)
        if session is not None:
            self.link([key], self.session(session), "updated")

    def keys(self, ids: Sequence[str]) -> list[int]:
        """The numbers of these memories, in order; NoSuchMemory for the first that is not there."""
        found: dict[str, int] = dict(self.rows("keys", ids=list(ids)))
        for id in ids:
            if id not in found:
                raise NoSuchMemory(
                    f"There is no memory {id!r} in this namespace: recall or timeline show ids."
                )
        return [found[id] for id in ids]

    def touch(self, keys: Sequence[int], amount: float, uses: int = 1) -> None:
        """Settle decay and raise salience."""
        self.run("touch", numbers=list(keys), amount=amount, uses=uses)

    def supersede(self, old: str, new: str, at: datetime) -> None:
        """Close `old` at the moment `new` began to hold, and link both."""
        old_key, new_key = self.keys([old, new])
        following: str | None = new
        passed: set[str] = set()
        while following is not None and following not in passed:
            if following == old:
                raise InvalidInput(f"{new} was itself superseded by {old}: that would be a circle.")
            passed.add(following)
            following = self.value("successor_of", id=following)
        self.run("close_validity", number=old_key, new=new, at=at)
        self.draw(new_key, old_key, "supersedes", "recollect", self._now)

    def unsupersede(self, id: str) -> str | None:
        """Let a memory hold again, as if nothing had superseded it; says what had."""
        (key,) = self.keys([id])
        successor: str | None = self.value("successor_of", id=id)
        if successor is not None:
            self.run("reopen", number=key)
            self.run("unrelate", source=self.keys([successor])[0], target=key, type="supersedes")
        return successor

    def relate(self, relation: Relation) -> None:
        """Draw an edge between two memories of this namespace."""
        source, target = self.keys([relation.source, relation.target])
        self.draw(source, target, relation.type, relation.origin, relation.created_at)

    def draw(self, source: int, target: int, type: str, origin: str, at: datetime) -> None:
        """An edge between two memories, by their numbers."""
        self.soon("relate", source=source, target=target, type=type, origin=origin, at=at)

    def unrelate(self, source: str, target: str, type: str | None) -> int:
        """Remove edges from one memory to another."""
        first, second = self.keys([source, target])
        return self.run("unrelate", source=first, target=second, type=type)

    def set_deleted(self, ids: Sequence[str], at: datetime | None) -> int:
        """Delete softly, or restore."""
        self.keys(ids)
        return self.run("set_deleted", ids=list(ids), at=at)

    # forgetting

    def forget_empty_sessions(self, ids: Sequence[str]) -> int:
        """Remove those of these sessions that have no memories, their summaries and links with them."""
        numbers = [row[0] for row in self.rows("empty_sessions", ids=list(ids))]
        if numbers:
            self.run("remove_links_of_sessions", numbers=numbers)
            self.run("remove_these_sessions", numbers=numbers)
        return len(numbers)

    def forget_sessions(self) -> int:
        """Every session of the namespace, once its memories are gone."""
        return self.run("remove_sessions")

    def all_keys(self, *, expired: bool) -> list[int]:
        """Every memory of the namespace, deleted ones too; or those that have expired."""
        return [row[0] for row in self.rows("to_forget_all", expired=expired)]

    def keys_in_scope(self, parameters: Mapping[str, Any]) -> list[int]:
        """The memories in a scope; deleted and expired ones too."""
        return [row[0] for row in self.rows("to_forget_in_scope", **parameters)]

    def forget(self, keys: Sequence[int], *, replaced: int | None = None) -> Receipt:
        """Remove memories and all that hangs on them, and documents that have no passage left."""
        numbers = list(keys)
        for _ in numbers:  # at most once for each link of a chain that goes
            if not self.run("bypass", numbers=numbers):
                break
        else:
            self.run("release", numbers=numbers)
        self.run("clear_extracts", numbers=numbers)
        created: int = self.value("count_created", numbers=numbers)
        return Receipt(
            session_links=created + self.run("remove_links", numbers=numbers),
            relations=self.run("remove_relations", numbers=numbers),
            near_keys=self._remove_near_keys(numbers),
            vectors=self._remove_vectors(numbers),
            keyword_entries=self._remove_entries(numbers),
            memories=self.run("remove_memories", numbers=numbers),
            documents=self.run("remove_empty_documents", replaced=replaced),
        )

    def _remove_entries(self, numbers: Sequence[int]) -> int:
        """How many keyword entries go with these memories."""
        count: int = self.value("count_entries", numbers=list(numbers))
        return count

    def _remove_near_keys(self, numbers: Sequence[int]) -> int:
        return self.run("remove_near_keys", numbers=list(numbers))

    def _remove_vectors(self, keys: Sequence[int]) -> int:
        return self.run("remove_vectors", numbers=list(keys))

    def _note_replaced_vector(self) -> None:
        """Another vector of the same text takes the place of one: for readers that hold vectors in memory."""

    # documents

    def document(self, document: Document, hash: bytes) -> int:
        """Make a document, or write over the one with its name; its number."""
        self.run("save_document", number=self.next_number("document"), **document_values(document, hash))
        return self.document_number(document.name)

    def document_number(self, name: str) -> int:
        """What the rows call a document."""
        number: int | None = self.value("document_number", name=name)
        if number is None:
            raise NoSuchDocument(f"There is no document {name!r} in this namespace.")
        return number

    def replace_passages(
        self, document: int, records: Sequence[Record], generation: Generation | None
    ) -> Receipt:
        """The passages of a document, in the place of those that stood there."""
        passages = [key for (key,) in self.rows("passages", document=document)]
        receipt = self.forget(passages, replaced=document)
        number = self.generation(generation) if generation else None
        self.learn_languages(records)
        self.refuse_taken(record.id for record in records)
        for record in records:
            key = self.insert(record, document=document)
            if record.vector is not None and number is not None:
                self._add_vector(number, key, record.vector)
        return receipt

    def forget_document(self, name: str) -> Receipt:
        """A document and its passages."""
        number = self.document_number(name)
        receipt = self.replace_passages(number, [], None)
        self.run("remove_document", document=number)
        return receipt


def _each_once(keys: Sequence[int]) -> tuple[list[int], list[int]]:
    """These in order, each once, and those of them that are there several times."""
    if len(keys) < _WORTH_NUMPY:
        ordered = sorted(keys)
        return list(dict.fromkeys(ordered)), [key for key, next in pairwise(ordered) if key == next]
    import numpy as np

    different, times = np.unique(np.array(keys, np.int64), return_counts=True)
    return different.tolist(), different[times > 1].tolist()


def _is_merged(record: Record) -> bool:
    """A turn of a conversation is never merged with another, nor is a passage."""
    return record.speaker is None and record.kind == "memory"


def _is_current(record: Record, now: datetime) -> bool:
    """Whether the same text again would reinforce it."""
    return (
        record.deleted_at is None
        and record.superseded_by is None
        and (record.valid_until is None or record.valid_until > now)
        and (record.expires_at is None or record.expires_at > now)
    )


def _known(key: int, record: Record) -> Known:
    return Known(
        key,
        record.id,
        record.content,
        record.language,
        record.tags,
        record.files,
        record.metadata,
        record.terms,
    )


def _said(known: Known) -> str:
    """From what was analysed when it was written. (Who has a speaker has no keys.)"""
    if known.terms is None:
        return " ".join(terms_of(known.content, known.language))
    return without_labels(known.terms, (*known.tags, *known.files), known.language)
