"""Writing what was dumped. Steps lie in a `Spool` first, so that nobody waits for whoever gives them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from recollect.errors import InvalidInput
from recollect.store.base import Generation, Record
from recollect.store.dump import plural
from recollect.store.dumped import (
    DumpedDocument,
    DumpedGeneration,
    DumpedLink,
    DumpedSession,
    DumpedVector,
    Step,
)
from recollect.store.rows import tuned_column
from recollect.store.transaction import document_values, session_values
from recollect.store.writing import Writer
from recollect.types import Relation, Session, Tuned

_IN_MEMORY = 32_000_000
_AT_ONCE = 500


class Spool:
    """Steps on their way: few in memory, many in a file that nobody else sees."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    @contextmanager
    def made(cls, *, folder: str | None = None, in_memory: bool = False) -> Iterator[Spool]:
        """An empty one, gone at the end: in a folder, in that for temporary files, or never on the disk."""
        with SpooledTemporaryFile(0 if in_memory else _IN_MEMORY, dir=folder) as file:
            yield cls(file)

    def add(self, step: Step) -> None:
        """Keep one."""
        pickle.dump(step, self._file)

    def __iter__(self) -> Iterator[Step]:
        self._file.seek(0)
        while True:
            try:
                step: Step = pickle.load(self._file)
            except EOFError:
                return
            yield step


def in_a_circle(successor_of: Mapping[str, str]) -> str | None:
    """One that comes back to itself by way of what superseded it, if there is any.

    >>> in_a_circle({"a": "b", "b": "c"}), in_a_circle({"a": "b", "b": "c", "c": "b"})
    (None, 'b')
    """
    settled: set[str] = set()
    for start in successor_of:
        passed: set[str] = set()
        following: str | None = start
        while following is not None and following not in settled:
            if following in passed:
                return following
            passed.add(following)
            following = successor_of.get(following)
        settled |= passed
    return None


