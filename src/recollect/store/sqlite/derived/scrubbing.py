"""What was forgotten is struck out of the segments at once, where it stands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import files
from recollect.store.sqlite.derived.shelf import Opened, Shelf
from recollect.store.sqlite.derived.vectors import VectorSegment
from recollect.store.sqlite.derived.words import WordSegment


def strike_out(shelf: Shelf, opened: Opened, memories: Sequence[int]) -> None:
    """Remove what the segments have of these memories as they were; a file that is gone has nothing left."""
    gone = np.array(memories, np.int64)
    words = iter(opened.words)
    vectors = iter(segment for _, segment in opened.vectors)
    for listed in opened.listed:
        segment = next(words if listed.kind == "words" else vectors, None)
        with suppress(OSError):
            if isinstance(segment, WordSegment):
                _strike_words(shelf.path(listed.name), segment, gone)
            elif isinstance(segment, VectorSegment):
                _strike_vectors(shelf.path(listed.name), segment, gone)


def _strike_words(path: Path, segment: WordSegment, gone: NDArray[np.int64]) -> None:
    """Their occurrences count for nothing any more, and terms that nobody else had are blotted out."""
    docs = np.flatnonzero(np.isin(segment.numbers, gone))
    where = np.flatnonzero(_any_of(segment.docs, docs) & (segment.codes > 0)) if len(docs) else docs
    if not len(where):
        return
    terms = np.unique(np.searchsorted(segment.offsets, where, side="right") - 1)
    with _Striking(path) as striking:
        for at in where:
            striking.zero("codes", segment.codes, int(at), 1)
        for term in terms:
            if not segment.codes[segment.offsets[term] : segment.offsets[term + 1]].any():
                start, end = int(segment.cuts[term]), int(segment.cuts[term + 1])
                striking.zero("letters", segment.letters, start, end - start)


def _any_of(values: NDArray[np.int32], few: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of many values are among a few; to compare with each is quicker than to sort."""
    if len(few) > 8:
        return np.isin(values, few)
    found = np.zeros(len(values), np.bool_)
    for each in few:
        found |= values == each
    return found


def _strike_vectors(path: Path, segment: VectorSegment, gone: NDArray[np.int64]) -> None:
    where = np.flatnonzero(np.isin(segment.memories, gone) & (segment.coded.scale > 0))
    if not len(where):
        return
    with _Striking(path) as striking:
        for at in where.tolist():
            for name, array in segment.coded._asdict().items():
                if name == "bits":
                    for row in range(len(array)):
                        striking.zero(name, array, row * array.shape[1] + at, 1)
                else:
                    width = array.shape[1] if array.ndim == 2 else 1
                    striking.zero(name, array, at * width, width)


class _Striking:
    """Zeros written into a file that others have mapped: they see them at once."""

    def __init__(self, path: Path) -> None:
        self._places = files.places(path)
        self._file = path.open("r+b")

    def zero(self, name: str, array: NDArray[Any], first: int, count: int) -> None:
        """Set some elements of an array to zero."""
        self._file.seek(self._places[name] + first * array.itemsize)
        self._file.write(bytes(count * array.itemsize))

    def __enter__(self) -> _Striking:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
