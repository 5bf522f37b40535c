"""Writing: drafts to rows, rows to vectors. Rows come first; a vector that can't be had now comes later."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from recollect import collecting, drafting
from recollect.errors import EmbedderError, EmbedderMissing, EmbedderUnavailable, InvalidInput
from recollect.frozen import fill, maker
from recollect.meaning import Meaning, Writer, generation_of
from recollect.overlapping import overlapped
from recollect.query.languages import detect
from recollect.store.base import Added, Pending, Record, Store, Text, Vector
from recollect.store.text import analyse, embedded_text
from recollect.types import Document, Draft, OnDuplicate, Progress, Remembered

if TYPE_CHECKING:
    from recollect import documents

ROWS_AT_FIRST, MOST_ROWS_AT_ONCE, _GROWTH = 512, 16_384, 4
"""How many rows a transaction has, so many times as many each time: the more there are, the less each costs.
The next are read while these are written, which takes several times as long."""
VECTORS_AT_ONCE = 64
CATCH_UP = 16
_GIVE_UP = 3
_NO_TEXT_S_FAULT = (EmbedderMissing, EmbedderUnavailable)
_log = logging.getLogger("recollect")
Item = TypeVar("Item")


class Embedded(NamedTuple):
    """How many memories still wait for a vector, and whether all were tried."""

    waiting: int
    complete: bool


def remember(
    store: Store, meaning: Meaning, namespace: str, draft: Draft, on_duplicate: OnDuplicate, now: datetime
) -> Remembered:
    """One memory with its vector, in one transaction; embedding happens before it opens."""
    writer = writer_of(store, meaning, namespace)
    generation = writer.generation if writer else None
    record = drafting.record(draft, now, _given(draft, writer))
    if writer and record.vector is None:
        record = drafting.with_vector(record, vector_of(meaning, writer, namespace, record))
    added = store.add(namespace, [record], generation=generation, on_duplicate=on_duplicate, now=now)[0]
    if writer and record.vector is None:
        meaning.owed.add(namespace)
    elif writer and namespace in meaning.owed:
        _catch_up(store, meaning, namespace, writer, now)
    return Remembered(added.id, added.outcome, added.embedded, added.near_duplicates)


def remember_many(
    store: Store,
    meaning: Meaning,
    namespace: str,
    drafts: Iterable[Draft],
    on_duplicate: OnDuplicate,
    now: datetime,
    progress: Progress | None,
) -> list[Remembered]:
    """Rows first, in batches, searchable by keyword at once; then every vector that is missing."""
    total = len(drafts) if isinstance(drafts, Sequence) else None
    writer = writer_of(store, meaning, namespace)
    generation = writer.generation if writer else None

    def write(records: Sequence[Record]) -> list[Added]:
        return store.add(namespace, records, generation=generation, on_duplicate=on_duplicate, now=now)

    batches = _analysed(drafts, now, meaning, writer)
    is_one_batch = total is not None and total <= ROWS_AT_FIRST
    writing = (write(batch) for batch in batches) if is_one_batch else overlapped(write, batches)
    written: list[Remembered] = []
    with closing(writing), nullcontext() if is_one_batch else collecting.seldom:
        for added in writing:
            written += [maker(Remembered)(a.id, a.outcome, a.embedded, a.near_duplicates) for a in added]
            if progress:
                progress("storing", len(written), total)
    if writer is None:
        return written
    if embed_pending(store, meaning, namespace, writer, now, progress).waiting == 0:
        return [item if item.embedded else replace(item, embedded=True) for item in written]
    return written


def _analysed(
    drafts: Iterable[Draft], now: datetime, meaning: Meaning, writer: Writer | None
) -> Iterator[list[Record]]:
    """Records in batches, with vectors where that takes no longer than writing does."""
    before = 0
    for batch in _growing_batches(drafts):
        vectors = _given_together(batch, writer)
        checked = [
            _numbered(draft, i, before, now, writer, vectors[i - 1] if vectors is not None else None)
            for i, draft in enumerate(batch, 1)
        ]
        records = drafting.completed(batch, checked)
        before += len(batch)
        if writer and getattr(writer.embedder, "embeds_at_once", False):
            _give_vectors(meaning, writer, records)
        yield records


def _numbered(
    draft: Draft, number: int, before: int, now: datetime, writer: Writer | None, vector: Vector | None
) -> Record:
    try:
        return drafting.checked(draft, now, _given(draft, writer) if vector is None else vector)
    except InvalidInput as error:
        kept = f" The {before:,} before it were kept." if before else " Nothing was kept."
        raise InvalidInput(f"Draft {before + number:,}: {error}{kept}") from error


def _give_vectors(meaning: Meaning, writer: Writer, records: Sequence[Record]) -> None:
    """New records get the vectors that they lack, from an embedder that is as quick as writing is."""
    lacking = [record for record in records if record.vector is None]
    texts = [embedded_text(record.content, record.speaker, record.headings, None) for record in lacking]
    try:
        vectors = meaning.embed(writer, texts)
    except EmbedderError:
        return
    for record, vector in zip(lacking, vectors, strict=True):
        fill(record, vector=vector)


def embed_pending(
    store: Store,
    meaning: Meaning,
    namespace: str,
    writer: Writer,
    now: datetime,
    progress: Progress | None = None,
) -> Embedded:
    """Give a vector to every memory that waits for one, whoever wrote it."""
    generation = writer.generation
    total = store.count_pending(namespace, generation)
    done = failed = after = 0
    while total and (page := store.pending(namespace, generation, after, VECTORS_AT_ONCE * 4)):
        after = page[-1].key
        for batch in _batches(sorted(page, key=lambda item: len(item.text)), VECTORS_AT_ONCE):
            vectors = _vectors(meaning, writer, batch)
            if vectors is None:
                return Embedded(store.count_pending(namespace, generation), complete=False)
            store.set_vectors(namespace, generation, vectors, now)
            done += len(vectors)
            failed += len(batch) - len(vectors)
            if progress:
                progress("embedding", done, max(total, done))
    return Embedded(failed, complete=True)  # what others wrote meanwhile is theirs to embed


def _vectors(
    meaning: Meaning, writer: Writer, batch: Sequence[Pending]
) -> list[tuple[Pending, Vector]] | None:
    """A batch's vectors. Texts that can't be embedded must not hold up the others; None: it is down."""
    vectors: list[tuple[Pending, Vector]] = []
    try:
        together = meaning.embed(writer, [item.text for item in batch])
        return list(zip(batch, together, strict=True))
    except EmbedderError as error:
        trouble = error
    for number, item in enumerate(batch):
        if isinstance(trouble, _NO_TEXT_S_FAULT):
            break
        if number == _GIVE_UP and not vectors and not _is_well(meaning, writer):
            break
        try:
            vectors.append((item, meaning.embed(writer, [item.text])[0]))
        except EmbedderError as error:
            trouble = error
    if vectors or (not isinstance(trouble, _NO_TEXT_S_FAULT) and _is_well(meaning, writer)):
        return vectors
    _log.warning("No vectors for now: %s", trouble)
    return None


def _is_well(meaning: Meaning, writer: Writer) -> bool:
    """Whether a text that nobody refuses can be embedded."""
    try:
        meaning.embed(writer, ["The sun is warm."])
    except EmbedderError:
        return False
    return True


def _catch_up(store: Store, meaning: Meaning, namespace: str, writer: Writer, now: datetime) -> None:
    """The embedder works again: vectors for some of those that were kept without one, and more next time."""
    waiting = store.pending(namespace, writer.generation, 0, CATCH_UP)
    try:
        vectors = meaning.embed(writer, [item.text for item in waiting], soon=True) if waiting else ()
    except EmbedderUnavailable:
        return
    except EmbedderError:
        meaning.owed.discard(namespace)  # one text among them is the trouble: reembed tries each alone
        return
    store.set_vectors(namespace, writer.generation, list(zip(waiting, vectors, strict=True)), now)
    if len(waiting) < CATCH_UP:
        meaning.owed.discard(namespace)


def ingest(
    store: Store, meaning: Meaning, namespace: str, name: str, source: str, now: datetime, metadata: str
) -> tuple[Document, int, bool]:
    """A document's passages in the place of what stood under its name.

    Returns the document, how many passages were removed, and whether it changed at all.
    """
    import hashlib  # it loads OpenSSL, which a search can do without

    hash = hashlib.blake2b(f"{source}\0{metadata}".encode(), digest_size=16).digest()
    known = store.documents(namespace, name)
    if known and known[0][1] == hash:
        return known[0][0], 0, False
    from recollect import documents

    title = documents.title_of(source, name)
    passages = documents.split(source)
    if not passages:
        raise InvalidInput(f"{name} has no text to keep.")
    writer = writer_of(store, meaning, namespace)
    records = [_passage(passage, title, name, now, metadata) for passage in passages]
    document = Document(
        id=known[0][0].id if known else drafting.new_id(),
        namespace=namespace,
        name=name,
        title=title,
        passages=len(records),
        created_at=known[0][0].created_at if known else now,
        updated_at=now,
    )
    receipt = store.replace_document(
        namespace, document, hash, records, generation=writer.generation if writer else None, now=now
    )
    return document, receipt.memories, True


def _passage(passage: documents.Passage, title: str, name: str, now: datetime, metadata: str) -> Record:
    language = detect(passage.text)
    text = Text(0, 0, passage.text, None, language, (), (), passage.headings, "passage", title)
    analysed = analyse(text)
    return Record(
        id=drafting.new_id(),
        kind="passage",
        content=passage.text,
        terms=analysed.terms,
        hash=analysed.hash,
        created_at=now,
        updated_at=now,
        sector="semantic",
        tier="project",
        language=language,
        importance=0.5,
        salience=0.5,
        salience_at=now,
        token_count=drafting.estimate_tokens(passage.text),
        headings=passage.headings,
        metadata=metadata,
        source=name,
    )


def writer_of(store: Store, meaning: Meaning, namespace: str) -> Writer | None:
    """Who embeds new memories; None when there is nobody now, so that the row is kept all the same."""
    try:
        embedder = meaning.writer(store.facts([namespace]).get(namespace))
        return Writer(embedder, generation_of(embedder)) if embedder is not None else None
    except EmbedderError as error:
        _tell_once(meaning, namespace, error)
        meaning.owed.add(namespace)
        return None


def vector_of(meaning: Meaning, writer: Writer, namespace: str, record: Record) -> Vector | None:
    """The vector of a record, or None when it can't be had now."""
    try:
        text = embedded_text(record.content, record.speaker, record.headings, None)
        vector: Vector = meaning.embed(writer, [text], soon=True)[0]
        return vector
    except EmbedderError as error:
        _tell_once(meaning, namespace, error)
        return None


