"""Why is this hit where it is? The scores of a recall as a table."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.doors.cli import render
from recollect.types import Hit, Leg, Recall


def explained(found: Recall) -> Iterator[str]:
    """How the search was done, and a row for each hit: what each leg said, what was lent, what multiplied."""
    yield ""
    yield f"mode {found.mode}, fusion {found.fusion}{_time(found)}"
    yield "each leg gives a rank (#), a raw score and a share; score = (base + lent) × each multiplier"
    yield ""
    names = list(dict.fromkeys(each.name for hit in found for each in hit.why.multipliers))
    headers = [
        "#", "keyword #", "raw", "share", "semantic #", "raw", "share", "base", "lent",
        *(f"× {name}" for name in names), "score", "because",
    ]  # fmt: skip
    rows = [[str(rank), *_row(hit, names)] for rank, hit in enumerate(found, 1)]
    yield from render.table(headers, rows, right=range(len(headers) - 1))


def _row(hit: Hit, names: list[str]) -> list[str]:
    why = hit.why
    multipliers = {each.name: each for each in why.multipliers}
    because = [f"{hit.match} match", *(each.note for each in why.multipliers if each.note)]
    return [
        *_leg(why.keyword),
        *_leg(why.semantic),
        f"{why.base:.3f}",
        f"{why.lent:.3f}" if why.lent else "–",
        *(f"{multipliers[name].value:.3f}" if name in multipliers else "–" for name in names),
        f"{hit.score:.3f}",
        "; ".join(because),
    ]


def _leg(leg: Leg | None) -> list[str]:
    return ["–", "–", "–"] if leg is None else [str(leg.rank), f"{leg.score:.4g}", f"{leg.share:.3f}"]


def _time(found: Recall) -> str:
    time = found.timeframe
    if time is None:
        return ""
    phrase = f' "{render.one_line(time.phrase)}"' if time.phrase else ""
    effect = "a filter" if time.origin == "given" else "read in the query: a boost"
    return f", time{phrase} {render.when(time.start) or '…'} to {render.when(time.end) or '…'} ({effect})"
