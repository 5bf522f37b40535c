"""A second look at the best, with their texts at hand: what only asks steps back, and copies give way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
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


_reread = partial(tuple.__new__, Reread)
_SCORE, _SPEAKER = attrgetter("score"), attrgetter("speaker")


def spare(limit: int) -> int:
    """How many to read so that `limit` are left in the right order."""
    return limit + 10


def reread(ranked: Sequence[tuple[Fused, float]], memories: Mapping[Key, Loaded]) -> list[Reread]:
    """The ranked candidates, each of which was loaded, best first, with what their texts change.

    A turn of a conversation that asks is seldom the answer. Of notes that say nearly the same, the best one
    keeps its place; the others are still there, behind what says something else.
    """
    texts = [memories[item.candidate.key] for item, _ in ranked]
    if list(map(_SPEAKER, texts)).count(None) < len(texts):
        found = [_without_questions(*pair, text) for pair, text in zip(ranked, texts, strict=True)]
        found.sort(key=_SCORE, reverse=True)
        texts = [memories[each.item.candidate.key] for each in found]
    else:
        found = [_reread((*pair, ())) for pair in ranked]
    if copies := _copies(texts):
        for copy, original in copies.items():
            each = found[copy]
            note = Multiplier("near_duplicate", COPY, f"it says nearly the same as {texts[original].id}")
            found[copy] = Reread(each.item, each.score * COPY, (*each.multipliers, note))
        found.sort(key=_SCORE, reverse=True)
    return found


def asking(text: str) -> float:
    """How much of a text is questions (0..1).

    >>> asking("Lovely! Where was it?"), asking("In the bay.")
    (0.6666666666666666, 0.0)
    """
    sentences = _SENTENCE.findall(text.strip())
    length = sum(map(len, sentences))
    questions = sum(len(sentence) for sentence in sentences if sentence.rstrip("\n")[-1:] in ("?", "？"))
    return questions / length if length else 0.0


def _without_questions(item: Fused, score: float, memory: Loaded) -> Reread:
    share = asking(memory.content) if memory.speaker is not None else 0.0
    if not share:
        return Reread(item, score)
    value = 1 - (1 - ASKING) * share
    return Reread(item, score * value, (Multiplier("asking", value, "it asks more than it tells"),))


def _copies(texts: Sequence[Loaded]) -> dict[int, int]:
    """Which note (nobody said it) says nearly the same as which one before it that is no copy itself."""
    contents = [each.content if each.speaker is None else "" for each in texts]
    pairs = mixing.sharing(contents, _COMPARED, _FEWEST_SHARED)
    if not pairs:
        return {}
    known = {
        at: features(terms_of(texts[at].content, texts[at].language))
        for at in {at for pair in pairs for at in pair}
    }
    found: dict[int, int] = {}
    for later, earlier in pairs:
        if later not in found and earlier not in found and overlap(known[later], known[earlier]):
            found[later] = earlier
    return found
