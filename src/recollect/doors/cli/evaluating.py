"""The command that measures: eval."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import options, render
from recollect.doors.cli.door import Door, command
from recollect.errors import InvalidInput
from recollect.types import FUSIONS, MODES

if TYPE_CHECKING:
    from recollect.evaluate.report import Report
    from recollect.evaluate.running import OpenStore, Result, Setting
    from recollect.evaluate.sets import EvalSet
    from recollect.types import Progress

DEFAULT_MODES = ("keyword", "semantic", "hybrid")
DEFAULT_PROBED = 200
"""How many memories are probed when nothing is said."""
_LONGEST_CELL = 70


@command()
@click.argument("sets", metavar="[SET]...", nargs=-1, type=options.file_type(exists=True))
@click.option("--own", is_flag=True, help="Probe your own store: parts of a memory must find it again.")
@click.option("--mode", "modes", type=click.Choice(MODES), multiple=True, help="Measure this mode.")
@click.option("--fusion", "fusions", type=click.Choice(FUSIONS), multiple=True, help="Measure this fusion.")
@click.option("--against", metavar="SETTING", help="Show wins and losses against a mode, or mode/fusion.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Ask only so many questions, always the same ones; with --own, probe so many memories (200).",
)
@click.option("--url", metavar="URL", help="Fill this store, not a temporary file; it is emptied again.")
@click.option("--keep", metavar="PATH", help="Keep the filled stores in this folder, and use them again.")
@click.option(
    "--html", type=options.file_type(dir_okay=False), metavar="FILE", help="Write a page with plots, too."
)
def eval(
    door: Door, sets: tuple[Path, ...], own: bool, against: str | None, html: Path | None, **how: Any
) -> None:
    """Measure how well questions are answered: on labelled sets, or on your own memories.

    A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a file of LoCoMo or LongMemEval as
    published. Its documents fill a store of their own; yours is left alone. Without --mode: keyword,
    semantic and hybrid. With several fusions, every mode is measured with each of them. --keep also takes
    a single file (.db) or a URL.

    \b
    Example:
      recollect eval data/scifact data/locomo --against keyword --html report.html
      recollect eval locomo10.json --mode hybrid --fusion mix --fusion rrf --keep stores/
      recollect eval --own --sample 100
    """
    _check(door, sets, own, html, **how)
    from recollect.evaluate.report import report
    from recollect.evaluate.running import setting

    base = setting(against) if against else None
    settings = _settings(how["modes"], how["fusions"], base)
    with door.progress() as progress:
        if own:
            results = [_on_own(door, settings, how["sample"] or DEFAULT_PROBED, progress)]
        else:
            results = list(_on_sets(door, sets, settings, how, progress))
    found = report(results, base)
    if html is not None:
        from recollect.evaluate.page import page

        html.write_text(page(found), "utf-8", errors="replace")
    door.answer(found, _lines(found))


def _check(
    door: Door,
    sets: Sequence[Path],
    own: bool,
    html: Path | None,
    url: str | None,
    keep: str | None,
    **_: Any,
) -> None:
    """What can't be meant is said before hours of work."""
    if own == bool(sets):
        raise click.UsageError("Name sets to measure with, or say --own for your own memories.")
    if sets and door.store:
        raise click.UsageError("Sets are measured in a store of their own: say --url or --keep, not --store.")
    if own and (url or keep):
        raise click.UsageError("--own measures your store as it is: leave out --url and --keep.")
    if url and keep:
        raise click.UsageError("Give --url for a store that is emptied again, or --keep for one that is not.")
    if ":memory:" in (url, keep):
        raise InvalidInput(
            "A store in memory can't be opened for each setting: leave it out, or name a file."
        )
    if html is not None and not html.resolve().parent.is_dir():
        raise InvalidInput(f"The folder {html.resolve().parent} does not exist: make it first.")


def _settings(modes: Sequence[Any], fusions: Sequence[Any], base: Setting | None) -> list[Setting]:
    """Every mode with every fusion; what they are compared with comes first."""
    from recollect.evaluate.running import Setting

    asked = [Setting(*each) for each in product(modes or DEFAULT_MODES, fusions or ("mix",))]
    return list(dict.fromkeys(([base] if base else []) + asked))


def _on_own(door: Door, settings: Sequence[Setting], number: int, progress: Progress | None) -> Result:
    from recollect.evaluate.running import evaluate_own

    return evaluate_own(settings, lambda clock: door.open(clock=clock), number=number, progress=progress)


def _on_sets(
    door: Door,
    paths: Sequence[Path],
    settings: Sequence[Setting],
    how: dict[str, Any],
    progress: Progress | None,
) -> Iterator[Result]:
    """The results of each set; all are read before the first is measured."""
    from recollect import config
    from recollect.evaluate.filling import fingerprint
    from recollect.evaluate.reading import read
    from recollect.evaluate.running import evaluate, joined
    from recollect.evaluate.sets import sampled

    embedder = config.load(embedder=door.embedder).embedder

    def measured(whole: EvalSet, *, keep: bool) -> Result:
        mark = fingerprint(whole.documents, embedder)
        with _place(how["url"], how["keep"], f"{whole.name}-{mark}.db") as place:
            store = _opener(door, place)
            return evaluate(whole, settings, store, mark=mark, keep=keep, progress=progress)

    for whole in [sampled(read(path), how["sample"]) for path in paths]:
        result = measured(whole, keep=not how["url"])
        keep_apart = not (how["url"] or _is_store(how["keep"]))
        yield joined(result, measured(whole.apart, keep=keep_apart)) if whole.apart else result


def _opener(door: Door, place: str) -> OpenStore:
    return lambda clock: door.open(create=True, store=place, clock=clock)


@contextmanager
def _place(url: str | None, keep: str | None, file: str) -> Iterator[str]:
    """Where a set is filled in: what was named, a file in the folder that was named, or one that goes."""
    if url:
        yield url
    elif keep is None:
        with tempfile.TemporaryDirectory(prefix="recollect-eval-") as folder:
            yield str(Path(folder) / "memory.db")
    elif _is_store(keep):
        yield keep
    else:
        Path(keep).mkdir(parents=True, exist_ok=True)
        yield str(Path(keep) / file)


def _is_store(keep: str | None) -> bool:
    """Whether everything is kept in one store, where what is apart may not stay."""
    return keep is not None and ("://" in keep or keep.endswith(".db") or Path(keep).is_file())


def _lines(found: Report) -> Iterator[str]:
    from recollect.evaluate.report import headline, remarks, tables

    for of in found.sets:
        yield render.style(render.one_line(headline(of)), bold=True)
        for table in tables(of):
            rows = [[render.one_line(cell, _LONGEST_CELL) for cell in row] for row in table.rows]
            yield f"\n{render.style(render.one_line(table.title), fg='cyan')}"
            yield from render.table(table.headers, rows, right=range(table.left, len(table.headers)))
        yield ""
        yield from (f"note: {render.one_line(remark)}" for remark in remarks(of))
