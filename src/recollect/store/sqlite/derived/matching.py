"""The memories that match best, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.derived import kernel
from recollect.store.sqlite.derived.facts import Positions
from recollect.store.sqlite.derived.kernel import Scoring, Term
from recollect.store.sqlite.derived.words import Occurrences, WordSegment

Scores = NDArray[np.floating[Any]]


class Wanted(NamedTuple):
    """A term that is looked for; `prefix` says that longer ones which begin so count."""

    term: str
    prefix: bool = False


class Best(NamedTuple):
    """Numbers of memories with their scores."""

    numbers: NDArray[np.int64]
    scores: Scores

    @classmethod
    def of(cls, parts: Sequence[Best], most: int) -> Best:
        """The best of several, best first; equal ones by number."""
        some = [part for part in parts if len(part.numbers)] or [NONE]
        numbers, scores = some[0] if len(some) == 1 else map(np.concatenate, zip(*some, strict=True))
        order = np.lexsort((numbers, -scores))[:most]
        return cls(numbers[order], scores[order])


NONE = Best(np.empty(0, np.int64), np.empty(0, np.float64))


class Span(NamedTuple):
    """Where the memories of a namespace stand in a segment, and which of them no longer hold."""

    start: int
    end: int
    masked: Positions


class Leaf(NamedTuple):
    """A segment, the spans in it that are asked, and where each wanted term stands."""

    segment: WordSegment
    spans: Sequence[Span]
    masked: Positions
    """Everyone in the segment who no longer holds, asked or not: how rare a word is depends on all."""
    found: Sequence[Occurrences | None]

    @classmethod
    def looked_up(
        cls,
        segment: WordSegment,
        wanted: Sequence[Wanted],
        namespaces: Sequence[int],
        stale: NDArray[np.int64],
    ) -> Leaf:
        """With the occurrences of the wanted terms. `stale`: memories that it has otherwise than they are."""
        spans = [segment.span(namespace) for namespace in namespaces]
        return cls(
            segment,
            [Span(*span, segment.within(span, stale)) for span in spans if span[0] < span[1]],
            segment.everywhere(stale) if len(stale) else np.empty(0, np.int32),
            [segment.beginning(each.term) if each.prefix else segment.term(each.term) for each in wanted],
        )

    def having(self) -> list[int]:
        """How many memories have each of the wanted terms."""
        return [len(each.docs) - _shared(each.docs, self.masked) if each else 0 for each in self.found]


def _shared(docs: Positions, some: Positions) -> int:
    """How many of a few positions are among many; both ascend."""
    if not len(some) or not len(docs):
        return 0
    at = np.minimum(np.searchsorted(docs, some), len(docs) - 1)
    return int((docs[at] == some).sum())


def best(
    leaf: Leaf,
    span: Span,
    rarity: Sequence[float],
    average: float,
    weights: Scores,
    most: int,
    allowed: Positions | None = None,
    floor: float = 0.0,
) -> Best:
    """The `most` best memories of a span that have any of the wanted terms; of `allowed` alone, if given."""
    start, end, masked = span
    terms = [
        Term(each.docs, each.codes, rare)
        for each, rare in zip(leaf.found, rarity, strict=True)
        if each is not None
    ]
    if not terms:
        return NONE
    scoring = Scoring(weights, leaf.segment.lengths, average, most)
    permitted = _flags(end - start, start, masked, allowed)
    chosen, scores = kernel.best(terms, (start, end), scoring, permitted, floor)
    return Best(leaf.segment.numbers[chosen], scores)


def _flags(size: int, start: int, masked: Positions, allowed: Positions | None) -> NDArray[np.bool_] | None:
    """Which of a span may answer; None for all."""
    if allowed is None and not len(masked):
        return None
    flags = np.ones(size, np.bool_) if allowed is None else np.zeros(size, np.bool_)
    if allowed is not None:
        flags[allowed - start] = True
    flags[masked - start] = False
    return flags
