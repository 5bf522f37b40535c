"""Who shares a near-duplicate key? Few keys go to a table, many at once into sorted runs.

At random places of one large table each key costs a page. A run is written in order, in pieces of about a
page, and merged with the runs before it that are not much larger, so that there are never many. A memory that
is in a run has its keys in `near_kept`, too, by which they are found when it goes.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from recollect.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:  # whoever writes a few memories needs no numpy
    import numpy as np
    from numpy.typing import NDArray

    Entries = NDArray[np.int64]

MANY = 2_048
"""So many keys at once become a run."""
_MOST_WAITING = 20_000
"""No more memories' keys than so many wait."""
_RATIO = 4
"""A run is merged with what comes after it, unless it is more than so many times as large."""
_PIECE = 480
"""Entries of a piece, unless one key has more: with its head it fills a page of SQLite's."""
_PART = 1 << 20
"""So many entries are merged in one step."""
_MOST_HELD = 1 << 24
"""So many entries are held in memory from one transaction of a bulk write to the next, eight bytes each."""
_PIECES_AT_ONCE = 1_024
_FEW_AT_ONCE = 4
"""Looking for a key by itself takes so many times as long as reading a piece does that comes next."""
_KEY_BITS, _PLACE_BITS = 35, 27
"""An entry is a key, and after it which memory has it, counted from the first of its run. A piece is numbered
by its run and its first key, and all entries of a key are in one piece."""


class _Run(NamedTuple):
    """Keys of the memories from the first to the last of them; `size` entries in all."""

    number: int
    first: int
    last: int
    size: int

    def piece(self, key: int) -> int:
        """The number of a piece that begins with this key."""
        return (self.number << _KEY_BITS) + key


