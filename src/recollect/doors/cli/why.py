"""Why is this hit where it is? The scores of a recall as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.doors.cli import render
from recollect.types import Hit, Leg, Multiplier, Recall


def explained(found: Recall, only: int | None = None) -> Iterator[str]:
    """How the search was done, and a row for each hit: every number that its score is made of.

    `only` is the rank of the one hit to explain.
    """
    hits = list(enumerate(found, 1)) if only is None else [(only, found[only - 1])]
    added = _names(each for _, hit in hits for each in hit.why.added)
    factors = _names(each for _, hit in hits for each in hit.why.factors)
    multipliers = _names(each for _, hit in hits for each in hit.why.multipliers)
    start = "the mean of the factors (=)" if factors else "(base + lent)"
    yield ""
    yield f"mode {found.mode}, fusion {found.fusion}{_time(found)}"
    yield from (note for note in (found[0].why.notes if found else ()) if note not in found.notes)
    yield f"each leg gives a rank (#), a raw score and a share; score = {start} × each multiplier"
    yield ""
    headers = [
        "#", "keyword #", "raw", "share", "semantic #", "raw", "share", *(f"+ {name}" for name in added),
        "base", "lent", *(f"= {name}" for name in factors), *(f"× {name}" for name in multipliers),
        "score", "because",
    ]  # fmt: skip
    rows = [[str(rank), *_row(hit, added, factors, multipliers)] for rank, hit in hits]
    yield from render.table(headers, rows, right=range(len(headers) - 1))


def _names(each: Iterable[Multiplier]) -> list[str]:
    return list(dict.fromkeys(part.name for part in each))


def _row(hit: Hit, added: list[str], factors: list[str], multipliers: list[str]) -> list[str]:
    why = hit.why
    because = [f"{hit.match} match", *(each.note for each in why.multipliers if each.note)]
    return [
        *_leg(why.keyword),
        *_leg(why.semantic),
        *_values(why.added, added),
        f"{why.base:.3f}",
        f"{why.lent:.3f}" if why.lent else "–",
        *_values(why.factors, factors),
        *_values(why.multipliers, multipliers),
        f"{hit.score:.3f}",
        "; ".join(because),
    ]


def _values(parts: Iterable[Multiplier], names: list[str]) -> list[str]:
    by_name = {part.name: f"{part.value:.3f}" for part in parts}
    return [by_name.get(name, "–") for name in names]


def _leg(leg: Leg | None) -> list[str]:
    return ["–", "–", "–"] if leg is None else [str(leg.rank), f"{leg.score:.4g}", f"{leg.share:.3f}"]


def _time(found: Recall) -> str:
    time = found.timeframe
    if time is None:
        return ""
    phrase = f' "{render.one_line(time.phrase)}"' if time.phrase else ""
    effect = "a filter" if time.origin == "given" else "read in the query: a boost"
    return f", time{phrase} {render.when(time.start) or '…'} to {render.when(time.end) or '…'} ({effect})"
