"""Plots as SVG, to stand in a page: no script, no font, nothing from elsewhere; every text is escaped."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

from recollect.evaluate.metrics import Estimate

COLOURS = ("#2f74c0", "#cc7722", "#2a9d74", "#b5509c", "#8f7a1f", "#6f63e0", "#c0483f", "#5b7d8c")
"""One for each setting, legible on white and on black; the order in a row says the same."""
STYLE = """
.plot { display: block; box-sizing: border-box; max-width: 45rem; padding-right: 20px; overflow: visible;
  font-size: 12px; margin: .5rem 0 1rem; }
.plot text { fill: CanvasText; } .grid, .axis { stroke: #8886; stroke-width: 1; }
.win { fill: #2a9d74; } .loss { fill: #c0483f; }
"""
"""What a page with plots needs among its styles."""
_TOP = 14
_STEP, _GAP = 11, 9
_HALF = 60
_TALL = 180
_CHARACTER, _BESIDE = 7, 10
_LONGEST = 26
_WIDE, _ASIDE, _ROW = 720, 60, 18
_FILE_STYLE = (
    ":root { color-scheme: light dark; background: Canvas; } .grid { stroke: #8886; } "
    "text { font: 12px system-ui, sans-serif; fill: CanvasText; }"
)
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a plot: its name, and one estimate for each setting."""

    label: str
    estimates: Sequence[Estimate]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plot: its name, its colour, and for each x the y, where there is one.

    That its dots are `hollow` tells it from another without colours.
    """

    label: str
    colour: str
    points: Sequence[tuple[float, float | None]]
    hollow: bool = False


def escaped(text: object) -> str:
    r"""Any text as part of a page: it is shown, and does nothing.

    >>> print(escaped("<b>&\x1b"))
    &lt;b&gt;&amp;\ufffd
    """
    return html.escape(_UNSAFE.sub("\ufffd", str(text)))


def colour(number: int) -> str:
    """The colour of a setting, by its place."""
    return COLOURS[number % len(COLOURS)]


def intervals(title: str, names: Sequence[str], rows: Sequence[Row]) -> str:
    """Means as dots with their intervals as lines, between 0 and 1: a row for each measure or category."""
    tall = _STEP * len(names) + _GAP
    bottom = _TOP + tall * len(rows)
    parts = [*_scale(bottom)]
    for number, row in enumerate(rows):
        top = _TOP + tall * number
        parts.append(_left(top + tall / 2, row.label))
        for place, (name, estimate) in enumerate(zip(names, row.estimates, strict=True)):
            y = top + _GAP / 2 + _STEP * (place + 0.5)
            parts.append(_interval(y, estimate, colour(place), f"{row.label}, {name}"))
    return _svg(title, bottom + 24, parts, [row.label for row in rows])


def lines(title: str, across: str, drawn: Sequence[Line]) -> str:
    """Lines between 0 and 1 in both directions; `across` says what goes from left to right."""
    bottom = _TOP + _TALL
    parts = [*_scale(bottom)]
    ticks = [f"{tenth / 10:.1f}" for tenth in range(0, 11, 2)]
    for tick in ticks:
        parts += [_line("0%", _y(float(tick)), "100%", _y(float(tick)), "grid"), _left(_y(float(tick)), tick)]
    parts.append(_label("50%", bottom + 30, across, "middle"))
    parts += (_drawn(line, lambda x, y: f"from {x:.2f} on: {y:.3f}") for line in drawn)
    return _svg(title, bottom + 42, parts, ticks)


def growing(title: str, across: str, drawn: Sequence[Line]) -> str:
    """Lines through points above 0, by the logarithm in both directions, as a file of its own with a legend.

    A tenfold step is as long everywhere: what doesn't grow lies flat, what grows in proportion climbs evenly.
    """
    known = [(x, y) for line in drawn for x, y in line.points if y is not None]
    xs, ys = sorted({x for x, _ in known}), _round_numbers(min(y for _, y in known), max(y for _, y in known))
    to_x, to_y = _logarithmic(xs[0], xs[-1]), _logarithmic(ys[0], ys[-1])
    bottom = _TOP + _TALL
    parts = [_label("50%", bottom + 30, across, "middle")]
    for y in ys:
        parts += [_line("0%", _y(to_y(y)), "100%", _y(to_y(y)), "grid"), _left(_y(to_y(y)), f"{y:g}")]
    for x in xs:
        parts.append(_line(_x(to_x(x)), _TOP, _x(to_x(x)), bottom, "grid"))
        parts.append(_label(_x(to_x(x)), bottom + 12, f"{x:,.0f}", "middle"))
    parts += (_drawn(line, lambda x, y: f"{y:,.2f} at {x:,.0f}", to_x, to_y) for line in drawn)
    parts += (_key(line, bottom + 52 + _ROW * number) for number, line in enumerate(drawn))
    return _file(title, bottom + 46 + _ROW * len(drawn), parts)


def _round_numbers(least: float, most: float) -> list[float]:
    """1, 2, 5, 10 and so on, from the last that is not above `least` to the first that is not below `most`.

    >>> _round_numbers(3, 40)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    decades = range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 2)
    steps = [float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)]
    first = max(step for step in steps if step <= least)
    last = min(step for step in steps if step >= most and step > first)
    return [step for step in steps if first <= step <= last]


