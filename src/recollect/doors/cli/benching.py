"""The command that measures how fast stores are: bench."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import jsonl, options, render
from recollect.doors.cli.door import Door, command
from recollect.errors import InvalidInput
from recollect.types import MODES, Draft

if TYPE_CHECKING:
    from recollect.evaluate.figures import Measured, Report, StoreReport

TEMPORARY = "a temporary SQLite file"
_POSITIVE = click.IntRange(min=1)
_NOT_NEGATIVE = click.IntRange(min=0)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}


def size(text: str) -> int:
    """A number of memories, at least two.

    >>> size("10000"), size("10k"), size("1M")
    (10000, 10000, 1000000)
    """
    found = re.fullmatch(r"(\d{1,9})([km]?)", str(text).lower())
    number = int(found[1]) * _THOUSANDS[found[2]] if found else 0
    if number < 2:
        raise click.BadParameter(f"{text!r} is not a number of memories, such as 10000, 10k or 1M.")
    return number


@command()
@click.option("--url", "urls", multiple=True, metavar="URL", help="A store to measure (a temporary file).")
@click.option(
    "--memories",
    "sizes",
    type=size,
    multiple=True,
    default=("10k",),
    metavar="N",
    help="How many to write, such as 10k or 1M (10k); several times: measured at each of these sizes.",
)
@click.option("--namespaces", type=_POSITIVE, default=1, metavar="N", help="Dealt to so many (1).")
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
@click.option(
    "--writes", type=_POSITIVE, default=1_000, metavar="N", help="How many to write one by one (1,000)."
)
@click.option(
    "--exact",
    type=_NOT_NEGATIVE,
    default=50,
    metavar="N",
    help="Compare so many answers with exact search (50); 0 for none.",
)
@click.option(
    "--cold", type=_NOT_NEGATIVE, default=5, metavar="N", help="Start so many new processes (5); 0 for none."
)
@click.option("--writers", type=_POSITIVE, metavar="N", help="Then let so many write and recall at once.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), metavar="X", help="For how long (10)."
)
@click.option("--seed", type=int, default=1, metavar="N", help="Other texts and questions (1).")
@click.option("--reuse", is_flag=True, help="Measure with what an earlier bench kept, if it fits.")
@click.option("--keep", is_flag=True, help="Leave the memories there, for --reuse.")
@click.option(
    "--plot",
    type=options.file_type(dir_okay=False),
    metavar="FILE",
    help="Draw how recall grows from size to size, as SVG.",
)
def bench(door: Door, texts: Path | None, sizes: tuple[int, ...], plot: Path | None, **given: Any) -> None:
    """Measure how fast stores write and recall; several are measured by turns and compared.

    With several sizes, a store is filled up from each to the next, and the growth is shown. Works in the
    namespaces bench-0001 and so on: it refuses a store that has memories there, and removes its own at
    the end. Vectors are made beforehand, so that no model is measured. A recall is of ten hits, and each
    question was asked once before.

    \b
    Example:
      recollect bench
      recollect bench --memories 10k --memories 100k --memories 1M --plot growth.svg
      recollect bench --url here.db --url /mnt/there.db --memories 100k --namespaces 1000
      recollect bench --texts commits.jsonl.gz --writers 8 --seconds 30 --json
    """
    rising = tuple(sorted(set(sizes)))
    _check(door, rising, plot, given)
    from tempfile import TemporaryDirectory

    from recollect.evaluate import bench as measuring

    named = given.pop("urls")
    with TemporaryDirectory() as folder, door.progress() as progress:
        urls = named or (str(Path(folder, "memory.db")),)
        source = _source(texts, rising[-1], given["seed"], Path(folder))
        plan = measuring.Plan(urls, rising, **_chosen(given))
        report = measuring.run(plan, source, progress)
    if not named:
        report = replace(report, stores=[replace(report.stores[0], url=TEMPORARY)])
    if plot is not None:
        plot.write_text(_drawn(report), "utf-8", errors="replace")
    door.answer(report, _shown(report))


def _chosen(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that were given; a 0 was."""
    return {name: value for name, value in given.items() if value is not None and value != ()}