class NearKeys:
    """The near-duplicate keys of one namespace, in the caller's transaction."""

    def __init__(self, statements: SqliteStatements, namespace: int | str) -> None:
        self._statements = statements
        self._namespace = namespace
        self._waiting: dict[int, Sequence[int]] = {}

    @cached_property
    def _held(self) -> dict[int, Entries]:
        """The entries of runs, by number, as they are: each transaction of a bulk write needs them again."""
        return self._statements.held()

    def soon(self, memory: int, keys: Sequence[int]) -> None:
        """The keys of a memory that has none, each once; they wait for others: many at once cost less."""
        if keys:
            self._waiting[memory] = keys

    @property
    def are_many(self) -> bool:
        """Whether so many wait that they should be written."""
        return len(self._waiting) >= _MOST_WAITING

    def flush(self) -> None:
        """Write what waits; the memories' rows must be there."""
        waiting, self._waiting = self._waiting, {}
        if sum(map(len, waiting.values())) < MANY:
            self._add_few(waiting)
        else:
            self._add_run(waiting)

    def sharing(self, keys: Sequence[int], most: int) -> dict[int, list[int]]:
        """Who has these keys, which ascend: of each the newest `most` that are not deleted, newest first.

        A deleted one may be among them where there are no more than so many.
        """
        found: defaultdict[int, list[int]] = defaultdict(list)
        for key, memory in self._having(keys):
            found[key].append(memory)
        popular = [memory for memories in found.values() if len(memories) > most for memory in memories]
        gone = self._deleted(popular) if popular else set()
        return {
            key: sorted((memory for memory in memories if memory not in gone), reverse=True)[:most]
            for key, memories in found.items()
        }

    def remove(self, memories: Sequence[int]) -> int:
        """All keys of these memories; how many there were."""
        numbers = list(memories)
        count = self._statements.count("remove_near_keys", numbers=numbers)
        kept = self._statements.rows("kept_near_keys", numbers=numbers)
        if kept:
            held = [(memory, _read(keys)) for memory, keys in kept]
            for run in self._runs():
                self._take_out(run, held)
            self._statements.count("remove_kept_near_keys", numbers=numbers)
            count += sum(len(keys) for _, keys in held)
        return count

    # a few

    def _add_few(self, waiting: Mapping[int, Sequence[int]]) -> None:
        """They lie at random places: in their order, each page of them is met but once."""
        rows = sorted((key, memory) for memory, keys in waiting.items() for key in keys)
        values = ((self._namespace, key, memory) for key, memory in rows)
        self._statements.many("add_near_key", ("namespace", "key", "memory"), values)

    def _having(self, keys: Sequence[int]) -> Iterable[tuple[int, int]]:
        """Who has these keys, by the way that costs less."""
        if len(keys) < MANY:
            return self._one_by_one(keys)
        runs = self._runs()
        pieces = sum(run.size for run in runs if run.number not in self._held) // _PIECE
        if len(keys) * len(runs) * _FEW_AT_ONCE < pieces:
            return self._one_by_one(keys)
        import numpy as np

        begins = np.array(keys, np.int64) << _PLACE_BITS
        return chain(self._in_table(keys), *(self._in_run(run, begins) for run in runs))

    def _one_by_one(self, keys: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Each key is looked for in the table, and in the piece of each run that would have it."""
        found = self._statements.rows(
            "near_keys_or_pieces", namespace=self._namespace, keys=keys, bits=_KEY_BITS
        )
        for key, memory, piece in found:
            if piece is None:
                yield key, memory
                continue
            entries = memoryview(piece).cast("q") if sys.byteorder == "little" else _read(piece)
            begin = key << _PLACE_BITS
            place = bisect_left(entries, begin)
            while place < len(entries) and entries[place] >> _PLACE_BITS == key:
                yield key, entries[place] - begin + memory
                place += 1

    def _in_table(self, keys: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Who has these keys in the table, which is read as a whole where it has far fewer."""
        most = len(keys) // 8
        rows = self._statements.rows("near_keys", namespace=self._namespace, limit=most)
        if len(rows) == most:
            rows = self._statements.rows("near_keys_among", namespace=self._namespace, keys=keys)
        wanted = set(keys) if rows else set()
        return ((key, memory) for key, memory in rows if key in wanted)

    def _deleted(self, memories: Sequence[int]) -> set[int]:
        rows = self._statements.rows("deleted_among", namespace=self._namespace, numbers=memories)
        return {number for (number,) in rows}

    # runs

    def _runs(self) -> list[_Run]:
        """Oldest first."""
        return [_Run(*row) for row in self._statements.rows("near_runs", namespace=self._namespace)]

    def _add_run(self, waiting: Mapping[int, Sequence[int]]) -> None:
        import numpy as np

        memories = list(waiting)
        keys = np.fromiter(chain.from_iterable(waiting.values()), np.int64)
        lengths = np.fromiter(map(len, waiting.values()), np.int64, len(waiting))
        new = _Run(0, min(memories), max(memories), len(keys))
        places = np.repeat(np.array(memories, np.int64) - new.first, lengths)
        self._merge(self._to_merge(new), new, np.sort((keys << _PLACE_BITS) | places))
        ends = np.cumsum(lengths * 8).tolist()
        written = keys.astype("<i8").tobytes()
        blobs = [written[begin:end] for begin, end in pairwise([0, *ends])]
        self._statements.many_columns("keep_near_keys", ("memory", "keys"), (memories, blobs))

    def _to_merge(self, new: _Run) -> list[_Run]:
        """The newest runs, as long as they are not much larger than what comes after them."""
        taken: list[_Run] = []
        size = new.size
        for run in reversed(self._runs()):
            if run.size > _RATIO * size or new.last - run.first >= 1 << _PLACE_BITS:
                break
            taken.append(run)
            size += run.size
        return taken

    def _merge(self, old: Sequence[_Run], new: _Run, added: Entries) -> None:
        """One run of these and of what is new, in steps; pages that one step frees the same step takes."""
        import numpy as np

        first = min(run.first for run in (*old, new))
        last = max(run.last for run in (*old, new))
        size = sum(run.size for run in (*old, new))
        number: int = self._statements.value(
            "add_near_run", namespace=self._namespace, first=first, last=last, size=size
        )
        merged = _Run(number, first, last, size)
        written: list[Entries] = []
        is_held = self._may_be_held(merged, but=old)
        steps = -(-size // _PART)
        rest = [np.empty(0, np.int64) for _ in old]
        begin = 0
        for end in ((step << _KEY_BITS) // steps for step in range(1, steps + 1)):
            cut = int(np.searchsorted(added, end << _PLACE_BITS))
            parts = [added[:cut] + (new.first - first)]
            added = added[cut:]
            for place, run in enumerate(old):
                entries = np.concatenate([rest[place], self._taken(run, begin, end)])
                cut = int(np.searchsorted(entries, end << _PLACE_BITS))
                rest[place] = entries[cut:]
                parts.append(entries[:cut] + (run.first - first))
            entries = np.sort(np.concatenate(parts))
            self._add_pieces(merged, entries)
            if is_held:
                written.append(entries)
            begin = end
        self._statements.count("remove_near_runs", runs=[run.number for run in old])
        for run in old:
            self._held.pop(run.number, None)
        if is_held:
            self._held[number] = np.concatenate(written)

    def _may_be_held(self, run: _Run, but: Iterable[_Run] = ()) -> bool:
        """Whether a run in memory, in the place of others, would not be too much."""
        others = self._held.keys() - {other.number for other in but}
        return run.size + sum(len(self._held[number]) for number in others) <= _MOST_HELD

    def _taken(self, run: _Run, begin: int, end: int) -> Entries:
        """The entries of the pieces that begin with such a key; they are no longer in the run."""
        import numpy as np

        held = self._held.get(run.number)
        if held is None:
            entries = np.concatenate([np.empty(0, np.int64), *self._between(run, begin, end)])
        else:
            entries = held[slice(*np.searchsorted(held, (begin << _PLACE_BITS, end << _PLACE_BITS)))]
        self._statements.count("remove_near_pieces", begin=run.piece(begin), end=run.piece(end))
        return entries

    def _add_pieces(self, run: _Run, entries: Entries) -> None:
        import numpy as np

        keys = entries[::_PIECE] >> _PLACE_BITS
        cuts = np.unique(np.searchsorted(entries, keys << _PLACE_BITS))
        numbers = (run.piece(0) + (entries[cuts] >> _PLACE_BITS)).tolist()
        written = entries.astype("<i8").tobytes()
        blobs = [written[begin:end] for begin, end in pairwise([*(cuts * 8).tolist(), len(written)])]
        self._statements.many_columns("add_near_piece", ("number", "entries"), (numbers, blobs))

    def _in_run(self, run: _Run, wanted: Entries) -> Iterator[tuple[int, int]]:
        """Who has these keys in a run, all of whose pieces are read unless it is held; given as entries of
        the first memory."""
        import numpy as np

        for entries in self._all(run):
            low, high = np.searchsorted(wanted, entries[[0, -1]] & (-1 << _PLACE_BITS))
            begins = wanted[low : high + 1]
            places = np.searchsorted(entries, begins)
            held = np.flatnonzero(
                entries[np.minimum(places, len(entries) - 1)] & (-1 << _PLACE_BITS) == begins
            )
            begins = begins[held]
            ends = np.searchsorted(entries, begins + (1 << _PLACE_BITS))
            for begin, place, end in zip(begins.tolist(), places[held].tolist(), ends.tolist(), strict=True):
                for entry in entries[place:end].tolist():
                    yield begin >> _PLACE_BITS, entry - begin + run.first

    def _all(self, run: _Run) -> Iterator[Entries]:
        """The entries of a run, in order; once all were read they are held."""
        import numpy as np

        held = self._held.get(run.number)
        if held is not None:
            yield held
            return
        read: list[Entries] = []
        is_held = self._may_be_held(run)
        for entries in self._between(run):
            if is_held:
                read.append(entries)
            yield entries
        if is_held and read:
            self._held[run.number] = np.concatenate(read)

    def _between(self, run: _Run, begin: int = 0, end: int = 1 << _KEY_BITS) -> Iterator[Entries]:
        """The entries of pieces that begin with such a key, in order. Many are read as one value: after each
        value other threads have their turn."""
        import numpy as np

        where = {"end": run.piece(end), "limit": _PIECES_AT_ONCE}
        last, entries = self._statements.rows("near_pieces", begin=run.piece(begin), **where)[0]
        while entries:
            yield np.frombuffer(entries, "<i8")
            last, entries = self._statements.rows("near_pieces", begin=last + 1, **where)[0]

    def _take_out(self, run: _Run, held: Iterable[tuple[int, Sequence[int]]]) -> None:
        """The keys of those of these memories that are in a run; each piece is written once."""
        here = [(memory - run.first, keys) for memory, keys in held if run.first <= memory <= run.last]
        gone = sorted(key << _PLACE_BITS | place for place, keys in here for key in keys)
        removed = done = 0
        if gone:
            self._held.pop(run.number, None)
        while done < len(gone):
            upto = run.piece(gone[done] >> _PLACE_BITS)
            found = self._statements.rows("near_piece_of", begin=run.piece(0), upto=upto)
            entries = _read(found[0][1]) if found else array("q")
            taken = set(gone[done : _after(gone, entries, done)])
            done += max(1, len(taken))
            left = array("q", [entry for entry in entries if entry not in taken])
            if len(left) < len(entries):
                self._set_piece(run, found[0][0], left)
                removed += len(entries) - len(left)
        if removed == run.size:
            self._statements.count("remove_near_runs", runs=[run.number])
        elif removed:
            self._statements.count("shrink_near_run", run=run.number, removed=removed)

    def _set_piece(self, run: _Run, number: int, entries: array[int]) -> None:
        """What is left of a piece; not even its number is of a key that has gone."""
        if entries:
            first = run.piece(entries[0] >> _PLACE_BITS)
            self._statements.count("set_near_piece", number=number, first=first, entries=_written(entries))
        else:
            self._statements.count("remove_near_piece", number=number)


def _after(gone: Sequence[int], entries: Sequence[int], done: int) -> int:
    """Where those end that could be among these entries."""
    return bisect_left(gone, entries[-1] + 1, done) if entries else done


def _read(blob: bytes) -> array[int]:
    numbers = array("q", blob)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _written(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