class Undump:
    """Writes steps into a namespace; what is there already is left alone and counted.

    A memory that comes to a session that was there before is put at its end, for its place may be taken.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._generations: dict[str, int] = {}
        self._new_sessions: dict[str, bool] = {}
        self._documents: dict[str, int | None] = {}
        self._left_out: dict[str, str | None] = {}
        self.counts: dict[str, int] = {}

    def write(self, steps: Iterable[Step]) -> None:
        """Steps in the order that they were dumped in; those of a kind a few hundred at a time."""
        write: dict[type, Callable[[Sequence[Any]], None]] = {
            DumpedGeneration: self._write_generations,
            DumpedSession: self._write_sessions,
            DumpedDocument: self._write_documents,
            Record: self._write_memories,
            Relation: self._write_relations,
            DumpedLink: self._write_links,
            DumpedVector: self._write_vectors,
        }
        for kind, alike in groupby(steps, type):
            while some := list(islice(alike, _AT_ONCE)):
                write[kind](some)

    def finish(self) -> None:
        """Nothing may be superseded by what did not come along."""
        for id in self._left_out:
            self._writer.run("undump_successor", old=id, new=self._successor(id))
        missing = self._writer.value("missing_successors")
        if missing:
            raise InvalidInput(
                f"{missing} memories are superseded by one that is missing: export it all again."
            )
        circle = in_a_circle(dict(self._writer.rows("successions")))
        if circle is not None:
            raise InvalidInput(f"{circle} is superseded in a circle: export it again.")

    def _count(self, type: str, written: bool, otherwise: str = "already there") -> None:
        key = plural(type) if written else f"{plural(type)} {otherwise}"
        self.counts[key] = self.counts.get(key, 0) + 1

    def _write_generations(self, generations: Sequence[DumpedGeneration]) -> None:
        """The first that a namespace gets are used as they were; an older export does not say how."""
        are_used = not self._writer.value("undump_uses_vectors")
        is_told = any(each.role for each in generations)
        for generation, role, *weights in generations:
            number, made = self._make_generation(generation)
            if are_used and (role or not is_told):
                self._writer.generation(generation)
                self._copy_weights(role, *weights)
            self._generations[generation.fingerprint] = number
            self._count("generation", made or are_used)

    def _copy_weights(self, role: str | None, tuned: Tuned | None, before: Tuned | None) -> None:
        """Weights come with the model that they are for, where it is the one that is searched."""
        if role == "searched":
            self._writer.run("copy_weights", tuned=tuned_column(tuned), before=tuned_column(before))

    def _make_generation(self, generation: Generation) -> tuple[int, bool]:
        """Its number, and whether it was not known before."""
        number, made = self._writer.make_generation(generation)
        known = self._writer.value("undump_dimensions", generation=number)
        if known != generation.dimensions:
            raise InvalidInput(
                f"The vectors of {generation.model} have {generation.dimensions} dimensions there and "
                f"{known} here: export without vectors."
            )
        return number, made

    def _write_sessions(self, sessions: Sequence[DumpedSession]) -> None:
        for dumped in sessions:
            self._count("session", self._restore_session(dumped))

    def _restore_session(self, dumped: DumpedSession) -> bool:
        """A session as it was; says whether there was none of that id."""
        values = session_values(dumped.session, extracted=dumped.extracted)
        made = bool(self._writer.run("undump_session", number=self._writer.next_number("session"), **values))
        number = self._writer.value("session_number", id=dumped.session.id)
        self._writer.know_session(dumped.session.id, number)
        self._new_sessions[dumped.session.id] = made
        return made

    def _is_new_session(self, id: str, at: datetime) -> bool:
        if id not in self._new_sessions:
            self._restore_session(DumpedSession(Session(id, "", at), extracted=False))
        return self._new_sessions[id]

    def _write_documents(self, documents: Sequence[DumpedDocument]) -> None:
        for document, hash in documents:
            number = self._writer.next_number("document")
            values = document_values(document, hash)
            made = bool(self._writer.run("undump_document", number=number, **values))
            self._documents[document.name] = self._writer.document_number(document.name) if made else None
            self._count("document", made)

    def _write_memories(self, records: Sequence[Record]) -> None:
        ids = [record.id for record in records]
        taken = {row[0] for row in self._writer.rows("taken_ids", ids=ids)}
        self._writer.learn_languages(records)
        for record in records:
            self._count("memory", self._restore_memory(record, taken))

    def _restore_memory(self, record: Record, taken: set[str]) -> bool:
        """A memory; says whether it was written."""
        if record.id in taken:
            return False
        document = None if record.document is None else self._documents[record.document]
        if record.document is not None and document is None:
            self._left_out[record.id] = record.superseded_by
            return False
        if record.session is not None and not self._is_new_session(record.session, record.created_at):
            record = replace(record, position=None)
        taken.add(record.id)
        key = self._writer.insert(record, document=document)
        self._writer.set_near_keys(key, record.near_keys)
        return True

    def _successor(self, id: str) -> str | None:
        """What follows a passage that was left out, and is there."""
        passed: set[str] = set()
        following: str | None = id
        while following in self._left_out and following not in passed:
            passed.add(following)
            following = self._left_out[following]
        return None if following in passed else following

    def _write_relations(self, relations: Sequence[Relation]) -> None:
        there = [each for each in relations if not {each.source, each.target} & self._left_out.keys()]
        ids = list(dict.fromkeys(id for each in there for id in (each.source, each.target)))
        keys = dict(zip(ids, self._writer.keys(ids), strict=True))
        for each in relations:
            made = each in there and self._writer.run(
                "relate",
                source=keys[each.source],
                target=keys[each.target],
                type=each.type,
                origin=each.origin,
                at=each.created_at,
            )
            self._count("relation", bool(made))

    def _write_links(self, links: Sequence[DumpedLink]) -> None:
        ids = list(dict.fromkeys(link.memory for link in links if link.memory not in self._left_out))
        keys = dict(zip(ids, self._writer.keys(ids), strict=True))
        for link in links:
            self._count("link", link.memory in keys and self._restore_link(link, keys[link.memory]))

    def _restore_link(self, link: DumpedLink, key: int) -> bool:
        """What a session did with a memory, as it was; says whether that was not known."""
        self._is_new_session(link.session, link.at)
        number = self._writer.session(link.session)
        made = self._writer.run("undump_link", session=number, memory=key, usage=link.usage, at=link.at)
        return bool(made)

    def _write_vectors(self, vectors: Sequence[DumpedVector]) -> None:
        """Vectors of memories that still say what they were made from."""
        ids = list(dict.fromkeys(each.memory for each in vectors if each.memory not in self._left_out))
        self._writer.keys(ids)
        found = {id: (key, hash) for id, key, hash in self._writer.rows("undump_texts", ids=ids)}
        known = set(self._writer.rows("undump_vectors", numbers=[key for key, _ in found.values()]))
        for each in vectors:
            self._count("vector", *self._restore_vector(each, found, known))

    def _restore_vector(
        self, dumped: DumpedVector, found: dict[str, tuple[int, bytes]], known: set[tuple[Any, ...]]
    ) -> tuple[bool, str]:
        """Whether a vector was written; else why not."""
        generation = self._generations[dumped.generation]
        if dumped.memory not in found:
            return False, "already there"
        key, hash = found[dumped.memory]
        if hash != dumped.hash:
            return False, "outdated"
        if (key, generation) in known:
            return False, "already there"
        known.add((key, generation))
        self._writer.soon("add_vector", generation=generation, memory=key, embedding=dumped.vector)
        return True, ""
