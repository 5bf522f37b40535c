"""What it comes to: everything as JSON, and a table with ratios to Recollect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]

_MEGA = 1_000_000


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of them does not exceed.

    >>> percentile([3, 1, 2, 4], 0.5), percentile([3, 1, 2, 4], 0.95)
    (2, 4)
    """
    ranked = sorted(values)
    return ranked[max(0, -int(-len(ranked) * share // 1) - 1)]


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    return {name: round(percentile(seconds, share) * 1000, 3) for name, share in _SHARES.items()}


_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

_COLUMNS: Mapping[str, tuple[str, Callable[[Figures], Any]]] = {
    "hybrid p50 ms": ("{:.2f}", lambda f: f["ms"]["hybrid"]["p50"]),
    "p95": ("{:.2f}", lambda f: f["ms"]["hybrid"]["p95"]),
    "p99": ("{:.2f}", lambda f: f["ms"]["hybrid"]["p99"]),
    "hybrid CPU ms": ("{:.2f}", lambda f: f["cpu_ms"]["hybrid"]["p50"]),
    "keyword p50": ("{:.2f}", lambda f: f["ms"]["keyword"]["p50"]),
    "vector p50": ("{:.2f}", lambda f: f["ms"]["vector"]["p50"]),
    "1% scope p50": ("{:.2f}", lambda f: f["ms"]["scoped"]["p50"]),
    "hybrid after adds": ("{:.2f}", lambda f: f["ms"]["hybrid after adds"]["p50"]),
    "one add p50": ("{:.2f}", lambda f: f["ms"]["add"]["p50"]),
    "add p95": ("{:.2f}", lambda f: f["ms"]["add"]["p95"]),
    "build s": ("{:.1f}", lambda f: f["build_seconds"]),
    "build CPU s": ("{:.1f}", lambda f: f["build_cpu_seconds"]),
    "memories/s": ("{:.0f}", lambda f: f["memories_per_second"]),
    "cold ms": ("{:.0f}", lambda f: f["ms"]["cold"]["p50"]),
    "resident MB": ("{:.0f}", lambda f: f["resident_bytes"] / _MEGA),
    "disk MB": ("{:.0f}", lambda f: f["bytes"] / _MEGA),
}
_QUALITY: Mapping[str, tuple[str, Callable[[Figures], Any]]] = {
    "vector leg = exact": ("{:.3f}", lambda f: f["overlap"]["vector"]),
    "keyword leg = exact": ("{:.3f}", lambda f: f["overlap"]["keyword"]),
    "hybrid finds it": ("{:.3f}", lambda f: f["found"]),
    "scoped hits of 10": ("{:.1f}", lambda f: f["scoped_hits"]),
    "questions": ("{:.0f}", lambda f: f["asked"]["hybrid"]),
    "rows added": ("{:.0f}", lambda f: f["added"]),
    "left out copies": ("{:.0f}", lambda f: f["copies_left_out"]),
}
_RATIOS = ("hybrid p50 ms", "hybrid CPU ms", "keyword p50", "vector p50", "1% scope p50", "hybrid after adds",
           "one add p50", "build s", "cold ms", "resident MB", "disk MB")  # fmt: skip


def markdown(peers: Mapping[str, Figures], base: str = "recollect") -> str:
    """Three tables: what was measured, how it compares with the base, and how good the answers were."""
    parts = [_table(peers, _COLUMNS), _table(peers, _QUALITY)]
    if base in peers:
        ratios = {name: _ratio(_COLUMNS[name][1], peers[base]) for name in _RATIOS}
        parts.insert(
            1, f"× {base.capitalize()} (more than 1 is slower or bigger)\n\n" + _table(peers, ratios)
        )
    parts.append("\n".join(f"- {name} {f['version']}: {_note(f)}" for name, f in peers.items()))
    return "\n\n".join(parts) + "\n"


def _ratio(value: Callable[[Figures], Any], base: Figures) -> tuple[str, Callable[[Figures], Any]]:
    return "{:.2f}", lambda figures: value(figures) / value(base)


def _table(peers: Mapping[str, Figures], columns: Mapping[str, tuple[str, Callable[[Figures], Any]]]) -> str:
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, figures in peers.items():
        cells = [_cell(form, value, figures) for form, value in columns.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(form: str, value: Callable[[Figures], Any], figures: Figures) -> str:
    """What was not measured is a dash."""
    try:
        return form.format(value(figures))
    except (KeyError, TypeError, ZeroDivisionError):
        return "–"


def _note(figures: Figures) -> str:
    notes = figures["notes"]
    said = [
        f"hybrid: {notes['hybrid']}",
        f"add: {notes['durable']}",
        f"scope: {notes['scope']}",
        *([f"exact BM25 over {notes['words']}"] if "keyword" in figures.get("overlap", {}) else []),
        *([f"FAILED: {figures['failed']}"] if figures.get("failed") else []),
    ]
    return "; ".join(said)
