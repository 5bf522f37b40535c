"""Plots as SVG, to stand in a page: no script, no font, nothing from elsewhere; every text is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.evaluate.metrics import Estimate

COLOURS = ("#2f74c0", "#d9822b", "#2a9d74", "#b5509c", "#8f7a1f", "#6f63e0", "#c0483f", "#5b7d8c")
"""One for each setting, legible on white and on black; the order in a row says the same."""
_WIDTH, _LEFT, _RIGHT, _TOP = 720, 130, 20, 14
_STEP, _GAP = 11, 9
_HALF = 60
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a plot: its name, and one estimate for each setting."""

    label: str
    estimates: Sequence[Estimate]


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
        parts.append(_label(_LEFT - 10, top + tall / 2, row.label, "end"))
        for place, (name, estimate) in enumerate(zip(names, row.estimates, strict=True)):
            y = top + _GAP / 2 + _STEP * (place + 0.5)
            parts.append(_interval(y, estimate, colour(place), f"{row.label}, {name}"))
    return _svg(title, bottom + 24, parts)


def differences(title: str, values: Sequence[float]) -> str:
    """How much better or worse each question is answered, the greatest win first: one thin bar for each."""
    middle = _TOP + _HALF
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(values))
    parts = [_line(_LEFT, middle, _WIDTH - _RIGHT, middle, "axis")]
    for text, y in (("+1", _TOP), ("0", middle), ("−1", middle + _HALF)):
        parts.append(_label(_LEFT - 10, y, text, "end"))
    parts += [
        _bar(_LEFT + number * wide, middle, wide, value)
        for number, value in enumerate(sorted(values, reverse=True))
        if value
    ]
    return _svg(title, middle + _HALF + 14, parts)


def _bar(x: float, middle: float, wide: float, value: float) -> str:
    tall = abs(value) * _HALF
    kind, top = ("win", middle - tall) if value > 0 else ("loss", middle)
    size = f'width="{max(wide, 0.4):.2f}" height="{tall:.2f}"'
    return f'<rect class="{kind}" x="{x:.2f}" y="{top:.2f}" {size}/>'


def _x(value: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, value))


def _scale(bottom: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        yield _line(x, _TOP, x, bottom, "grid")
        yield _label(x, bottom + 12, f"{tenth / 10:.1f}", "middle")


def _interval(y: float, estimate: Estimate, shade: str, what: str) -> str:
    told = f"{what}: {estimate.value:.3f} [{estimate.low:.3f} {estimate.high:.3f}]"
    return (
        f'<g stroke="{shade}" fill="{shade}"><title>{escaped(told)}</title>'
        f'<line stroke-width="2" x1="{_x(estimate.low):.1f}" y1="{y:.1f}" '
        f'x2="{_x(estimate.high):.1f}" y2="{y:.1f}"/>'
        f'<circle cx="{_x(estimate.value):.1f}" cy="{y:.1f}" r="3.5"/></g>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="middle"'
    return f"<text {place}>{escaped(text)}</text>"


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" role="img" '
        f'aria-label="{escaped(title)}">{"".join(parts)}</svg>'
    )
