"""What was forgotten is struck out of the segments at once, where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import codes, facts, files, locking
from recollect.store.sqlite.derived.shelf import Listed, Opened, Shelf
from recollect.store.sqlite.derived.vectors import VectorSegment
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.statements import Statements

_FEW = 8


class Outdated(NamedTuple):
    """What the segments of one state of the store have otherwise than the rows: these memories, ascending.

    A later state's segments may have them as they are now, so both are read at once.
    """

    opened: Opened
    memories: NDArray[np.int64]
    vectors: NDArray[np.int64]
    """Vectors of these memories that hold."""

    @classmethod
    def read(cls, statements: Statements, shelf: Shelf, after: int = 0) -> Outdated:
        """By the changes after this one that no segment knows yet."""
        changed = sorted(row[0] for row in statements.rows("changed_after", after=after))
        living = [row[0] for row in statements.rows("vectors_of", memories=changed)]
        return cls(shelf.newest(statements), np.array(changed, np.int64), np.array(living, np.int64))


def strike_out(shelf: Shelf, outdated: Outdated) -> None:
    """Remove what the segments have of memories as they were; a file that is gone has nothing left.

    What can't be read can't be struck out: it is removed, as nobody uses it.
    """
    if not len(outdated.memories):
        return
    if outdated.opened.is_broken:
        shelf.remove(each.name for each in outdated.opened.listed)
    words = iter(outdated.opened.words)
    vectors = iter(segment for _, segment in outdated.opened.vectors)
    try:
        for listed in outdated.opened.listed:
            segment = next(words if listed.kind == "words" else vectors, None)
            with suppress(OSError):
                if isinstance(segment, WordSegment):
                    _strike_words(shelf.path(listed.name), segment, outdated)
                elif isinstance(segment, VectorSegment):
                    _strike_vectors(shelf.path(listed.name), segment, outdated)
    except (ValueError, IndexError):
        shelf.condemn()
        shelf.remove(each.name for each in outdated.opened.listed)


def clear_away(shelf: Shelf, listed: Callable[[], Sequence[Listed]]) -> None:
    """Remove what somebody left who was killed while making segments; not what is being made now."""
    if not shelf.strays(listed()):
        return
    with suppress(OSError), locking.held(shelf.folder / "lock") as mine:
        if mine:
            files.remove(shelf.strays(listed()))


def _strike_words(path: Path, segment: WordSegment, outdated: Outdated) -> None:
    """They are marked, their occurrences count for nothing, terms that nobody else had are blotted out."""
    docs = segment.everywhere(outdated.memories)
    if not segment.lengths[docs].any() and not segment.facts.columns["created"][docs].any():
        return
    where = np.flatnonzero(_any_of(segment.docs, docs, len(segment)))
    with files.changing(path) as arrays:
        arrays["codes"][where] = 0
        for term in np.unique(np.searchsorted(segment.offsets, where, side="right") - 1):
            if not segment.codes[segment.offsets[term] : segment.offsets[term + 1]].any():
                arrays["letters"][segment.cuts[term] : segment.cuts[term + 1]] = 0
        facts.strike_out(arrays, docs)
        arrays["lengths"][docs] = 0  # last: who is killed before leaves it to the next


def _any_of(values: NDArray[np.int32], few: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
    """Which of many values below `size` are among these."""
    if len(few) > _FEW:
        flags = np.zeros(size, np.bool_)
        flags[few] = True
        return flags[values]
    found = np.zeros(len(values), np.bool_)
    for each in few:
        found |= values == each
    return found


def _strike_vectors(path: Path, segment: VectorSegment, outdated: Outdated) -> None:
    old = np.isin(segment.memories, outdated.memories) & ~np.isin(segment.numbers, outdated.vectors)
    where = np.flatnonzero(old & (segment.coded.scale > 0))
    if len(where):
        with files.changing(path) as arrays:
            codes.clear(arrays, where)