def _check(door: Door, sizes: Sequence[int], plot: Path | None, given: Mapping[str, Any]) -> None:
    """UsageError for options that don't go together."""
    if door.store or door.namespace or door.embedder:
        raise click.UsageError("bench opens stores of its own: name them with --url.")
    if given["seconds"] and not given["writers"]:
        raise click.UsageError("--seconds says how long --writers are at work: give both.")
    if (given["reuse"] or given["keep"]) and not given["urls"]:
        raise click.UsageError("--reuse and --keep need a store that stays: name it with --url.")
    if given["reuse"] and len(sizes) > 1:
        raise click.UsageError("--reuse measures with all that is there: give --memories once.")
    if plot is not None and len(sizes) < 2:
        raise click.UsageError("--plot draws how recall grows: give --memories at least twice.")
    if plot is not None and not plot.resolve().parent.is_dir():
        raise InvalidInput(f"The folder {plot.resolve().parent} does not exist: make it first.")


# texts


def _source(file: Path | None, count: int, seed: int, folder: Path) -> Callable[[], Iterator[Draft]]:
    """What to fill the stores with, to be read several times."""
    if file is None:
        from recollect.evaluate import texts

        return partial(texts.drafts, count, seed=seed)
    if str(file) != "-":
        return partial(_read, file, str(file), count)
    import shutil

    kept = folder / "texts"
    with kept.open("wb") as target:
        shutil.copyfileobj(sys.stdin.buffer, target)
    return partial(_read, kept, "standard input", count)


def _read(file: Path, name: str, count: int) -> Iterator[Draft]:
    """Of each line its text, its time and its session."""
    number = 0
    with jsonl.reading(str(file)) as lines:
        lines.name = name
        for record in lines:
            try:
                read = jsonl.draft(record, keep_id=False)
            except InvalidInput as error:
                raise lines.error(error) from error
            yield Draft(read.text, created_at=read.created_at, session=read.session)
            number += 1
            if number == count:
                return
    raise InvalidInput(
        f"{name} has {render.count(number, 'text')}, fewer than --memories {count}: "
        "ask for fewer, or leave out --texts to have them made."
    )


# what is shown


def _shown(report: Report) -> Iterator[str]:
    sizes = " → ".join(f"{size:,}" for size in report.memories)
    yield (
        f"{sizes} memories in {render.count(report.namespaces, 'namespace')} and a small one, "
        f"{render.count(report.questions, 'question')}, {report.dimensions} dimensions"
    )
    if len(report.memories) == 1:
        yield ""
        yield from _beside_each_other(report.stores, report.writes)
        return
    for store in report.stores:
        yield ""
        if len(report.stores) > 1:
            yield render.style(store.url, fg="cyan")
        yield from _growing(store, report.writes)


def _beside_each_other(stores: Sequence[StoreReport], writes: int) -> Iterator[str]:
    """Stores of one size, and how they compare with the first."""
    first, *others = stores
    headers = ["", _short(first.url)]
    for other in others:
        headers += [_short(other.url), "× first"]
    compared = [_figures(other.sizes[0], writes) | _under_load(other) for other in others]
    rows = []
    for name, base in (_figures(first.sizes[0], writes) | _under_load(first)).items():
        cells = [(_number(figures[name]), _ratio(figures[name], base)) for figures in compared]
        rows.append([name, _number(base), *(cell for pair in cells for cell in pair)])
    return render.table(headers, rows, right=range(1, len(headers)))


