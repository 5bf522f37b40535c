"""Making segments from the rows, in the background, by one process at a time.

New rows become a small segment; small ones are merged into larger ones, so that there are never many. Nothing
waits for this: it reads in short steps, and what it writes to the database is one row.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from recollect.store.sqlite.connections import Connections
from recollect.store.sqlite.derived import files, locking, scrubbing, vectors, words
from recollect.store.sqlite.derived.shelf import Listed, Opened, Shelf, listing
from recollect.store.sqlite.derived.vectors import VectorSegment
from recollect.store.sqlite.derived.words import WordSegment
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.statements import Row

AT_ONCE = 2_000
"""Rows that are read in one step."""
_PART = 50_000
_RATIO, _SMALL, _MOST = 4, 4_000, 5
"""A segment is merged with what is newer, unless it is so many times as large; one that is not even so large
always is, and so is the newest of more than so many."""
_MANY, _RATIO_OF_MANY, _MOST_OF_MANY = 10_000, 1, 8
"""While so many rows come at once, nothing is merged before there are so many segments: each row would be
merged again and again."""

Segment = TypeVar("Segment", WordSegment, VectorSegment)


class Stopped(Exception):
    """Whoever wanted the segments has gone."""


class _Changed(Exception):
    """Somebody else has removed what this was built upon."""


class _Old(NamedTuple, Generic[Segment]):
    """What is there already of a kind: what stays, and what goes into the new segment."""

    stays: list[Listed]
    merged: list[Listed]
    segments: list[Segment]


class Building:
    """One run: takes the lock, makes what is missing, lists it, and tidies up."""

    def __init__(self, connections: Connections, shelf: Shelf, should_stop: Callable[[], bool]) -> None:
        self._connections = connections
        self._shelf = shelf
        self._should_stop = should_stop

    def run(self, least: int, *, wholly: bool = False) -> bool:
        """Index what is new, if it is at least so much; whether the lock could be had.

        `wholly` leaves one segment of each kind.
        """
        self._shelf.folder.mkdir(mode=0o700, exist_ok=True)
        with locking.held(self._shelf.folder / "lock") as mine:
            if mine:
                with suppress(_Changed, Stopped):
                    try:
                        self._make(least, wholly)
                    except (ValueError, IndexError):  # a file that lies
                        self._shelf.condemn()
                        self._make(least, wholly)
            return mine

    def _make(self, least: int, wholly: bool) -> None:
        self._tidy()
        while self._words(least):
            pass
        while self._vectors(least):
            pass
        if wholly:
            self._merge_all()
        self._strike_out()

    def _read(self, query: str, /, **parameters: Any) -> list[Row]:
        if self._should_stop():
            raise Stopped
        with self._connections.reading() as connection:
            return SqliteStatements(connection).rows(query, **parameters)

    def _opened(self) -> Opened:
        with self._connections.reading() as connection:
            return self._shelf.newest(SqliteStatements(connection))

    def _tidy(self) -> None:
        """Forget a listing whose files can't be read, and remove files that nobody lists."""
        opened = self._opened()
        if opened.is_broken:
            opened = self._opened()  # unless others changed it just then
        if opened.is_broken:
            self._publish([], opened.listed)
        files.remove(self._shelf.strays(self._opened().listed))

    # words

    def _words(self, least: int) -> bool:
        """Index some memories that are new or changed; False once fewer than `least` are left."""
        with self._connections.writing() as connection:
            statements = SqliteStatements(connection)
            newest, _, waiting = statements.rows("last_rows")[0]
            opened = self._shelf.newest(statements)
            if newest - opened.words_upto + waiting < least or opened.is_broken:
                return False
            change = statements.value("last_change")
            statements.count("begin_indexing")
        if waiting:
            self._strike_out()  # of what stays, before the changes are settled
        rows, upto = self._new_rows(opened.words_upto, newest)
        built = words.build(rows)
        new = [WordSegment(built)]
        changed = self._read("changes_to_index", change=change, upto=opened.words_upto)
        if changed:
            rows = [words.Row.read(row) for row in changed if row[2] is not None]
            new.append(WordSegment(words.build(rows, touched=[row[0] for row in changed])))
        old = _taken(opened, "words", opened.words, sum(map(len, new)))
        arrays = built if len(old.segments + new) == 1 else words.merge([*old.segments, *new])
        if not old.stays:
            arrays["touched"] = np.empty(0, np.int64)
        name = _new_name("words")
        files.write(self._shelf.path(name), arrays)
        listed = Listed(0, "words", name, None, upto, len(arrays["numbers"]))
        self._publish([listed], old.merged, opened, change)
        return True

    def _new_rows(self, after: int, newest: int) -> tuple[list[words.Row], int]:
        """Some memories after this one, and up to which one that is all."""
        rows: list[words.Row] = []
        while len(rows) < _PART:
            found = self._read("terms_to_index", after=after, upto=newest, limit=AT_ONCE)
            if not found:
                return rows, newest
            rows += map(words.Row.read, found)
            after = found[-1][0]
        return rows, after

    # vectors

    def _vectors(self, least: int) -> bool:
        """Index some vectors that are new; False once fewer than `least` are left."""
        with self._connections.writing() as connection:
            statements = SqliteStatements(connection)
            newest = statements.rows("last_rows")[0][1]
            opened = self._shelf.newest(statements)
            if newest - opened.vectors_upto < least or opened.is_broken:
                return False
            statements.count("begin_indexing")
        new, upto = self._new_vectors(opened.vectors_upto, newest)
        alive = {row[0] for row in self._read("generations_with_vectors")}
        listed: list[Listed] = []
        merged = [each for each in opened.listed if each.kind == "vectors" and each.generation not in alive]
        for generation in sorted(new):
            count = sum(len(part.numbers) for part in new[generation])
            old = _taken(opened, "vectors", opened.of_generation(generation), count, generation)
            name = _new_name("vectors")
            size = vectors.write(self._shelf.path(name), new[generation], old.segments)
            listed.append(Listed(0, "vectors", name, generation, upto, size))
            merged += old.merged
        if not listed and (held := [each for each in opened.listed if each.kind == "vectors"]):
            listed, merged = [held[-1]._replace(upto=upto)], held[-1:]  # the same, and read further
        self._publish(listed, merged, opened)
        return bool(new)

    def _new_vectors(self, after: int, newest: int) -> tuple[dict[int, list[vectors.Read]], int]:
        """Some vectors after this one, by generation, and up to which one that is all."""
        new: defaultdict[int, list[vectors.Read]] = defaultdict(list)
        dimensions: dict[int, int] = dict(self._read("dimensions"))
        count = 0
        while count < _PART:
            found = self._read("vectors_to_index", after=after, upto=newest, limit=AT_ONCE)
            if not found:
                return new, newest
            after = found[-1][0]
            count += len(found)
            for generation, rows in _by_generation(found, dimensions).items():
                new[generation].append(_read_vectors(rows))
        return new, after

    # what both have in common

    def _merge_all(self) -> None:
        opened = self._opened()
        listed = [each for each in opened.listed if each.kind == "words"]
        if len(listed) > 1:
            arrays = words.merge(opened.words) | {"touched": np.empty(0, np.int64)}
            name = _new_name("words")
            files.write(self._shelf.path(name), arrays)
            whole = Listed(0, "words", name, None, opened.words_upto, len(arrays["numbers"]))
            self._publish([whole], listed, opened)
            opened = self._opened()
        for generation in sorted({number for number, _ in opened.vectors}):
            listed = [each for each in opened.listed if each.generation == generation]
            if len(listed) > 1:
                name = _new_name("vectors")
                size = vectors.write(self._shelf.path(name), [], opened.of_generation(generation))
                whole = Listed(0, "vectors", name, generation, opened.vectors_upto, size)
                self._publish([whole], listed, opened)
                opened = self._opened()

    def _publish(
        self,
        new: Sequence[Listed],
        merged: Sequence[Listed],
        upon: Opened | None = None,
        change: int | None = None,
    ) -> None:
        """List new segments instead of those that they contain; _Changed if one of those is gone."""
        with self._connections.writing() as connection:
            statements = SqliteStatements(connection)
            is_as_it_was = upon is None or listing(statements) == upon.listed
            if is_as_it_was:
                statements.count("remove_segments", names=[each.name for each in merged])
                for each in new:
                    named = each._asdict()
                    del named["number"]
                    statements.count("add_segment", **named)
                if change is not None:
                    statements.count("settle_changes", change=change)
        if not is_as_it_was:
            self._shelf.remove(each.name for each in new)
            raise _Changed
        self._shelf.remove({each.name for each in merged} - {each.name for each in new})

    def _strike_out(self) -> None:
        """What was removed while it was being indexed leaves no trace either."""
        with self._connections.reading() as connection:
            outdated = scrubbing.Outdated.read(SqliteStatements(connection), self._shelf)
        scrubbing.strike_out(self._shelf, outdated)


