"""A report as one page that needs nothing else: tables, plots, and no text that could do anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.evaluate import plots, report
from recollect.evaluate.metrics import MAIN_MEASURE
from recollect.evaluate.plots import Row, escaped
from recollect.evaluate.report import Report, SetReport, Table

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --text: CanvasText; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin: 1.6em 0 .5em; } h1 { margin-top: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .15rem .7rem .15rem 0; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid var(--line); font-weight: 600; }
th.left, td.left { text-align: left; white-space: normal; }
svg { max-width: 100%; height: auto; font-size: 11px; }
svg text { fill: var(--text); } .grid, .axis { stroke: var(--line); stroke-width: 1; }
.win { fill: #2a9d74; } .loss { fill: #c0483f; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin: 0 .3em 0 1em; }
.note { opacity: .8; font-size: 13px; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: Report) -> str:
    """The whole page."""
    names = ", ".join(of.name for of in found.sets)
    sections = "\n".join(part for of in found.sets for part in _section(of))
    explained = (
        f"Recollect {found.recollect}. Intervals hold the mean with {found.confidence:.0%} confidence, "
        f"by {found.resamples:,} bootstrap samples of the questions."
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>How well it answers: {escaped(names)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>How well it answers</h1>\n<p class="note">{escaped(explained)}</p>\n'
        f"{sections}\n</body>\n</html>\n"
    )


def _section(of: SetReport) -> Iterator[str]:
    yield f"<h2>{escaped(of.name)}</h2>\n<p>{escaped(report.headline(of))}</p>"
    yield from (f'<p class="note">{escaped(remark)}</p>' for remark in report.remarks(of))
    names = [summary.setting for summary in of.settings]
    yield _legend(names)
    yield plots.intervals(f"{of.name}: every measure", names, _by_measure(of))
    if of.settings[0].categories:
        yield f"<h3>{escaped(MAIN_MEASURE)} by category</h3>"
        yield plots.intervals(f"{of.name}: {MAIN_MEASURE} by category", names, _by_category(of))
    for each in of.comparisons:
        title = f"{MAIN_MEASURE} of {each.setting} against {each.against}, question by question"
        values = [change.after - change.before for change in each.changes] + [0.0] * each.ties
        yield f"<h3>{escaped(title)}</h3>"
        yield plots.differences(f"{of.name}: {title}", values)
    yield from map(_table, report.tables(of))


def _legend(names: Sequence[str]) -> str:
    keys = (
        f'<span class="key" style="background: {plots.colour(number)}"></span>{escaped(name)}'
        for number, name in enumerate(names)
    )
    return f"<p>{''.join(keys)}</p>"


def _by_measure(of: SetReport) -> list[Row]:
    measures = of.settings[0].overall.measures
    return [Row(name, [each.overall.measures[name] for each in of.settings]) for name in measures]


def _by_category(of: SetReport) -> list[Row]:
    return [
        Row(groups[0].category or "–", [group.measures[MAIN_MEASURE] for group in groups])
        for groups in zip(*(summary.categories for summary in of.settings), strict=True)
    ]


def _table(table: Table) -> str:
    rows = [_row("th", table.headers, table.left), *(_row("td", row, table.left) for row in table.rows)]
    return f'<h3>{escaped(table.title)}</h3>\n<div class="scroll"><table>{"".join(rows)}</table></div>'


def _row(tag: str, cells: Sequence[str], left: int) -> str:
    return (
        "<tr>"
        + "".join(
            f'<{tag} dir="auto"{" class=left" if number < left else ""}>{escaped(cell)}</{tag}>'
            for number, cell in enumerate(cells)
        )
        + "</tr>"
    )
