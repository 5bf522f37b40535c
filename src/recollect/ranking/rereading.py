"""A second look at the best, with their texts at hand: what only asks steps back, and copies give way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from recollect.query.duplicates import features, overlap
from recollect.query.terms import terms_of
from recollect.ranking import mixing
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
    notes = [at for at, each in enumerate(found) if memories[each.item.candidate.key].speaker is None]
    texts = [memories[found[at].item.candidate.key] for at in notes]
    for copy, original in _copies(texts).items():
        each = found[notes[copy]]
        note = Multiplier("near_duplicate", COPY, f"it says nearly the same as {texts[original].id}")
        found[notes[copy]] = Reread(each.item, each.score * COPY, (*each.multipliers, note))
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


def _copies(texts: Sequence[Loaded]) -> dict[int, int]:
    """Which of these says nearly the same as which one before it that is no copy itself."""
    known: dict[int, Set[str]] = {}

    def features_of(at: int) -> Set[str]:
        if at not in known:
            known[at] = features(terms_of(texts[at].content, texts[at].language))
        return known[at]

    found: dict[int, int] = {}
    for later, earlier in mixing.sharing([each.content for each in texts], _COMPARED, _FEWEST_SHARED):
        if later in found or earlier in found:
            continue
        if overlap(features_of(later), features_of(earlier)):
            found[later] = earlier
    return found
