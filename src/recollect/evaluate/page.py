"""A report as one page that needs nothing else: tables, plots, and no text that could do anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.evaluate import plots, report
from recollect.evaluate.abstaining import FOUND, Sureness
from recollect.evaluate.metrics import MAIN_MEASURE
from recollect.evaluate.plots import Line, Row, escaped
from recollect.evaluate.report import Report, SetReport, Table

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin: 1.6em 0 .5em; } h1 { margin-top: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .15rem .7rem .15rem 0; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #8886; font-weight: 600; }
.left { text-align: left; } td.long { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; }
.held .left:first-child { position: sticky; left: 0; background: Canvas; }
h1, h2, p { overflow-wrap: anywhere; }
.key { white-space: nowrap; margin-right: 1em; }
.dot, .ring { display: inline-block; box-sizing: border-box; width: .8em; height: .8em; border-radius: 50%;
  border: 2px solid; margin-right: .3em; } .dot { background: currentcolor; }
.note { opacity: .8; font-size: 13px; }
"""
_SAME = '<p class="note">Every question is answered equally well.</p>'
_LONG = 30
"""From how many characters on a cell may be broken into lines."""
_CURVE = (
    "Who answers only from some likelihood on leaves questions unanswered: how many are answered then, how "
    "often an answer is among the first five of these"
)
_MISLED = ", and how many of the questions that have no answer are answered too"
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
        f"<title>How well it answers: {escaped(names)}</title>\n<style>{_STYLE}{plots.STYLE}</style>\n"
        f"</head>\n<body>\n"
        f'<h1>How well it answers</h1>\n<p class="note">{escaped(explained)}</p>\n'
        f"{sections}\n</body>\n</html>\n"
    )


def _section(of: SetReport) -> Iterator[str]:
    yield f"<h2>{escaped(of.name)}</h2>\n<p>{escaped(report.headline(of))}</p>"
    yield from (f'<p class="note">{escaped(remark)}</p>' for remark in report.remarks(of))
    names = [summary.setting for summary in of.settings]
    yield _legend([Line(name, plots.colour(number), ()) for number, name in enumerate(names)])
    yield plots.intervals(f"{of.name}: every measure", names, _by_measure(of))
    if of.settings[0].categories:
        yield f"<h3>{escaped(MAIN_MEASURE)} by category</h3>"
        yield plots.intervals(f"{of.name}: {MAIN_MEASURE} by category", names, _by_category(of))
    yield from _curves(of)
    for each in of.comparisons:
        title = f"{MAIN_MEASURE} of {each.setting} against {each.against}, question by question"
        values = [change.after - change.before for change in each.changes] + [0.0] * each.ties
        yield f"<h3>{escaped(title)}</h3>"
        yield plots.differences(f"{of.name}: {title}", values) if each.changes else _SAME
    yield from map(_table, report.tables(of))


def _curves(of: SetReport) -> Iterator[str]:
    """For each setting, what is answered from which likelihood on."""
    yield "<h3>Confidence: what is answered from which likelihood on</h3>"
    yield f'<p class="note">{escaped(_CURVE + (_MISLED if of.unanswerable else ""))}.</p>'
    yield _legend(list(_lines(of.settings[0].confidence)))
    for summary in of.settings:
        title = f"{of.name}: confidence of {summary.setting}"
        yield f"<h4>{escaped(summary.setting)}</h4>"
        yield plots.lines(title, "likelihood", list(_lines(summary.confidence)))


def _lines(found: Sureness) -> Iterator[Line]:
    blue, green, red = plots.COLOURS[0], plots.COLOURS[2], plots.COLOURS[6]
    yield Line("answered", blue, [(point.threshold, point.answered) for point in found.curve])
    yield Line(f"{FOUND} of these", green, [(point.threshold, point.found) for point in found.curve])
    if any(point.misled is not None for point in found.curve):
        misled = [(point.threshold, point.misled) for point in found.curve]
        yield Line("unanswerable, yet answered", red, misled, hollow=True)


def _legend(lines: Sequence[Line]) -> str:
    keys = (
        f'<span class="key"><span class="{"ring" if line.hollow else "dot"}" style="color: {line.colour}">'
        f"</span>{escaped(line.label)}</span>"
        for line in lines
    )
    return f"<p>{' '.join(keys)}</p>"


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
    held = "" if any(len(row[0]) > _LONG for row in table.rows) else " class=held"
    name = escaped(table.title)
    return (
        f'<h3>{name}</h3>\n<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f"<table{held}>{''.join(rows)}</table></div>"
    )


def _row(tag: str, cells: Sequence[str], left: int) -> str:
    made = []
    for number, cell in enumerate(cells):
        kinds = ["left"] * (number < left) + ["long"] * (number < left and len(cell) > _LONG)
        style = f' class="{" ".join(kinds)}"' if kinds else ""
        made.append(f'<{tag} dir="auto"{style}>{escaped(cell)}</{tag}>')
    return f"<tr>{''.join(made)}</tr>"
