"""The segments of a store: those that the database lists, opened when they are first needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recollect.forks import mind_forks
from recollect.store.sqlite.derived import files
from recollect.store.sqlite.derived.files import UNFINISHED, Unreadable
from recollect.store.sqlite.derived.vectors import VectorSegment
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.statements import Statements

SUFFIX = ".segment"
_UNKNOWN = -1
"""Not the version of any state: what is broken is looked at again each time."""


class Listed(NamedTuple):
    """A segment as the database lists it."""

    number: int
    kind: str
    name: str
    generation: int | None
    upto: int
    size: int


class Opened(NamedTuple):
    """The segments of one state of the store, oldest first; up to which memory and vector they were read."""

    listed: tuple[Listed, ...] = ()
    words: tuple[WordSegment, ...] = ()
    words_upto: int = 0
    vectors: tuple[tuple[int, VectorSegment], ...] = ()
    vectors_upto: int = 0

    @property
    def is_broken(self) -> bool:
        """Whether a listed file can't be used: all are done without, until somebody makes them anew."""
        return bool(self.listed) and not self.words and not self.vectors

    def of_generation(self, generation: int) -> list[VectorSegment]:
        """The segments of a generation."""
        return [segment for number, segment in self.vectors if number == generation]


NO_SEGMENTS = Opened()


class _Held(NamedTuple):
    """A file that is mapped."""

    path: str
    segment: WordSegment | VectorSegment


class Shelf:
    """What is open in this process. Files that are gone or damaged are noted, and done without."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, _Held] = {}
        self._version = 0
        self._opened = Opened()
        self._lock = threading.Lock()
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody opens a file while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Parent and child go on with what is open."""
        self._lock.release()

    def at(self, version: int, statements: Statements) -> Opened:
        """The segments as this connection sees them; `version` is the highest number of one."""
        with self._lock:
            if version != self._version:
                self._opened = self._open(listing(statements) if version else (), statements)
                self._version = _UNKNOWN if self._opened.is_broken else version
            if not self._are_whole():
                self._condemn()
            return self._opened

    def newest(self, statements: Statements) -> Opened:
        """The segments as this connection sees them."""
        listed = listing(statements)
        return self.at(listed[-1].number if listed else 0, statements)

    def condemn(self) -> None:
        """Do without the segments that are listed now: something in them is not as it should be."""
        with self._lock:
            self._condemn()

    def _condemn(self) -> None:
        self._opened = Opened(self._opened.listed)
        self._files.clear()

    def _are_whole(self) -> bool:
        """Whether files that are mapped are as long as they were: reading beyond an end would be fatal."""
        try:
            for path, segment in self._files.values():
                if os.stat(path).st_size != segment.bytes:  # noqa: PTH116  (every recall asks)
                    return False
        except OSError:
            return False
        return True

    def path(self, name: str) -> Path:
        """Where a segment lies."""
        return self.folder / f"{name}{SUFFIX}"

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files of segments."""
        files.remove(map(self.path, names))

    def strays(self, listed: Iterable[Listed]) -> list[Path]:
        """Files that nobody lists: somebody is at work, or was killed."""
        known = {self.path(each.name) for each in listed}
        suffixes = (SUFFIX, UNFINISHED)
        try:
            return [path for path in self.folder.iterdir() if path.suffix in suffixes and path not in known]
        except OSError:
            return []

    def _open(self, listed: tuple[Listed, ...], statements: Statements) -> Opened:
        wanted = {each.name for each in listed}
        self._files = {name: held for name, held in self._files.items() if name in wanted}
        are_known = wanted <= set(self._files)
        words: list[WordSegment] = []
        vectors: list[tuple[int, VectorSegment]] = []
        try:
            for each in listed:
                held = self._files.get(each.name) or self._read(each)
                self._files[each.name] = held
                opened = held.segment
                if isinstance(opened, WordSegment):
                    words.append(opened)
                elif each.generation is not None:
                    vectors.append((each.generation, opened))
            if not are_known and not _agree(statements, words, vectors):
                raise Unreadable("the rows are older than the segments")
        except Unreadable:
            self._files.clear()
            return Opened(listed)
        upto = {each.kind: each.upto for each in listed}
        return Opened(listed, tuple(words), upto.get("words", 0), tuple(vectors), upto.get("vectors", 0))

    def _read(self, listed: Listed) -> _Held:
        path = self.path(listed.name)
        arrays, size = files.read(path)
        try:
            is_of_words = listed.kind == "words"
            segment = WordSegment(arrays, size) if is_of_words else VectorSegment(arrays, size, path)
            return _Held(str(path), segment)
        except KeyError as error:
            raise Unreadable(f"{listed.name} has no {error}") from error


def _agree(
    statements: Statements, words: Sequence[WordSegment], vectors: Sequence[tuple[int, VectorSegment]]
) -> bool:
    """Whether what was struck out has gone from the rows too: not if those are an older copy."""
    struck = np.concatenate([np.empty(0, np.int64), *(segment.struck_out() for _, segment in vectors)])
    if len(struck) and statements.value("any_vector", numbers=struck.tolist()):
        return False
    stale = np.array([row[0] for row in statements.rows("changed_after", after=0)], np.int64)
    for segment in reversed(words):
        if not np.isin(segment.struck_out(), stale).all():
            return False
        stale = np.concatenate([stale, segment.touched])
    return True


def listing(statements: Statements) -> tuple[Listed, ...]:
    """The segments that the database lists."""
    return tuple(Listed(*row) for row in statements.rows("segments"))
