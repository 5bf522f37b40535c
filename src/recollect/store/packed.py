"""Hundreds of candidates in 48 bytes each: only those that may win are ever looked at one by one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from struct import Struct
from typing import Any, cast, overload

from recollect.lazy import lazy
from recollect.store.base import Candidate, Key

PAIR = Struct("=qd")
"""Key and score."""
ROW = Struct("=qdqqiiii")
"""Key, score, session (0: none), created, place in the session (-1: none), tokens, and who speaks: which of
the names, and of which list of them."""
LARGEST = 2**31 - 1
_KEY, _SPEAKER, _LIST = 0, 10, 11
_KEY_SIZE = 8
_SIZE = ROW.size
Names = Sequence[Sequence[str | None]]
_candidate = partial(tuple.__new__, Candidate)


class Scored:
    """Memories by number, each with what it scores, in 16 bytes each."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: bytes = b"") -> None:
        self.pairs = pairs

    @classmethod
    def of(cls, numbers: Iterable[int], scores: Iterable[float]) -> Scored:
        """These.

        >>> Scored.of([7, 4], [0.9, 0.5])
        [(7, 0.9), (4, 0.5)]
        """
        return cls(b"".join(map(PAIR.pack, numbers, scores)))

    def __len__(self) -> int:
        return len(self.pairs) // PAIR.size

    def __getitem__(self, some: slice) -> Scored:
        start, end, _ = some.indices(len(self))
        return Scored(self.pairs[start * PAIR.size : end * PAIR.size])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scored) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(PAIR.iter_unpack(self.pairs)))

    def numbers(self) -> list[int]:
        """Which memories they are."""
        return memoryview(self.pairs).cast("q")[::2].tolist()

    def scores(self) -> list[float]:
        """What each scores."""
        return cast("list[float]", memoryview(self.pairs).cast("d")[1::2].tolist())


class Similarities(Mapping[Key, float]):
    """How near memories are, by their numbers: packed until somebody looks."""

    def __init__(self, scored: Scored) -> None:
        """Nobody stands twice in it."""
        self.scored = scored

    @lazy
    def _known(self) -> dict[Key, float]:
        return dict(zip(self.scored.numbers(), self.scored.scores(), strict=True))

    def __getitem__(self, key: Key) -> float:
        return self._known[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self.scored)

    def __repr__(self) -> str:
        return repr(self._known)


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


def packed_numbers(numbers: Iterable[int]) -> bytes:
    """Numbers in eight bytes each, ascending."""
    return array("q", sorted(numbers)).tobytes()


def unpacked(numbers: bytes) -> list[int]:
    """The same as a list.

    >>> unpacked(packed_numbers({7, 4}))
    [4, 7]
    """
    return memoryview(numbers).cast("q").tolist()


def numbers_of(candidates: Sequence[Candidate]) -> tuple[bytes, int]:
    """Which memories these are, where they have numbers: eight bytes each, and how many bytes apart."""
    if isinstance(candidates, Packed):
        return candidates.rows, _SIZE
    return array("q", [cast("int", each.key) for each in candidates]).tobytes(), _KEY_SIZE


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
