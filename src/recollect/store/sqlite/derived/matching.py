"""The memories that match best, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import kernel
from recollect.store.sqlite.derived.facts import Positions
from recollect.store.sqlite.derived.kernel import Place, Scoring
from recollect.store.sqlite.derived.merging import best_of
from recollect.store.sqlite.derived.words import WordSegment

_NOBODY: Positions = np.empty(0, np.int32)


class Wanted(NamedTuple):
    """A term that is looked for; `prefix` says that longer ones which begin so count."""

    term: str
    prefix: bool = False


def bounds(wanted: Sequence[Wanted]) -> list[tuple[bytes, bytes | None]]:
    """Each term and, for a prefix, what no longer begins so."""
    encoded = [(term.encode(), prefix) for term, prefix in wanted]
    return [(term, term + b"\xff" if prefix else None) for term, prefix in encoded]


class Best(NamedTuple):
    """Numbers of memories with their scores, best first; equal ones by number."""

    numbers: list[int]
    scores: list[float]

    @classmethod
    def of(cls, parts: Sequence[Best], most: int) -> Best:
        """The best of several."""
        return cls(*best_of(parts, most))


class Span(NamedTuple):
    """Where the memories of a namespace stand in a segment, and which of them no longer hold."""

    start: int
    end: int
    masked: Positions


class Leaf(NamedTuple):
    """A segment, the spans in it that are asked, and where each wanted term is."""

    segment: WordSegment
    spans: Sequence[Span]
    masked: Positions
    """Everyone in the segment who no longer holds, asked or not: how rare a word is depends on all."""
    places: Sequence[Place]

    @classmethod
    def looked_up(
        cls,
        segment: WordSegment,
        wanted: Sequence[tuple[bytes, bytes | None]],
        namespaces: Sequence[int],
        stale: NDArray[np.int64],
    ) -> Leaf:
        """With the places of the wanted terms. `stale`: memories that it has otherwise than they are."""
        spans = [segment.span(namespace) for namespace in namespaces]
        are_stale = len(stale) > 0
        return cls(
            segment,
            [
                Span(*span, segment.within(span, stale) if are_stale else _NOBODY)
                for span in spans
                if span[0] < span[1]
            ],
            segment.everywhere(stale) if are_stale else _NOBODY,
            kernel.find(segment, wanted),
        )

    def numbers_having(self, places: Sequence[Place]) -> list[NDArray[np.int64]]:
        """The memories of each span that have the terms at these places and still hold, by number."""
        found = [
            (self.segment.occurrences(place).inside(start, end).docs, masked)
            for start, end, masked in self.spans
            for place in places
        ]
        return [self.segment.numbers[docs[~np.isin(docs, masked)]] for docs, masked in found]

    def having(self) -> list[int]:
        """How many memories have each of the wanted terms."""
        return kernel.having(self.segment, self.places, self.masked)


def best(
    leaf: Leaf, span: Span, scoring: Scoring, allowed: Positions | None = None, floor: float = 0.0
) -> Best:
    """The best memories of a span that have any of the wanted terms; of `allowed` alone, if given."""
    start, end, masked = span
    permitted = _flags(end - start, start, masked, allowed)
    return Best(*kernel.best(leaf.segment, leaf.places, scoring, (start, end), permitted, floor))


def _flags(size: int, start: int, masked: Positions, allowed: Positions | None) -> NDArray[np.bool_] | None:
    """Which of a span may answer; None for all."""
    if allowed is None and not len(masked):
        return None
    flags = np.ones(size, np.bool_) if allowed is None else np.zeros(size, np.bool_)
    if allowed is not None:
        flags[allowed - start] = True
    flags[masked - start] = False
    return flags
