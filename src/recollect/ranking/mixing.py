"""Ranking's inner loops, in C or in Python step by step: who may win, and whose words are nearly the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

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
from recollect.store.base import Candidate
from recollect.store.packed import Packed, Packing, Scored, Similarities

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
_NOBODY = Packed(b"", ())
_fused = partial(tuple.__new__, Fused)
_opinion = partial(tuple.__new__, Opinion)
_candidate = partial(tuple.__new__, Candidate)


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
    keyword, semantic, extra, is_packed = _packed(legs)
    count, found = _mixing.contenders(
        keyword.rows,
        keyword.names,
        semantic.rows,
        semantic.names,
        extra.pairs,
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
        _fused(
            (
                _candidate(each) if is_packed else (legs.semantic if is_near else legs.keyword)[at],
                base,
                words and _opinion(words),
                meaning and _opinion(meaning),
                lent,
                most,
                (),
            )
        )
        for each, is_near, at, base, words, meaning, lent, most in found
    ]


def _packed(legs: Legs) -> tuple[Packed, Packed, Scored, bool]:
    """Both lists and who is similar as numbers, and whether the lists were so already. Those of a backend
    that does not pack them are numbered here."""
    keyword = legs.keyword if isinstance(legs.keyword, Packed) else legs.keyword or _NOBODY
    semantic = legs.semantic if isinstance(legs.semantic, Packed) else legs.semantic or _NOBODY
    if isinstance(keyword, Packed) and isinstance(semantic, Packed):
        return keyword, semantic, _scored(legs.extra), True
    packing = Packing()
    sides = [packing.rows(side) for side in (legs.keyword, legs.semantic)]
    extra = Scored.of(map(packing.key, legs.extra), legs.extra.values())
    return Packed(sides[0], packing.names), Packed(sides[1], packing.names), extra, False


def _scored(extra: Mapping[Any, float]) -> Scored:
    return extra.scored if isinstance(extra, Similarities) else Scored.of(extra, extra.values())


def sharing(contents: Sequence[str], compared: int, least: float) -> list[tuple[int, int]]:
    """Texts and earlier ones (of the first `compared`) that have `least` of each other's words in common.

    >>> sharing(["the pier is closed", "a gull", "The pier is closed, today"], 100, 0.6)
    [(2, 0)]
    """
    if COMPILED:
        return _mixing.sharing(list(contents), compared, least)
    words = [frozenset(content.lower().split()) for content in contents]
    return [
        (at, before)
        for at, some in enumerate(words)
        for before, others in enumerate(words[: min(at, compared)])
        if some and len(some & others) >= least * max(len(some), len(others))
    ]