def _growing(store: StoreReport, writes: int) -> Iterator[str]:
    """A store at several sizes, and how many times the first figure the last one is."""
    columns = [_figures(each, writes) for each in store.sizes]
    last = f"× {store.sizes[-1].memories / store.sizes[0].memories:g}"
    headers = ["", *(f"{each.memories:,}" for each in store.sizes), last]
    rows = [
        [name, *(_number(column[name]) for column in columns), _ratio(columns[-1][name], columns[0][name])]
        for name in columns[0]
    ]
    rows += [
        [name, *[""] * (len(columns) - 1), _number(figure), ""] for name, figure in _under_load(store).items()
    ]
    return render.table(headers, rows, right=range(1, len(headers)))


def _short(url: str, length: int = 32) -> str:
    """The end of a URL says which one it is.

    >>> _short("/a/long/way/to/go/until/the/end/memory.db", 12)
    '…d/memory.db'
    """
    return url if len(url) <= length else "…" + url[1 - length :]


def _figures(of: Measured, writes: int) -> dict[str, float | None]:
    """What stands in a column, by the name of its row."""
    figures: dict[str, float | None] = {
        "bulk write, memories/s": of.written_per_second,
        "settling after it, s": of.settling_seconds,
    }
    for share in ("p50", "p95"):
        figures[f"one durable write, {share} ms"] = getattr(of.write_ms, share)
    for mode, latency in of.recall_ms.items():
        for share in ("p50", "p95", "p99"):
            figures[f"{mode} recall, {share} ms"] = getattr(latency, share)
    looked_at = next(iter(of.recall_ms))
    for narrow, what in ((of.tag, "a tag"), (of.namespace, "a namespace")):
        figures[f"{looked_at} recall in {what} of 1%, p50 ms"] = narrow.recall_ms.p50
        figures[f"{looked_at} recall in {what} of 1%, hits"] = narrow.hits
    after = f"after {render.count(writes, 'write')}"
    figures[f"{looked_at} recall {after}, p50 ms"] = of.after_writes.p50
    figures[f"{looked_at} recall {after}, × before"] = of.slowed_by
    figures["keyword top 10, share that is exact"] = of.exact.keyword if of.exact else None
    figures["semantic top 10, share that is exact"] = of.exact.semantic if of.exact else None
    figures["first keyword answer from the shell, ms"] = of.cold.keyword_ms if of.cold else None
    figures["first hybrid answer of a program, ms"] = of.cold.hybrid_ms if of.cold else None
    figures["resident memory grown by, MB"] = _mega(of.resident_bytes)
    figures["resident memory of a program, MB"] = _mega(of.fresh_resident_bytes)
    figures["size on disk, MB"] = _mega(of.bytes)
    figures["derived beside the database, MB"] = _mega(of.derived_bytes)
    return figures


def _under_load(store: StoreReport) -> dict[str, float | None]:
    if store.load is None:
        return {}
    at_once = render.count(store.load.writers, "writer")
    return {
        f"{at_once}, operations/s": store.load.operations_per_second,
        f"{at_once}, errors": store.load.errors,
        f"{at_once}, acknowledged but lost": store.load.lost,
    }


def _mega(bytes: int | None) -> float | None:
    return None if bytes is None else bytes / 1_000_000


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.2f}" if isinstance(value, float) and abs(value) < 100 else f"{value:,.0f}"


def _ratio(value: float | None, base: float | None) -> str:
    return "–" if not base or value is None else f"{value / base:.2f}"


def _drawn(report: Report) -> str:
    """The medians of each mode, as a picture."""
    from recollect.evaluate import plots

    lines: list[plots.Line] = []
    for store in report.stores:
        whose = f", {_short(store.url)}" if len(report.stores) > 1 else ""
        for mode in store.sizes[0].recall_ms:
            points = [(float(each.memories), each.recall_ms[mode].p50) for each in store.sizes]
            lines.append(plots.Line(f"{mode}{whose}", plots.colour(len(lines)), points))
    return plots.growing(
        "How recall grows: p50 in milliseconds", "recall, p50 in ms, by the number of memories", lines
    )
