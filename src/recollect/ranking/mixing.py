"""The default ranking, from what the legs found to those who may win: in C, or in Python step by step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from recollect.ranking import fuse
from recollect.ranking.context import LENT, SHORT, lend
from recollect.ranking.fuse import Fused, Legs, Opinion
from recollect.ranking.score import (
    ANOTHER_SPEAKER,
    OUTSIDE_TIME,
    RECENCY_SPAN,
    Rules,
    contenders,
)

try:
    from recollect.ranking import _mixing

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False

_CONSTANTS = (
    fuse.NARROWEST,
    fuse.COMPARED,
    fuse.USUAL_WORDS,
    *LENT,
    SHORT,
    RECENCY_SPAN,
    ANOTHER_SPEAKER,
    OUTSIDE_TIME,
)
_fused = partial(tuple.__new__, Fused)
_opinion = partial(tuple.__new__, Opinion)


def mixed(
    legs: Legs, weights: Mapping[str, float], rules: Rules, limit: int, *, drop_nothing: bool
) -> tuple[int, list[Fused]]:
    """How many there are, and those who may be among the best `limit`: mixed, neighbours having lent to each
    other. `drop_nothing` leaves out who comes to nothing and has none of the words."""
    if not COMPILED:
        everyone = fuse.mix(legs, weights)
        lend(everyone)
        if drop_nothing:
            everyone.drop_nothing()
        return len(everyone), contenders(everyone, rules, limit)
    count, found = _mixing.contenders(
        legs.keyword,
        legs.semantic,
        legs.extra,
        _CONSTANTS,
        (weights["keyword"], weights["semantic"]),
        legs.words,
        legs.cut,
        drop_nothing,
        rules.moment,
        rules.meant,
        *rules.preferred,
        limit,
        rules.least,
    )
    return count, [
        _fused((candidate, base, words and _opinion(words), meaning and _opinion(meaning), lent, ()))
        for candidate, base, words, meaning, lent in found
    ]