def _taken(
    opened: Opened, kind: str, segments: Sequence[Segment], new: int, generation: int | None = None
) -> _Old[Segment]:
    """The segments that the new rows are merged with: the newest, as long as they are not much larger, or are
    too many."""
    listed = [each for each in opened.listed if each.kind == kind and each.generation == generation]
    first = len(listed)
    if new >= _MANY and first < _MOST_OF_MANY:
        return _Old(listed, [], [])
    ratio, most = (_RATIO, _MOST) if new < _MANY else (_RATIO_OF_MANY, _MOST_OF_MANY)
    total = new
    while first and (first > most or listed[first - 1].size <= max(ratio * total, _SMALL)):
        first -= 1
        total += listed[first].size
    return _Old(listed[:first], listed[first:], list(segments[first:]))


def _new_name(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(8)}"


def _by_generation(found: Sequence[Row], dimensions: Mapping[int, int]) -> dict[int, list[Row]]:
    """Rows of `vectors_to_index`, but for broken ones: of another length than their generation's."""
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for row in found:
        if len(row[4]) == 4 * dimensions.get(row[3], -1):
            rows[row[3]].append(row)
    return rows


def _read_vectors(rows: Sequence[Row]) -> vectors.Read:
    numbers, memories, spaces = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    matrix = np.frombuffer(b"".join(row[4] for row in rows), "<f4").reshape(len(rows), -1)
    return vectors.Read(numbers, memories, spaces, matrix)
