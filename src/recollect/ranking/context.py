"""Neighbours in a session lend each other relevance: a turn is often found by what was said around it."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.ranking.fuse import Fused
from recollect.store.base import Key

LENT = (0.35, 0.17)
"""How much a memory lends to those one and two places away, of what its score lies above the mean."""
SHORT = 60
"""So many tokens are too few to stand alone: what is longer borrows less, in proportion."""


def lend(fused: Sequence[Fused], lent: Sequence[float] = LENT) -> list[Fused]:
    """Every candidate with what its neighbours lend it; all scaled down together, should one exceed 1.

    Only what stands out has anything to lend: otherwise the middle of a long session would always win.
    """
    places: dict[tuple[Key | None, int | None], float] = {
        (item.candidate.session, item.candidate.position): item.base
        for item in fused
        if item.candidate.session is not None
    }
    if len(places) < 2:
        return list(fused)
    mean = sum(places.values()) / len(places)
    surplus = {place: base - mean for place, base in places.items() if base > mean}
    steps = [(step, share) for far, share in enumerate(lent, 1) for step in (-far, far)]
    borrowed = [_borrowed(item, surplus, steps) for item in fused]
    scale = 1 / max(1.0, *(item.base + extra for item, extra in zip(fused, borrowed, strict=True)))
    return [item.scaled(scale, extra) for item, extra in zip(fused, borrowed, strict=True)]


def _borrowed(
    item: Fused, surplus: dict[tuple[Key | None, int | None], float], steps: Sequence[tuple[int, float]]
) -> float:
    session, position = item.candidate.session, item.candidate.position
    if session is None or position is None:
        return 0.0
    borrowed = 0.0
    for step, share in steps:
        borrowed += share * surplus.get((session, position + step), 0.0)
    return borrowed * min(1.0, SHORT / max(1, item.candidate.tokens))
