"""Hundreds of candidates in 48 bytes each: only those that may win are ever looked at one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Any, overload

from recollect.store.base import Candidate, Key

ROW = Struct("=qdqqiiii")
"""Key, score, session (0: none), created, place in the session (-1: none), tokens, and who speaks: which of
the names, and of which list of them."""
LARGEST = 2**31 - 1
_KEY, _SPEAKER, _LIST = 0, 10, 11
_SIZE = ROW.size
Names = Sequence[Sequence[str | None]]
_candidate = partial(tuple.__new__, Candidate)


def packed_row(candidate: Candidate, key: int, session: int, speaker: int, names: int) -> bytes:
    """One candidate; its key, its session and who speaks as numbers.

    A place or a length that four bytes can't hold is the largest that they can.
    """
    place = -1 if candidate.position is None else min(candidate.position, LARGEST)
    tokens = min(candidate.tokens, LARGEST)
    return ROW.pack(key, candidate.score, session, candidate.created, place, tokens, speaker, names)


class Packed(Sequence[Candidate]):
    """A list of candidates that are numbers until they are looked at."""

    __slots__ = ("names", "rows")

    def __init__(self, rows: bytes, names: Names) -> None:
        self.rows, self.names = rows, names

    def __len__(self) -> int:
        return len(self.rows) // _SIZE

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, at: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(at, slice):
            if at.start is at.step is None and isinstance(at.stop, int) and at.stop >= 0:
                return Packed(self.rows[: at.stop * _SIZE], self.names)
            if at.step in (None, 1):
                start, end, _ = at.indices(len(self))
                return Packed(self.rows[start * _SIZE : end * _SIZE], self.names)
            return list(self)[at]
        if not -len(self) <= at < len(self):
            raise IndexError("there is no such candidate")
        return self._candidate(ROW.unpack_from(self.rows, at % len(self) * _SIZE))

    def __iter__(self) -> Iterator[Candidate]:
        return map(self._candidate, ROW.iter_unpack(self.rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def keys(self) -> list[int]:
        """Which memories they are."""
        return memoryview(self.rows).cast("q")[_KEY :: _SIZE // 8].tolist()

    def speakers(self) -> set[str]:
        """Everyone who said something of it."""
        if max(map(len, self.names), default=0) <= 1:
            return set()
        numbers = memoryview(self.rows).cast("i")
        step = _SIZE // 4
        pairs = set(zip(numbers[_LIST::step].tolist(), numbers[_SPEAKER::step].tolist(), strict=True))
        said = {self.names[at][speaker] for at, speaker in pairs}
        return {name for name in said if name is not None}

    def _candidate(self, row: tuple[Any, ...]) -> Candidate:
        key, score, session, created, place, tokens, speaker, names = row
        position = place if place >= 0 else None
        return _candidate(
            (key, score, session or None, position, self.names[names][speaker], tokens, created)
        )


def keys_of(candidates: Sequence[Candidate]) -> list[Any]:
    """Which memories these are."""
    return candidates.keys() if isinstance(candidates, Packed) else [each.key for each in candidates]


def speakers_of(candidates: Sequence[Candidate]) -> set[str]:
    """Everyone who said something of these."""
    if isinstance(candidates, Packed):
        return candidates.speakers()
    return {each.speaker for each in candidates if each.speaker is not None}


class Packing:
    """Candidates of any backend as rows: whatever their keys and sessions are, they are numbered."""

    def __init__(self) -> None:
        self._keys: dict[Key, int] = {}
        self._sessions: dict[Key | None, int] = {None: 0}
        self._names: dict[str | None, int] = {None: 0}

    def key(self, key: Key) -> int:
        """The number of a memory."""
        return self._keys.setdefault(key, len(self._keys))

    def rows(self, candidates: Sequence[Candidate]) -> bytes:
        """These, packed."""
        return b"".join([self._row(each) for each in candidates])

    def _row(self, each: Candidate) -> bytes:
        session = self._sessions.setdefault(each.session, len(self._sessions))
        speaker = self._names.setdefault(each.speaker, len(self._names))
        return packed_row(each, self.key(each.key), session, speaker, 0)

    @property
    def names(self) -> Names:
        """Who speaks, by number."""
        return [list(self._names)]
