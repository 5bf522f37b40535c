"""Writing what was dumped. Steps lie in a `Spool` first, so that nobody waits for whoever gives them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Literal

from recollect.errors import InvalidInput
from recollect.store.base import Generation, Record, Vector
from recollect.store.sqlite.dump import plural
from recollect.store.sqlite.dumped import DumpedDocument, DumpedLink, DumpedSession, DumpedVector, Step
from recollect.store.sqlite.writing import Writer, document_values, session_values
from recollect.times import to_micros
from recollect.types import Document, Relation, Session, Usage

_IN_MEMORY = 32_000_000


class Restorer(Writer):
    """A writer that leaves alone what is there already."""

    def restores_vectors(self) -> bool:
        """Whether the namespace is still free to take over the generations of an export."""
        return not self._run("undump_uses_vectors").get

    def restore_generation(self, generation: Generation, *, use: bool) -> tuple[int, bool]:
        """Its number, and whether that is new; one that the namespace is not to `use` is only made known."""
        made = self._count("make_generation", **asdict(generation))
        number: int = self._run("generation_number", fingerprint=generation.fingerprint).get
        known = self._run("undump_dimensions", generation=number).get
        if known != generation.dimensions:
            raise InvalidInput(
                f"The vectors of {generation.model} have {generation.dimensions} dimensions there and "
                f"{known} here: export without vectors."
            )
        if use:
            self.generation(generation)
        return number, bool(made) or use

    def restore_session(self, session: Session, *, extracted: bool = False) -> bool:
        """A session as it was; says whether there was none of that id."""
        made = self._count("undump_session", **session_values(session, extracted=extracted))
        self._sessions[session.id] = self._run("session_number", id=session.id).get
        return bool(made)

    def restore_document(self, document: Document, hash: bytes) -> int | None:
        """The number of a document as it was; None when there is one of its name or id."""
        made = self._count("undump_document", **document_values(document, hash))
        return self._document_number(document.name) if made else None

    def restore_relation(self, relation: Relation) -> bool:
        """An edge as it was; says whether there was none."""
        source, target = self.keys([relation.source, relation.target])
        at = to_micros(relation.created_at)
        return bool(
            self._count(
                "relate", source=source, target=target, type=relation.type, origin=relation.origin, at=at
            )
        )

    def restore_vector(
        self, id: str, generation: int, hash: bytes, vector: Vector
    ) -> Literal["", "already there", "outdated"]:
        """A vector from elsewhere, if the memory still says what it was made from; else why not."""
        key = self.keys([id])[0]
        if self._run("hash_of", number=key).get != hash:
            return "outdated"
        if self._run("has_vector", memory=key, generation=generation).get:
            return "already there"
        self.set_vector(key, generation, hash, vector)
        return ""

    def restore_successor(self, old: str, new: str | None) -> None:
        """What was superseded by `old`, which did not come along, is superseded by `new`, or holds again."""
        self._run("undump_successor", old=old, new=new)

    def missing_successors(self) -> int:
        """How many memories are superseded by something that is not there."""
        return int(self._run("missing_successors").get)

    def restore_link(self, session: str, id: str, usage: Usage, at: datetime) -> bool:
        """What a session did with a memory, as it was; says whether that was not known."""
        key, number = self.keys([id])[0], self.session(session)
        return bool(self._count("undump_link", session=number, memory=key, usage=usage, at=to_micros(at)))


class Spool:
    """Steps on their way: few in memory, many in a file beside the store that nobody else sees."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    @contextmanager
    def beside(cls, path: Path | None) -> Iterator[Spool]:
        """An empty one, gone at the end; a store in memory leaves nothing on the disk."""
        most, folder = (_IN_MEMORY, str(path.absolute().parent)) if path else (0, None)
        with SpooledTemporaryFile(most, dir=folder) as file:
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


class Undump:
    """Writes steps into a namespace; what is there already is left alone and counted."""

    def __init__(self, writer: Restorer) -> None:
        self._writer = writer
        self._use_generations = writer.restores_vectors()
        self._generations: dict[str, int] = {}
        self._new_sessions: dict[str, bool] = {}
        self._documents: dict[str, int | None] = {}
        self._left_out: dict[str, str | None] = {}
        self.counts: dict[str, int] = {}

    def write(self, step: Step) -> None:
        """One step."""
        match step:
            case Generation():
                self._count("generation", self._generation(step))
            case DumpedSession():
                self._count("session", self._session(step))
            case DumpedDocument():
                self._count("document", self._document(step))
            case Record():
                self._count("memory", self._memory(step))
            case Relation():
                self._count("relation", self._relation(step))
            case DumpedLink():
                self._count("link", self._link(step))
            case DumpedVector():
                self._vector(step)

    def finish(self) -> None:
        """Nothing may be superseded by what did not come along."""
        for id in self._left_out:
            self._writer.restore_successor(id, self._successor(id))
        missing = self._writer.missing_successors()
        if missing:
            raise InvalidInput(
                f"{missing} memories are superseded by one that is missing: export it all again."
            )

    def _count(self, type: str, written: bool, otherwise: str = "already there") -> None:
        key = plural(type) if written else f"{plural(type)} {otherwise}"
        self.counts[key] = self.counts.get(key, 0) + 1

    def _generation(self, generation: Generation) -> bool:
        number, new = self._writer.restore_generation(generation, use=self._use_generations)
        self._generations[generation.fingerprint] = number
        return new

    def _session(self, dumped: DumpedSession) -> bool:
        new = self._writer.restore_session(dumped.session, extracted=dumped.extracted)
        self._new_sessions[dumped.session.id] = new
        return new

    def _is_new_session(self, id: str, at: datetime) -> bool:
        if id not in self._new_sessions:
            self._session(DumpedSession(Session(id, "", at), extracted=False))
        return self._new_sessions[id]

    def _document(self, dumped: DumpedDocument) -> bool:
        number = self._writer.restore_document(dumped.document, dumped.hash)
        self._documents[dumped.document.name] = number
        return number is not None

    def _memory(self, record: Record) -> bool:
        """A memory; in a session that was there before it comes last, for its place may be taken."""
        if self._writer.has(record.id):
            return False
        document = None if record.document is None else self._documents[record.document]
        if record.document is not None and document is None:
            self._left_out[record.id] = record.superseded_by
            return False
        if record.session is not None and not self._is_new_session(record.session, record.created_at):
            record = replace(record, position=None)
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

    def _relation(self, relation: Relation) -> bool:
        if {relation.source, relation.target} & self._left_out.keys():
            return False
        return self._writer.restore_relation(relation)

    def _link(self, link: DumpedLink) -> bool:
        if link.memory in self._left_out:
            return False
        self._is_new_session(link.session, link.at)
        return self._writer.restore_link(*link)

    def _vector(self, dumped: DumpedVector) -> None:
        why_not = "already there"
        if dumped.memory not in self._left_out:
            number = self._generations[dumped.generation]
            why_not = self._writer.restore_vector(dumped.memory, number, dumped.hash, dumped.vector)
        self._count("vector", not why_not, why_not)
