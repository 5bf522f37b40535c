"""What no segment has yet, as segments in memory: whoever searches need not tell new memories from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.store.sqlite.derived import words
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.statements import Row, Statements

FEW = 200
"""So many memories that no segment has are read sooner than FTS5 says which of them have the words."""
_MOST_PIECES = 8


class Piece(NamedTuple):
    """Some rows of `to_index`, with the number first, and a segment of them."""

    rows: Sequence[Row]
    segment: WordSegment

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Piece:
        """Of memories that no segment has."""
        return cls(rows, in_memory(rows))


def in_memory(rows: Sequence[Row], *, touched: Sequence[int] = ()) -> WordSegment:
    """A segment of rows that were read, and of which memories older segments have otherwise."""
    return WordSegment(words.build([words.Row.read(row) for row in rows], touched))


class Newer:
    """The memories that no segment has as they are now. What was made of some is kept for the next time: of
    those that have not changed meanwhile."""

    def __init__(self) -> None:
        self._pieces: tuple[Piece, ...] = ()
        self._changed: Piece | None = None

    def forget(self) -> None:
        """Keep nothing."""
        self._pieces, self._changed = (), None

    def segments(
        self, statements: Statements, opened: Opened, newest: int, change: int
    ) -> tuple[list[WordSegment], int]:
        """Segments of what was written after those that are `opened`, and up to which memory all is there.

        `newest` is the highest number that any memory has, `change` that of any change. Of memories that are
        many, none is there.
        """
        upto = opened.words_upto
        found = []
        if 0 < newest - upto <= FEW:
            rows = statements.rows("terms_to_index", after=upto, upto=newest, limit=FEW)
            found += [piece.segment for piece in self._in_pieces(rows)]
        if change:
            found += self._of_changed(statements.rows("changes_to_index", change=change, upto=upto))
        return found, newest if newest - upto <= FEW else upto

    def _in_pieces(self, rows: Sequence[Row]) -> Sequence[Piece]:
        kept: list[Piece] = []
        known = 0
        for piece in self._pieces:
            if rows[known : known + len(piece.rows)] != piece.rows:
                break
            kept.append(piece)
            known += len(piece.rows)
        if len(kept) >= _MOST_PIECES:
            kept, known = [], 0
        if known < len(rows):
            kept.append(Piece.of(rows[known:]))
        self._pieces = tuple(kept)
        return kept

    def _of_changed(self, rows: Sequence[Row]) -> list[WordSegment]:
        """One of those that were changed or are gone (they have no terms), which touches all of them."""
        if not rows:
            return []
        changed = self._changed  # another thread may put another there, or forget it
        if changed is None or changed.rows != rows:
            still_there = [row for row in rows if row[2] is not None]
            changed = Piece(rows, in_memory(still_there, touched=sorted(row[0] for row in rows)))
            self._changed = changed
        return [changed.segment]