def _tell_once(meaning: Meaning, namespace: str, trouble: EmbedderError) -> None:
    """Say why vectors are missing, with the first memory of a namespace that gets none."""
    if namespace not in meaning.owed:
        _log.warning("No vectors for now: %s", trouble)


def _given(draft: Draft, writer: Writer | None) -> Vector | None:
    """The vector that came with a draft, at unit length; None if there is none."""
    if draft.vector is None:
        return None
    if writer is None:
        raise InvalidInput("A vector was given, but there is no embedder that it could belong to: set one.")
    import numpy as np

    wanted = writer.generation.dimensions
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        try:
            vector = np.asarray(draft.vector, np.float32)
        except (TypeError, ValueError):  # no numbers at all, or rows of different lengths
            vector = np.empty(0, np.float32)
        length = np.sqrt(vector.dot(vector)) if vector.shape == (wanted,) else np.float32(np.nan)
    if not math.isfinite(length):
        raise InvalidInput(
            f"The vector must have {wanted} finite numbers, as {writer.generation.model} gives."
        )
    if length == 0:
        raise InvalidInput("The vector is all zeros: leave it out.")
    unit: Vector = vector / length
    return unit


def _given_together(drafts: Sequence[Draft], writer: Writer | None) -> Sequence[Vector] | None:
    """What `_given` makes of each, sooner; None where not all are plainly usable: it must look at each."""
    if writer is None or type(drafts[0].vector).__module__ != "numpy":
        return None
    import numpy as np

    wanted = writer.generation.dimensions
    given: list[Any] = [draft.vector for draft in drafts]
    if not all(isinstance(each, np.ndarray) and each.shape == (wanted,) for each in given):
        return None
    with np.errstate(over="ignore"):
        matrix = np.asarray(given, np.float32)
        squares = np.matmul(matrix[:, None, :], matrix[:, :, None])[:, 0]
    lengths = np.sqrt(squares)
    return matrix / lengths if np.isfinite(lengths).all() and lengths.all() else None


def _growing_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    size = ROWS_AT_FIRST
    while batch := list(islice(iterator, size)):
        yield batch
        size = min(size * _GROWTH, MOST_ROWS_AT_ONCE)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
