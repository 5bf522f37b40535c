"""A store that is being measured: which namespaces are the bench's own, and how it is left behind."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from recollect.config import without_password
from recollect.errors import InvalidInput, NotFound
from recollect.evaluate.cold import Processes
from recollect.evaluate.dealing import id_of, namespace
from recollect.evaluate.timing import resident_bytes
from recollect.evaluate.vectors import WordVectors
from recollect.meaning import Meaning
from recollect.memories import Memories
from recollect.opening import is_postgres, store_at
from recollect.store.base import Store
from recollect.types import Progress

Answer = TypeVar("Answer")
_OURS = re.compile(r"bench-\d{4,}")
_NOT_DERIVED = ("-wal", "-shm", "-journal")
"""What SQLite itself keeps beside a database, for as long as it is open."""


def file_of(url: str) -> Path | None:
    """The file that a URL names, if it names one; whether it can be opened is for others to say."""
    scheme, separator, rest = url.partition("://")
    if url == ":memory:" or is_postgres(url) or (separator and scheme != "sqlite"):
        return None
    try:
        return Path(rest if separator else url).expanduser().resolve()
    except (RuntimeError, ValueError, OSError):
        return None


def beside(file: Path | None) -> set[Path]:
    """A database and whatever lies beside it under a name that begins with its own."""
    if file is None or not file.parent.is_dir():
        return set()
    return {path for path in file.parent.iterdir() if path.name.startswith(file.name)}


def size_of(path: Path) -> int:
    """Of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(each.stat().st_size for each in files if each.is_file())


class Subject:
    """One open store, its views by namespace, and what was put into it."""

    def __init__(self, url: str, store: Store, embedder: WordVectors) -> None:
        self.url = without_password(url)
        self.store = store
        self.memories = Memories(store, namespace=namespace(0), meaning=Meaning(embedder))
        self.processes = Processes(url, embedder) if url != ":memory:" else None
        self.ranks_by_whole_store = not is_postgres(url)
        """Whether a word is rare among all memories that the store has, or among those of its namespace."""
        self.reused = False
        self.grown: int | None = 0
        self._file = file_of(url)
        self._made: set[str] = set()
        self._extra: defaultdict[str, list[str]] = defaultdict(list)
        self.space: Callable[[int], Memories] = cache(
            lambda number: self.memories.in_namespace(namespace(number))
        )

    def timed(self, action: Callable[[], Answer]) -> tuple[float, Answer]:
        """How many seconds it takes, and what it gives; what memory grows by is added to `grown`."""
        before = resident_bytes()
        start = perf_counter()
        answer = action()
        took = perf_counter() - start
        after = resident_bytes()
        if self.grown is not None:
            self.grown = None if before is None or after is None else self.grown + after - before
        return took, answer

    def resident_bytes(self) -> int | None:
        """What memory grew by while it was at work; no more than the whole process holds now, for what was
        given back at other times was not counted."""
        now = resident_bytes()
        return None if self.grown is None or now is None else min(self.grown, now)

    def settle(self) -> None:
        """Return when everything that is derived from what was written is there."""
        self.memories.settle()

    def bytes(self) -> int:
        """On disk: the database and what is derived; not SQLite's log, which comes and goes."""
        if self._file is None:
            return self.memories.stats().bytes
        return size_of(self._file) + (self.derived_bytes() or 0)

    def derived_bytes(self) -> int | None:
        """In files beside the database; None where there is no such file."""
        if self._file is None:
            return None
        kept = {self._file.name, *(f"{self._file.name}{ending}" for ending in _NOT_DERIVED)}
        return sum(size_of(path) for path in beside(self._file) if path.name not in kept)

    def check(self, *, reuse: bool) -> None:
        """InvalidInput if there is something in namespaces that are called as ours, unless it is reused."""
        held = self._held()
        if held and not reuse:
            raise InvalidInput(
                f"{self.url} already has memories in {min(held)}: --reuse measures with them, "
                "forget them for new ones, or name another store."
            )
        self.reused = bool(held)

    def check_fit(self, counts: Mapping[int, int], firsts: Mapping[int, tuple[int, str]]) -> None:
        """InvalidInput if what is reused is not so many memories, or not these, in each of the namespaces.

        `firsts` has the number and the text of the first memory of each.
        """
        if not self.reused:
            return
        wanted = {namespace(space): count for space, count in counts.items()}
        if self._held() != wanted or not all(self._is_ours(space, *firsts[space]) for space in counts):
            raise InvalidInput(
                f"{self.url} has other memories in its bench namespaces than were asked for: "
                "give the options that they were made with, or name another store."
            )

    def _held(self) -> dict[str, int]:
        """How many memories are in namespaces that are called as ours, where there are any."""
        counts = {name: n for name, n in self.memories.namespaces().items() if _OURS.fullmatch(name)}
        return {name: n for name, n in counts.items() if n or not self._is_empty(name)}

    def _is_empty(self, name: str) -> bool:
        found = self.memories.in_namespace(name).stats()
        return not (found.memories or found.passages or found.deleted)

    def _is_ours(self, space: int, number: int, text: str) -> bool:
        view = self.space(space)
        try:
            first = view.get(id_of(number)).content
        except NotFound:
            return False
        generation = self.store.facts([view.namespace])[view.namespace].generation
        is_same_model = generation is not None and generation.fingerprint == WordVectors.fingerprint
        return first == text and is_same_model and view.stats().pending_vectors == 0

    def will_fill(self, name: str) -> None:
        """This namespace is being made, and is to go at the end."""
        self._made.add(name)

    def will_remove(self, name: str, id: str) -> None:
        """This memory was written to a namespace that may stay, and is to go at the end."""
        self._extra[name].append(id)

    def is_alone(self) -> bool:
        """Whether nothing but what was made here is in the store."""
        return not any(n for name, n in self.memories.namespaces().items() if name not in self._made)

    def has_nothing_else(self) -> bool:
        """Whether nothing but memories of a bench is in the store."""
        return not any(n for name, n in self.memories.namespaces().items() if not _OURS.fullmatch(name))

    def tidy_up(self, progress: Progress | None, *, keep: bool) -> None:
        """Remove what was made; with `keep`, only what was written after the namespaces were filled."""
        gone = set() if keep else self._made
        for name in self._extra.keys() - gone:
            self.memories.in_namespace(name).forget(self._extra[name])
        for done, name in enumerate(sorted(gone), 1):
            self.memories.in_namespace(name).forget(everything=True)
            if progress:
                progress("removing", done, len(gone))


@contextmanager
def opened(
    url: str, embedder: WordVectors, *, keep: bool, progress: Progress | None = None
) -> Iterator[Subject]:
    """A store to measure, left as it was found: a file that was not there before is removed again."""
    file = file_of(url)
    is_new = file is not None and not file.exists()
    before = beside(file)
    is_litter = False
    try:
        subject = Subject(url, store_at(url), embedder)
        with subject.memories:
            try:
                yield subject
            finally:
                is_litter = is_new and not keep and subject.is_alone()
                if not is_litter:
                    subject.tidy_up(progress, keep=keep)
    finally:
        for path in beside(file) - before if is_litter else ():
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
