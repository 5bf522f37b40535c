"""The command that measures how fast stores are: bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import jsonl, options, render
from recollect.doors.cli.door import Door, command
from recollect.errors import InvalidInput
from recollect.types import MODES, Draft

if TYPE_CHECKING:
    from recollect.evaluate.bench import Measured, Report

TEMPORARY = "a temporary SQLite file"
_POSITIVE = click.IntRange(min=1)


@command()
@click.option("--url", "urls", multiple=True, metavar="URL", help="A store to measure (a temporary file).")
@click.option("--memories", type=_POSITIVE, default=10_000, metavar="N", help="How many to write (10,000).")
@click.option("--namespaces", type=_POSITIVE, default=1, metavar="N", help="Dealt to so many in turn (1).")
@click.option(
    "--texts",
    type=options.file_type(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="JSON lines (- for standard input), .gz too: text or content, perhaps a timestamp and a session.",
)
@click.option("--questions", type=_POSITIVE, default=200, metavar="N", help="How many to ask (200).")
@click.option(
    "--mode", "modes", type=click.Choice(MODES[:3]), multiple=True, help="How to search (all three)."
)
@click.option("--writers", type=_POSITIVE, metavar="N", help="Then let so many write and recall at once.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), metavar="X", help="For how long (10)."
)
@click.option("--seed", type=int, default=1, metavar="N", help="Other texts and questions (1).")
@click.option("--reuse", is_flag=True, help="Measure with what an earlier bench kept, if it fits.")
@click.option("--keep", is_flag=True, help="Leave the memories there, for --reuse.")
def bench(door: Door, texts: Path | None, memories: int, **given: Any) -> None:
    """Measure how fast stores write and recall; several are measured by turns and compared.

    Works in the namespaces bench-0001 and so on: it refuses a store that has memories there, and removes
    its own at the end. Vectors are made beforehand, so that no model is measured. A recall is of ten hits,
    and each question was asked once before.

    \b
    Example:
      recollect bench
      recollect bench --url here.db --url /mnt/there.db --memories 100000 --namespaces 1000
      recollect bench --texts commits.jsonl.gz --writers 8 --seconds 30 --json
    """
    _check(door, given)
    from tempfile import TemporaryDirectory

    from recollect.evaluate import bench as measuring

    named = given.pop("urls")
    drafts = _drafts(texts, memories, given["namespaces"], given["seed"])
    with TemporaryDirectory() as folder, door.progress() as progress:
        urls = named or (str(Path(folder, "memory.db")),)
        report = measuring.run(measuring.Plan(urls, **options.chosen(given)), drafts, progress)
    if not named:
        report = replace(report, stores=[replace(report.stores[0], url=TEMPORARY)])
    door.answer(report, _shown(report))


def _check(door: Door, given: Mapping[str, Any]) -> None:
    """UsageError for options that don't go together."""
    if door.store or door.namespace or door.embedder:
        raise click.UsageError("bench opens stores of its own: name them with --url.")
    if given["seconds"] and not given["writers"]:
        raise click.UsageError("--seconds says how long --writers are at work: give both.")
    if (given["reuse"] or given["keep"]) and not given["urls"]:
        raise click.UsageError("--reuse and --keep need a store that stays: name it with --url.")


def _drafts(file: Path | None, count: int, namespaces: int, seed: int) -> list[Draft]:
    """What to fill the stores with: of each line its text, its time and its session."""
    if file is None:
        from recollect.evaluate import texts

        return texts.drafts(count, namespaces=namespaces, seed=seed)
    drafts: list[Draft] = []
    with jsonl.reading(str(file)) as lines:
        for record in lines:
            try:
                read = jsonl.draft(record, keep_id=False)
            except InvalidInput as error:
                raise lines.error(error) from error
            drafts.append(Draft(read.text, created_at=read.created_at, session=read.session))
            if len(drafts) == count:
                return drafts
    raise InvalidInput(f"{file} has {render.count(len(drafts), 'text')}, fewer than --memories {count}.")


def _shown(report: Report) -> Iterator[str]:
    spaces = render.count(report.namespaces, "namespace")
    yield (
        f"{render.count(report.memories, 'memory', 'memories')} in {spaces}, "
        f"{render.count(report.questions, 'question')}, {report.dimensions} dimensions"
    )
    yield ""
    first, *others = report.stores
    headers = ["", _short(first.url)]
    for other in others:
        headers += [_short(other.url), "× first"]
    yield from render.table(headers, _rows(first, others), right=range(1, len(headers)))


def _short(url: str, length: int = 32) -> str:
    """The end of a URL says which one it is.

    >>> _short("/a/long/way/to/go/until/the/end/memory.db", 12)
    '…d/memory.db'
    """
    return url if len(url) <= length else "…" + url[1 - length :]


def _rows(first: Measured, others: Sequence[Measured]) -> Iterator[list[str]]:
    compared = [_figures(other) for other in others]
    for name, base in _figures(first).items():
        row = [name, _number(base)]
        for figures in compared:
            number = figures[name]
            row += [_number(number), "–" if not base or number is None else f"{number / base:.2f}"]
        yield row


def _figures(store: Measured) -> dict[str, float | None]:
    """What stands in a column, by the name of its row."""
    figures: dict[str, float | None] = {"bulk write, memories/s": store.written_per_second}
    for share in ("p50", "p95"):
        figures[f"one durable write, {share} ms"] = getattr(store.write_ms, share)
    for mode, latency in store.recall_ms.items():
        for share in ("p50", "p95", "p99"):
            figures[f"{mode} recall, {share} ms"] = getattr(latency, share)
    figures["resident memory, MB"] = _mega(store.resident_bytes)
    figures["size on disk, MB"] = _mega(store.bytes)
    if store.load:
        at_once = render.count(store.load.writers, "writer")
        figures[f"{at_once}, operations/s"] = store.load.operations_per_second
        figures[f"{at_once}, errors"] = store.load.errors
        figures[f"{at_once}, acknowledged but lost"] = store.load.lost
    return figures


def _mega(bytes: int | None) -> float | None:
    return None if bytes is None else bytes / 1_000_000


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.2f}" if isinstance(value, float) and abs(value) < 100 else f"{value:,.0f}"
