"""Neighbours in a session lend each other relevance: a turn is often found by what was said around it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from recollect.ranking.fuse import Mixed
from recollect.store.base import Key

LENT = (0.35, 0.17)
"""How much a memory lends to those one and two places away, of what its score lies above the mean."""
SHORT = 60
"""So many tokens are too few to stand alone: what is longer borrows less, in proportion."""

Place = tuple[Key | None, int | None]
"""A session, and where in it."""


def lend(mixed: Mixed, lent: Sequence[float] = LENT) -> None:
    """Give every candidate what its neighbours lend it.

    Only what stands out has anything to lend: otherwise the middle of a long session would always win.
    """
    base = mixed.base
    places: dict[Place, float] = {
        (found.session, found.position): base[key]
        for key, found in mixed.candidates.items()
        if found.session is not None
    }
    if len(places) < 2:
        return
    mean = sum(places.values()) / len(places)
    surplus = {place: base - mean for place, base in places.items() if base > mean}
    steps = [(step, share) for far, share in enumerate(lent, 1) for step in (-far, far)]
    borrowers = _borrowers(surplus, places, [step for step, _ in steps])
    mixed.lend(
        {
            key: _borrowed(place, surplus, steps) * min(1.0, SHORT / max(1, found.tokens))
            for key, found in mixed.candidates.items()
            if (place := (found.session, found.position)) in borrowers
        }
        if borrowers
        else {}
    )


def _borrowers(lenders: Iterable[Place], places: Container[Place], steps: Sequence[int]) -> set[Place]:
    """Who stands near enough to someone with something to lend."""
    return {
        place
        for session, position in lenders
        if position is not None
        for step in steps
        if (place := (session, position + step)) in places
    }


def _borrowed(place: Place, surplus: Mapping[Place, float], steps: Sequence[tuple[int, float]]) -> float:
    session, position = place
    borrowed = 0.0
    for step, share in steps:
        borrowed += share * surplus.get((session, (position or 0) + step), 0.0)
    return borrowed