def _logarithmic(least: float, most: float) -> Callable[[float], float]:
    """Where a number lies between these two, by the logarithm."""
    whole = math.log(most / least) or 1.0
    return lambda value: math.log(value / least) / whole


def differences(title: str, values: Sequence[float]) -> str:
    """How much better or worse each question is answered, the greatest win first: one thin bar for each."""
    middle = _TOP + _HALF
    wide = 1 / max(1, len(values))
    ticks = {"+1": _TOP, "0": middle, "−1": middle + _HALF}
    parts = [_line("0%", middle, "100%", middle, "axis"), *(_left(y, text) for text, y in ticks.items())]
    parts += [
        _bar(number * wide, middle, wide, value)
        for number, value in enumerate(sorted(values, reverse=True))
        if value
    ]
    return _svg(title, middle + _HALF + 14, parts, list(ticks))


def _bar(start: float, middle: float, wide: float, value: float) -> str:
    tall = abs(value) * _HALF
    kind, top = ("win", middle - tall) if value > 0 else ("loss", middle)
    size = f'width="{100 * max(wide, 0.0007):.3f}%" height="{tall:.2f}"'
    return f'<rect class="{kind}" x="{100 * start:.3f}%" y="{top:.2f}" {size}/>'


def _x(value: float) -> str:
    """In parts of what is there, so that a plot fits every window and its text stays as large as it is."""
    return f"{100 * min(1.0, max(0.0, value)):.2f}%"


def _y(value: float) -> float:
    return _TOP + _TALL * (1 - min(1.0, max(0.0, value)))


def _scale(bottom: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        yield _line(x, _TOP, x, bottom, "grid")
        yield _label(x, bottom + 12, f"{tenth / 10:.1f}", "middle")


def _interval(y: float, estimate: Estimate, shade: str, what: str) -> str:
    told = f"{what}: {estimate.value:.3f} [{estimate.low:.3f} {estimate.high:.3f}]"
    return (
        f'<g stroke="{shade}" fill="{shade}"><title>{escaped(told)}</title>'
        f'<line stroke-width="2" x1="{_x(estimate.low)}" y1="{y:.1f}" '
        f'x2="{_x(estimate.high)}" y2="{y:.1f}"/>'
        f'<circle cx="{_x(estimate.value)}" cy="{y:.1f}" r="3.5"/></g>'
    )


def _drawn(
    line: Line,
    told: Callable[[float, float], str],
    to_x: Callable[[float], float] = float,
    to_y: Callable[[float], float] = float,
) -> str:
    """A line and its dots; `told` is what a pointer shows at one, `to_x` and `to_y` say where it lies."""
    known = [(_x(to_x(x)), _y(to_y(y)), told(x, y)) for x, y in line.points if y is not None]
    between = "".join(
        f'<line x1="{x}" y1="{y:.1f}" x2="{next_x}" y2="{next_y:.1f}"/>'
        for (x, y, _), (next_x, next_y, _) in pairwise(known)
    )
    dots = "".join(
        f'<circle cx="{x}" cy="{y:.1f}" r="3"><title>{escaped(f"{line.label}, {what}")}</title></circle>'
        for x, y, what in known
    )
    return _in_colours(line, between + dots)


def _in_colours(line: Line, parts: str) -> str:
    fill = "Canvas" if line.hollow else line.colour
    return f'<g stroke="{line.colour}" stroke-width="2" style="fill: {fill}">{parts}</g>'


def _key(line: Line, y: float) -> str:
    """A line of a legend."""
    dot = _in_colours(line, f'<circle cx="5" cy="{y:.1f}" r="3"/>')
    return dot + _label("14", y, line.label, "start")


def _line(x1: str, y1: float, x2: str, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1:.1f}" x2="{x2}" y2="{y2:.1f}"/>'


def _left(y: float, text: str) -> str:
    """A text beside the plot; a long one is cut, and whole in what a pointer shows."""
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return _label(f"-{_BESIDE}", y, short, "end", text if short != text else "")


def _label(x: str, y: float, text: str, anchor: str, whole: str = "") -> str:
    place = f'x="{x}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="middle"'
    told = f"<title>{escaped(whole)}</title>" if whole else ""
    return f"<text {place}>{escaped(text)}{told}</text>"


def _svg(title: str, height: float, parts: Sequence[str], beside: Sequence[str]) -> str:
    """What is `beside` stands in the padding, which is as wide as the longest of it."""
    left = _BESIDE + 4 + _CHARACTER * max(map(_width, beside), default=0)
    return (
        f'<svg class="plot" width="100%" height="{height:.0f}" style="padding-left: {left}px" role="img" '
        f'aria-label="{escaped(title)}">{"".join(parts)}</svg>'
    )


def _file(title: str, height: float, parts: Sequence[str]) -> str:
    """The same as a file: it brings its styles, and is as wide as it is."""
    size = f'width="{_WIDE}" height="{height:.0f}"'
    inside = f'<svg x="{_ASIDE}" width="{_WIDE - 2 * _ASIDE}" height="{height:.0f}" overflow="visible">'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_WIDE} {height:.0f}" '
        f'role="img" aria-label="{escaped(title)}"><title>{escaped(title)}</title>'
        f"<style>{_FILE_STYLE}</style>{inside}{''.join(parts)}</svg></svg>\n"
    )


def _width(text: str) -> int:
    """In characters; those of Chinese, Japanese and Korean are twice as wide."""
    return sum(1 + (east_asian_width(each) in "WF") for each in text[:_LONGEST])
