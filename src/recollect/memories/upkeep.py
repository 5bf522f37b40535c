"""Documents, vectors, numbers, health, and moving everything in and out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect import checks, remembering, weighing
from recollect.errors import EmbedderMissing, InvalidInput
from recollect.meaning import Writer, generation_of
from recollect.memories.front import Front
from recollect.store.text import analyse
from recollect.types import Document, Finding, Ingested, Progress, Receipt, Stats


class Upkeep(Front):
    """What concerns a namespace as a whole."""

    def ingest(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Ingested:
        """Split Markdown or plain text into passages along its structure; the same name again replaces them.

        `source` is the path of a file; with a `name` it may be the text itself.
        """
        text, label = _document(source, name)
        return self.ingest_text(label, text, metadata=metadata, progress=progress)

    def ingest_text(
        self,
        name: str,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Ingested:
        """The same for a text that is at hand: whatever it says, no file is read."""
        label = checks.name(name, what="The name")
        checks.text(text, what=f"The document {label!r}", longest=checks.LONGEST_DOCUMENT)
        known = bool(self._store.documents(self._namespace, label))
        now = self._now()
        document, removed, changed = remembering.ingest(
            self._store, self._meaning, self._namespace, label, text, now, checks.metadata(metadata or {})
        )
        writer = remembering.writer_of(self._store, self._meaning, self._namespace)
        if writer is not None:
            remembering.embed_pending(self._store, self._meaning, self._namespace, writer, now, progress)
        if not changed:
            return Ingested(document, "unchanged")
        return Ingested(document, "replaced" if known else "added", removed)

    def documents(self) -> list[Document]:
        """The documents of this namespace, by name."""
        return [document for document, _ in self._store.documents(self._namespace)]

    def forget_document(self, name: str) -> Receipt:
        """Remove a document, its passages and all that was derived from them."""
        receipt = self._store.forget_document(
            self._namespace, checks.name(name, what="The document"), self._now()
        )
        return replace(receipt, documents=1)

    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory a vector of the embedder that is set, then search those; resumable.

        Returns how many still wait: those that the embedder failed on.
        """
        facts = self._store.facts([self._namespace]).get(self._namespace)
        embedder = self._meaning.writer(facts)
        if embedder is None:
            raise EmbedderMissing(
                "Vectors are switched off (embedder none): set another embedder, such as arctic-s."
            )
        prepare = getattr(embedder, "prepare", None)
        if prepare is not None:
            prepare()
        generation = generation_of(embedder)
        writer = Writer(embedder, generation)
        waiting, complete = remembering.embed_pending(
            self._store, self._meaning, self._namespace, writer, self._now(), progress
        )
        if complete and facts is not None and (facts.generation != generation or facts.next_generation):
            self._store.switch_generation(self._namespace, generation, self._now())
        return waiting

    def backfill(self, progress: Progress | None = None) -> int:
        """Give rows what they lack: keyword entries in the whole store, then vectors in this namespace.

        For rows that came some other way, as from an older program. Returns how many still wait for a vector.
        """
        self._later.finish()
        self._store.rebuild(analyse, progress)
        writer = remembering.writer_of(self._store, self._meaning, self._namespace)
        return self.reembed(progress) if writer is not None else 0

    def stats(self) -> Stats:
        """This namespace in numbers."""
        self._later.finish()
        numbers = dict(self._store.stats(self._namespace, self._now()))
        facts = self._store.facts([self._namespace]).get(self._namespace)
        active = facts.generation if facts else None
        pending = self._store.count_pending(self._namespace, active) if active else 0
        notes = list(numbers.pop("notes", ()))
        if pending:
            notes.append(f"Without a vector so far: {pending:,}. Run recollect reembed.")
        if facts and facts.next_generation:
            notes.append(f"Vectors of {facts.next_generation.model} are being made: run recollect reembed.")
        tuned = facts.tuned if facts else None
        if tuned and not weighing.holds(tuned, active):
            notes.append("The weights were tuned for another model and do not hold: run recollect tune.")
        return Stats(
            namespace=self._namespace,
            pending_vectors=pending if active else numbers["memories"] + numbers["passages"],
            embedder=active.model if active else None,
            tuned=tuned,
            notes=tuple(notes),
            **numbers,
        )

    def namespaces(self) -> Mapping[str, int]:
        """Every namespace of the store and how many live memories it has."""
        return self._store.namespaces()

    def doctor(self, *, rebuild: bool = False, progress: Progress | None = None) -> list[Finding]:
        """What does not agree between rows, keyword index, vectors and links; `rebuild` mends it first."""
        self._later.finish()
        if rebuild:
            self._store.rebuild(analyse, progress)
        return self._store.check(analyse)

    def export_records(self, *, vectors: bool = False) -> Iterator[dict[str, Any]]:
        """Everything in this namespace as plain records, losing nothing; vectors only when asked for."""
        self._later.finish()
        return self._store.dump(self._namespace, vectors=vectors)

    def import_records(self, records: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
        """Write what `export_records` gave, all or nothing; ids that are there already are left alone."""
        return self._store.undump(self._namespace, records, analyse, self._now())


def _document(source: str | Path, name: str | None) -> tuple[str, str]:
    """The text of a document and the name that it is kept under."""
    if not isinstance(source, (str, Path)):
        raise InvalidInput(f"A document is a path or a text, not {type(source).__name__}.")
    if isinstance(source, str) and name is not None and not _is_file(source):
        text, label = source, name
    else:
        path = Path(source)
        text, label = _read(path), name or str(path)
    return text, label


def _is_file(text: str) -> bool:
    """Whether a string can only be meant as a path: one short line that names a file."""
    try:
        return len(text) < 500 and "\n" not in text and Path(text).is_file()
    except (OSError, ValueError):
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text: convert it first.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{path} can't be read ({reason}): for a text, give its name too.") from error
