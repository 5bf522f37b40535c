"""Writing a part of a copy: everything as it was, also over what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.store.base import Record
from recollect.store.dumped import (
    DumpedDocument,
    DumpedGeneration,
    DumpedLink,
    DumpedSession,
    DumpedVector,
)
from recollect.store.transaction import document_values, session_values
from recollect.store.undump import Undump
from recollect.types import Relation


class Copying(Undump):
    """Writes steps into a namespace that is becoming the copy of another.

    What is there is written over, and every memory keeps its place. What a step refers to may have come with
    an earlier part, but for the generations of vectors.
    """

    def finish(self) -> None:
        """A memory may well be superseded by one that is yet to come."""

    def _write_generations(self, generations: Sequence[DumpedGeneration]) -> None:
        roles: dict[str, int] = {}
        for generation, role, *weights in generations:
            number, _ = self._make_generation(generation)
            self._generations[generation.fingerprint] = number
            if role is not None:
                roles[role] = number
                self._copy_weights(role, *weights)
        self._writer.run("copy_generations", searched=roles.get("searched"), next=roles.get("next"))
        self._written("generation", generations)

    def _written(self, type: str, steps: Sequence[object]) -> None:
        for _ in steps:
            self._count(type, True)

    def _write_sessions(self, sessions: Sequence[DumpedSession]) -> None:
        for dumped in sessions:
            values = session_values(dumped.session, extracted=dumped.extracted)
            self._writer.soon("copy_session", number=self._writer.next_number("session"), **values)
        self._written("session", sessions)

    def _know_sessions(self, ids: Iterable[str]) -> None:
        """The numbers of these sessions, asked for at once."""
        wanted = list(dict.fromkeys(id for id in ids if id not in self._new_sessions))
        if wanted:
            for id, number in self._writer.rows("copy_sessions_known", ids=wanted):
                self._writer.know_session(id, number)
                self._new_sessions[id] = False

    def _write_documents(self, documents: Sequence[DumpedDocument]) -> None:
        for document, hash in documents:
            number = self._writer.next_number("document")
            self._writer.soon("copy_document", number=number, **document_values(document, hash))
        self._written("document", documents)

    def _number_of(self, document: str | None) -> int | None:
        if document is None:
            return None
        if document not in self._documents:
            self._documents[document] = self._writer.document_number(document)
        return self._documents[document]

    def _write_memories(self, records: Sequence[Record]) -> None:
        there: dict[str, int] = dict(self._writer.rows("keys", ids=[record.id for record in records]))
        self._writer.learn_languages(records)
        self._know_sessions(record.session for record in records if record.session is not None)
        numbers = [self._number_of(record.document) for record in records]
        for record, document in zip(records, numbers, strict=True):
            if record.id in there:
                self._writer.write_over(there[record.id], record, document=document)
            else:
                key = self._writer.insert(record, document=document)
                self._writer.set_near_keys(key, record.near_keys)
        self._written("memory", records)

    def _keys(self, ids: Iterable[str]) -> dict[str, int]:
        distinct = list(dict.fromkeys(ids))
        return dict(zip(distinct, self._writer.keys(distinct), strict=True))

    def _write_relations(self, relations: Sequence[Relation]) -> None:
        keys = self._keys(id for each in relations for id in (each.source, each.target))
        for each in relations:
            self._writer.soon(
                "copy_relation",
                source=keys[each.source],
                target=keys[each.target],
                type=each.type,
                origin=each.origin,
                at=each.created_at,
            )
        self._written("relation", relations)

    def _write_links(self, links: Sequence[DumpedLink]) -> None:
        keys = self._keys(link.memory for link in links)
        self._know_sessions(link.session for link in links)
        for link in links:
            session = self._writer.session(link.session, link.at)
            self._writer.soon(
                "copy_link", session=session, memory=keys[link.memory], usage=link.usage, at=link.at
            )
        self._written("link", links)

    def _write_vectors(self, vectors: Sequence[DumpedVector]) -> None:
        keys = self._keys(each.memory for each in vectors)
        for each in vectors:
            generation = self._generations[each.generation]
            self._writer.set_vector(keys[each.memory], generation, each.hash, each.vector)
        self._written("vector", vectors)
