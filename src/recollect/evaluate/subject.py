"""A store that is being measured: which namespaces are the bench's own, and how it is left behind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter

import recollect
from recollect.config import without_password
from recollect.errors import InvalidInput, NotFound
from recollect.evaluate.timing import resident_bytes
from recollect.evaluate.vectors import WordVectors
from recollect.memories import Memories
from recollect.types import Draft, Progress

_OURS = re.compile(r"bench-\d{4,}")


def namespace(number: int) -> str:
    """What the bench calls its namespaces.

    >>> namespace(0)
    'bench-0001'
    """
    return f"bench-{number + 1:04}"


def id_of(number: int) -> str:
    """What the bench calls its memories, so that it knows them again."""
    return f"bench-{number + 1:09}"


def file_of(url: str) -> Path | None:
    """The file that a URL names, if it names one; whether it can be opened is for others to say."""
    scheme, separator, rest = url.partition("://")
    if url == ":memory:" or (separator and scheme != "sqlite"):
        return None
    try:
        return Path(rest if separator else url).expanduser().resolve()
    except (RuntimeError, ValueError, OSError):
        return None


class Subject:
    """One open store, its views by namespace, and what was put into it."""

    def __init__(self, url: str, memories: Memories) -> None:
        self.url = without_password(url)
        self.memories = memories
        self.reused = False
        self.grown: int | None = 0
        self._made: set[str] = set()
        self._extra: defaultdict[str, list[str]] = defaultdict(list)
        self.space: Callable[[int], Memories] = cache(lambda n: memories.in_namespace(namespace(n)))

    def timed(self, action: Callable[[], object]) -> float:
        """How many seconds it takes; what memory grows by meanwhile is added to `grown`."""
        before = resident_bytes()
        start = perf_counter()
        action()
        took = perf_counter() - start
        after = resident_bytes()
        if self.grown is not None:
            self.grown = None if before is None or after is None else self.grown + after - before
        return took

    def check(self, drafts: Sequence[Draft], namespaces: int, *, reuse: bool) -> None:
        """InvalidInput if there is something in namespaces that are called as ours; or it is reused."""
        counts = {name: n for name, n in self.memories.namespaces().items() if _OURS.fullmatch(name)}
        held = {name: n for name, n in counts.items() if n or not self._is_empty(name)}
        if not held:
            return
        if not reuse:
            raise InvalidInput(
                f"{self.url} already has memories in {min(held)}: --reuse measures with them, "
                "forget them for new ones, or name another store."
            )
        wanted = {namespace(n): len(range(n, len(drafts), namespaces)) for n in range(namespaces)}
        if held != wanted or not all(self._is_ours(n, drafts[n].text) for n in range(namespaces)):
            raise InvalidInput(
                f"{self.url} has other memories in its bench namespaces than were asked for: "
                "give the options that they were made with, or name another store."
            )
        self.reused = True

    def _is_empty(self, name: str) -> bool:
        found = self.memories.in_namespace(name).stats()
        return not (found.memories or found.passages or found.deleted)

    def _is_ours(self, number: int, text: str) -> bool:
        space = self.space(number)
        try:
            first = space.get(id_of(number)).content
        except NotFound:
            return False
        found = space.stats()
        return first == text and found.embedder == WordVectors.name and found.pending_vectors == 0

    def will_fill(self, name: str) -> None:
        """This namespace is being made, and is to go at the end."""
        self._made.add(name)

    def will_remove(self, name: str, id: str) -> None:
        """This memory was written to a namespace that may stay, and is to go at the end."""
        self._extra[name].append(id)

    def is_alone(self) -> bool:
        """Whether nothing but what was made here is in the store."""
        return not any(n for name, n in self.memories.namespaces().items() if name not in self._made)

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
    is_litter = False
    try:
        with recollect.open(url, namespace=namespace(0), embedder=embedder) as memories:
            subject = Subject(url, memories)
            try:
                yield subject
            finally:
                is_litter = is_new and not keep and subject.is_alone()
                if not is_litter:
                    subject.tidy_up(progress, keep=keep)
    finally:
        for ending in ("", "-wal", "-shm") if is_litter else ():
            Path(f"{file}{ending}").unlink(missing_ok=True)
