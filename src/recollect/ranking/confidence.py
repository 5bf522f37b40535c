"""Is the answer among the hits? Signs that mean the same in every store, so that an agent can abstain."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from recollect.query.speakers import ROLES
from recollect.query.terms import KeywordQuery, terms_of
from recollect.ranking.fuse import Fused
from recollect.types import Confidence, Memory

COMPARED = 5
"""The best is compared with the hit in this place."""
FEWEST = 20
"""Among fewer memories, the best is always far ahead: that says nothing."""
STRONG, WEAK = 0.6, 0.3
"""From which likelihood on an answer is strong, or at least weak."""


class Signs(NamedTuple):
    """What speaks for an answer; None for a sign that can't be read.

    `covered`: the share of the question's words that the best hit has. `ahead`: how far the best is above
    the fifth. `likeness`: how much nearer it is than unrelated texts are, in standard deviations.
    `elsewhere`: how much better another's words fit than those of the speaker whom the question names.
    """

    covered: float | None = None
    ahead: float | None = None
    likeness: float | None = None
    elsewhere: float | None = None


class _Sign(NamedTuple):
    """How a sign moves the odds (log): by `slope` for each unit above what is `usual`."""

    usual: float
    slope: float


_SIGNS = Signs._fields
_WITH_VECTORS = (_Sign(0.5, 2.5), _Sign(0.45, 3.0), _Sign(1.5, 0.3), _Sign(0.0, -3.0))
_BY_WORDS = (_Sign(0.5, 2.5), _Sign(0.45, 3.0), _Sign(0.0, 0.0), _Sign(0.0, -3.0))


def likelihood(signs: Signs) -> float:
    """How likely it is that one of the first five hits answers (0..1), where half of all questions can be.

    >>> likelihood(Signs(covered=1.0, ahead=0.9)) > likelihood(Signs(covered=0.2, ahead=0.1))
    True
    """
    known = _WITH_VECTORS if signs.likeness is not None else _BY_WORDS
    odds = sum(
        sign.slope * (value - sign.usual)
        for value, sign in zip(signs, known, strict=True)
        if value is not None
    )
    return 1 / (1 + math.exp(-odds))


def level(likelihood: float) -> Confidence:
    """In a word.

    >>> level(0.9), level(0.4), level(0.1)
    ('strong', 'weak', 'none')
    """
    return "strong" if likelihood >= STRONG else "weak" if likelihood >= WEAK else "none"


def covered(query: KeywordQuery, memory: Memory) -> float | None:
    """The share of the question's words that a memory has; None for a question without words."""
    if not query.words:
        return None
    terms = set(terms_of(f"{memory.speaker or ''} {memory.content}", memory.language))
    found = sum(
        not terms.isdisjoint(word.terms)
        or (word.prefix and any(term.startswith(word.terms) for term in terms))
        for word in query.words
    )
    return found / len(query.words)


def ahead(scores: Sequence[float], candidates: int) -> float | None:
    """How far the best score is above the fifth; None among so few that it says nothing."""
    if candidates < FEWEST or not scores:
        return None
    return scores[0] - (scores[COMPARED - 1] if len(scores) >= COMPARED else 0.0)


def elsewhere(fused: Iterable[Fused], meant: Collection[str]) -> float | None:
    """How much better another's words fit than those of the one who is named; None where nobody is."""
    names = {speaker for speaker in meant if speaker.lower() not in ROLES}
    if not names:
        return None
    of_named = of_others = 0.0
    for item in fused:
        if item.candidate.speaker in names:
            of_named = max(of_named, item.base)
        elif item.candidate.speaker is not None:
            of_others = max(of_others, item.base)
    return min(0.5, max(-0.3, of_others - of_named))
