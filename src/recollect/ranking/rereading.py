"""A second look at the best, with their texts at hand: what only asks steps back, and copies give way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from recollect.query.duplicates import features, overlap
from recollect.query.terms import terms_of
from recollect.ranking.fuse import Fused
from recollect.store.base import Key, Loaded
from recollect.types import Multiplier

ASKING = 0.8
COPY = 0.5
_SENTENCE = re.compile(r"[^.!?。！？\n]*[.!?。！？\n]*")
_FEWEST_SHARED = 0.6
_COMPARED = 100
"""A copy is looked for among so many of the best: with a thousand hits, comparing all would take seconds."""


class Reread(NamedTuple):
    """A candidate with its final score and what its text changed of it."""

    item: Fused
    score: float
    multipliers: tuple[Multiplier, ...] = ()


def spare(limit: int) -> int:
    """How many to read so that `limit` are left in the right order."""
    return limit + 10


def reread(ranked: Sequence[tuple[Fused, float]], memories: Mapping[Key, Loaded]) -> list[Reread]:
    """The ranked candidates that can still be read, best first, with what their texts change.

    A turn of a conversation that asks is seldom the answer. Of notes that say nearly the same, the best one
    keeps its place; the others are still there, behind what says something else.
    """
    found = [
        _without_questions(*pair, memories[pair[0].candidate.key])
        for pair in ranked
        if _key(pair) in memories
    ]
    found.sort(key=lambda each: -each.score)
    kept: list[_Text] = []
    for number, each in enumerate(found):
        memory = memories[each.item.candidate.key]
        if memory.speaker is not None:
            continue
        text = _Text(memory)
        if original := text.original(kept):
            note = Multiplier("near_duplicate", COPY, f"it says nearly the same as {original.memory.id}")
            found[number] = Reread(each.item, each.score * COPY, (*each.multipliers, note))
        elif len(kept) < _COMPARED:
            kept.append(text)
    return sorted(found, key=lambda each: -each.score)


def asking(text: str) -> float:
    """How much of a text is questions (0..1).

    >>> asking("Lovely! Where was it?"), asking("In the bay.")
    (0.6666666666666666, 0.0)
    """
    sentences = _SENTENCE.findall(text.strip())
    length = sum(map(len, sentences))
    questions = sum(len(sentence) for sentence in sentences if sentence.rstrip("\n")[-1:] in ("?", "？"))
    return questions / length if length else 0.0


def _key(pair: tuple[Fused, float]) -> Key:
    return pair[0].candidate.key


def _without_questions(item: Fused, score: float, memory: Loaded) -> Reread:
    share = asking(memory.content) if memory.speaker is not None else 0.0
    if not share:
        return Reread(item, score)
    value = 1 - (1 - ASKING) * share
    return Reread(item, score * value, (Multiplier("asking", value, "it asks more than it tells"),))


class _Text:
    """A text that others are compared with; what it is compared by is found when it is needed."""

    def __init__(self, memory: Loaded) -> None:
        self.memory = memory
        self.words = frozenset(memory.content.lower().split())
        self.size = len(self.words)

    @cached_property
    def features(self) -> Set[str]:
        return features(terms_of(self.memory.content, self.memory.language))

    def original(self, others: Iterable[_Text]) -> _Text | None:
        """The first that says nearly the same."""
        words, size = self.words, self.size
        least, most = _FEWEST_SHARED * size, size / _FEWEST_SHARED
        for other in others:
            if not least <= other.size <= most:
                continue
            shared = len(words & other.words)
            if shared < least or shared < _FEWEST_SHARED * other.size:
                continue
            if overlap(self.features, other.features):
                return other
        return None
