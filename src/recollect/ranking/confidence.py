"""Is the answer among the hits? Signs that mean the same in every store, so that an agent can abstain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from recollect.query.terms import KeywordQuery, terms_of
from recollect.store.base import Loaded
from recollect.types import Confidence

COMPARED = 5
"""The best is compared with the hit in this place."""
FEWEST = 20
"""Among fewer memories, the best is always far ahead: that says nothing."""
STRONG, WEAK = 0.6, 0.15
"""From which likelihood on an answer is strong, or at least weak."""


class Signs(NamedTuple):
    """What speaks for an answer; None for a sign that can't be read.

    `covered`: the share of the question's words that the best hit has. `ahead`: how far the best is above
    the fifth. `likeness`: how much nearer it is than the nearest of as many unrelated texts, in standard
    deviations.
    """

    covered: float | None = None
    ahead: float | None = None
    likeness: float | None = None


class _Fit(NamedTuple):
    """How signs move the odds (their logarithm): from `start`, by so much for each unit of a sign."""

    start: float
    covered: float
    ahead: float
    likeness: float


_MANY = _Fit(-3.5, 2.3, 3.8, 0.27)
_MANY_BY_WORDS = _Fit(-3.6, 2.7, 4.0, 0.0)
_FEW = _Fit(-4.0, 5.4, 0.0, 0.98)
_FEW_BY_WORDS = _Fit(-3.1, 5.4, 0.0, 0.0)


def likelihood(signs: Signs) -> float:
    """How likely it is that one of the first five hits answers (0..1).

    Fitted on questions half of which could be answered; docs/quality.md has the figures.

    >>> likelihood(Signs(covered=1.0, ahead=0.9)) > 0.9, likelihood(Signs(covered=0.2, ahead=0.1)) < 0.15
    (True, True)
    """
    by_words = signs.likeness is None
    if signs.ahead is None:
        fit = _FEW_BY_WORDS if by_words else _FEW
    else:
        fit = _MANY_BY_WORDS if by_words else _MANY
    covered = 0.5 if signs.covered is None else signs.covered
    odds = fit.start + fit.covered * covered
    odds += fit.ahead * (signs.ahead or 0.0) + fit.likeness * (signs.likeness or 0.0)
    return 1 / (1 + math.exp(-odds))


def level(likelihood: float) -> Confidence:
    """In a word.

    >>> level(0.9), level(0.4), level(0.1)
    ('strong', 'weak', 'none')
    """
    return "strong" if likelihood >= STRONG else "weak" if likelihood >= WEAK else "none"


def covered(query: KeywordQuery, memory: Loaded) -> float | None:
    """The share of the question's words that a memory has, in its text or in its labels, by which it is found
    as well; None for a question without words."""
    if not query.words:
        return None
    held, *_, title = memory.complete()
    labels = (held.speaker, title, *held.headings, *held.tags, *held.files)
    terms = set(terms_of("\n".join(filter(None, (*labels, held.content))), memory.language))
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
