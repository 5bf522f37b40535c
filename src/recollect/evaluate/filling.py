"""Documents into a store: one namespace for each scope, and a note of what was filled, to be used again.

Every document becomes a memory with the document's id, time, session and speaker. Where the store merges a
text that it has already, the document is held by the memory that was there: `Filled.held` says by which one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

from recollect import __version__
from recollect.errors import NoSuchMemory
from recollect.evaluate.sets import Document, EvalSet
from recollect.memories import Memories
from recollect.types import Draft, Progress

WITHOUT_TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""When it is, in a set that says nothing of times."""
_PREFIX = "eval"
_FIRST_PART = "part-0"
_HELD_AT_ONCE = 50


class Clock:
    """The moment at which a store is asked; it stands still until it is set."""

    def __init__(self, now: datetime = WITHOUT_TIME) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """What time it is."""
        return self.now


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that holds a set: the namespace of each scope, and which memory holds each merged document.

    `waiting` is how many documents have no vector although there is an embedder.
    """

    namespaces: Mapping[str, str]
    held: Mapping[str, str]
    embedder: str | None
    waiting: int = 0
    reused: bool = False


def fingerprint(documents: Sequence[Document], embedder: str) -> str:
    """The same for the same documents, embedder and version of Recollect."""
    digest = hashlib.blake2b(f"{__version__}\0{embedder}".encode(), digest_size=8)
    for document in documents:
        digest.update(json.dumps(astuple(document), default=str).encode())
    return digest.hexdigest()


def newest(documents: Sequence[Document]) -> datetime:
    """The time of the last document; it is when a question without a time is asked."""
    times = [document.created_at for document in documents if document.created_at]
    return max(times, default=WITHOUT_TIME)


def fill(memories: Memories, whole: EvalSet, mark: str, progress: Progress | None) -> Filled:
    """A store that holds the documents: as it was filled before, when its `mark` says so, else filled anew.

    What was filled for this set under another mark, or not to the end, is forgotten first.
    """
    namespaces = {scope: f"{_base(whole, mark)}:{scope}" for scope in whole.scopes}
    notes = memories.in_namespace(_base(whole, mark))
    held = _noted(notes)
    if held is not None and _is_complete(memories, whole, namespaces, held):
        return Filled(namespaces, held, *_vectors(memories, namespaces), reused=True)
    forget(memories, whole)
    held = {}
    done = 0
    for scope, documents in whole.by_scope().items():
        told = _of_all(progress, whole.name, done, len(whole.documents))
        of_scope = memories.in_namespace(namespaces[scope])
        written = of_scope.remember_many(list(map(_draft, documents)), progress=told)
        held |= {
            document.id: each.id
            for document, each in zip(documents, written, strict=True)
            if document.id != each.id
        }
        done += len(documents)
    filled = Filled(namespaces, held, *_vectors(memories, namespaces))
    if not filled.waiting:
        notes.remember_many(list(_parts(held, len(whole.documents))))
    return filled


def forget(memories: Memories, whole: EvalSet) -> None:
    """Remove what was filled for a set of this name."""
    for namespace in memories.namespaces():
        if namespace.startswith(f"{_of_set(whole)}:"):
            memories.in_namespace(namespace).forget(everything=True)


def _of_set(whole: EvalSet) -> str:
    return f"{_PREFIX}:{whole.name.replace(':', '-')}"


def _base(whole: EvalSet, mark: str) -> str:
    return f"{_of_set(whole)}:{mark}"


def _draft(document: Document) -> Draft:
    return Draft(
        document.text,
        id=document.id,
        session=document.session,
        speaker=document.speaker,
        created_at=document.created_at,
    )


def _parts(held: Mapping[str, str], documents: int) -> Iterator[Draft]:
    """What was filled, as notes in the store itself; the first part is written last, and ends the work."""
    pairs = sorted(held.items())
    starts = range(0, len(pairs), _HELD_AT_ONCE)
    for number, start in reversed(list(enumerate(starts, 1))):
        part = dict(pairs[start : start + _HELD_AT_ONCE])
        yield Draft(f"Filled for an evaluation, part {number}", id=f"part-{number}", metadata={"held": part})
    text = f"Filled for an evaluation with {documents} documents"
    yield Draft(text, id=_FIRST_PART, metadata={"documents": documents, "parts": len(starts)})


def _noted(notes: Memories) -> dict[str, str] | None:
    """Which memory holds each merged document, as noted by whoever filled the store; None when nobody did."""
    try:
        first = notes.get(_FIRST_PART)
        parts = notes.get([f"part-{number}" for number in range(1, first.metadata["parts"] + 1)])
    except NoSuchMemory:
        return None
    return {document: memory for part in parts for document, memory in part.metadata["held"].items()}


def _is_complete(
    memories: Memories, whole: EvalSet, namespaces: Mapping[str, str], held: Mapping[str, str]
) -> bool:
    counts = memories.namespaces()
    return sum(counts.get(each, 0) for each in namespaces.values()) == len(whole.documents) - len(held)


def _vectors(memories: Memories, namespaces: Mapping[str, str]) -> tuple[str | None, int]:
    """Which embedder made the vectors, and how many it still owes."""
    stats = [memories.in_namespace(namespace).stats() for namespace in namespaces.values()]
    embedder = next((each.embedder for each in stats if each.embedder), None)
    return embedder, sum(each.pending_vectors for each in stats) if embedder else 0


def _of_all(progress: Progress | None, name: str, before: int, total: int) -> Progress | None:
    """Progress over the whole set, from that of one of its scopes."""
    if progress is None:
        return None

    def told(what: str, done: int, _: int | None) -> None:
        progress(f"{name}: {what}", before + done, total)

    return told
