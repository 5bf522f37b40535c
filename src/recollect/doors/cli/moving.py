"""Commands that bring in and take out: ingest, import, export."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect import folders
from recollect.doors.cli import jsonl, options, render
from recollect.doors.cli.door import Door, command
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Ingested


def _file(**settings: Any) -> click.Path:
    """A file or -; whether it may be read or written is found out by doing so."""
    return click.Path(dir_okay=False, allow_dash=True, readable=False, **settings)


@command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=options.file_type(exists=True, allow_dash=True)
)
@click.option("--name", metavar="NAME", help="What to call it, if not by its path; needed for -.")
@click.option("--meta", "metadata", multiple=True, metavar="KEY=VALUE", help="Kept with it; may be repeated.")
def ingest(door: Door, paths: tuple[Path, ...], name: str | None, metadata: tuple[str, ...]) -> None:
    """Take in documents, split into passages: files, folders, or standard input (-).

    In folders, all .md, .markdown, .rst and .txt files that are not hidden. A document that is there
    already is replaced when its text has changed. Found with search --documents.

    \b
    Example:
      recollect ingest README.md docs/
      curl -s https://example.org/notes.md | recollect ingest - --name notes
    """
    files = [file for path in paths for file in folders.documents(path)]
    if name is None and Path("-") in files:
        raise click.UsageError("Say what to call what comes from standard input: --name NAME.")
    if name is not None and len(files) > 1:
        raise click.UsageError("--name goes with one document alone.")
    if not files:
        door.nothing(f"There is no document in there: only {', '.join(folders.SUFFIXES)} files are taken.")
    extra = options.pairs(metadata)
    with door.open(create=True) as memories, door.progress() as progress:
        done, troubles = [], []
        for file in files:
            try:
                source = options.read_text("-") if file == Path("-") else file
                done.append(memories.ingest(source, name=name, metadata=extra, progress=progress))
            except InvalidInput as error:
                troubles.append(error)
    door.answer(done, map(_ingested, done))
    if troubles:
        for trouble in troubles[:-1]:
            click.echo(f"Error: {render.one_line(str(trouble))}", err=True)
        raise troubles[-1]


def _ingested(done: Ingested) -> str:
    document = done.document
    passages = render.count(document.passages, "passage")
    return f"{render.one_line(document.name)}  {done.outcome}, {passages}"


@command()
def documents(door: Door) -> None:
    """List the documents of the namespace, and how many passages each has.

    \b
    Example:
      recollect documents
    """
    with door.open() as memories:
        found = memories.documents()
    rows = [(each.name, f"{each.passages:,}", render.when(each.updated_at)) for each in found]
    door.answer(found, render.table(("document", "passages", "taken in"), rows, right=(1,)) if rows else ())
    if not found:
        door.nothing("There are no documents yet: recollect ingest takes some in.")


@command(name="import")
@click.argument("file", metavar="FILE", type=_file(exists=True))
@click.option("--keep-ids", is_flag=True, help="Take over the ids of foreign records (else metadata).")
@click.option("--keep-duplicates", is_flag=True, help="Add foreign records whose text is there already.")
def import_(door: Door, file: str, keep_ids: bool, keep_duplicates: bool) -> None:
    """Bring in JSON lines: an export of Recollect, or any with a text; .gz too, - for standard input.

    An export is restored as it was, all or nothing; memories that are there already are left alone.
    Of other lines, text or content is the memory; created_at or timestamp, session, speaker or role,
    tags, importance and the other fields of a memory are understood, and the rest goes to its metadata.

    \b
    Example:
      recollect import backup.jsonl.gz
      recollect import - --keep-ids < conversation.jsonl
    """
    with jsonl.reading(file) as lines, door.open(create=True) as memories:
        records = iter(lines)
        first = next(records, None)
        if first is None:
            raise InvalidInput(f"{lines.name} is empty: nothing was imported.")
        if jsonl.is_ours(first):
            counts = _restore(memories, lines, records)
        else:
            how = "keep" if keep_duplicates else "reinforce"
            counts = _add(door, memories, lines, chain((first,), records), how, keep_ids)
    told = ", ".join(f"{what} {number:,}" for what, number in counts.items())
    door.answer(counts, f"imported: {told or 'nothing'}")


def _restore(
    memories: Memories, lines: jsonl.Lines, records: Iterable[Mapping[str, Any]]
) -> Mapping[str, int]:
    try:
        return memories.import_records(records)
    except InvalidInput as error:
        said = str(error)
        raise (
            error if said.startswith(lines.name) else lines.error(f"{said} Nothing was imported.")
        ) from error


def _add(
    door: Door,
    memories: Memories,
    lines: jsonl.Lines,
    records: Iterable[Mapping[str, Any]],
    on_duplicate: Any,
    keep_ids: bool,
) -> Mapping[str, int]:
    """Every line is looked at before the first is written."""
    drafts, numbers = [], []
    for record in records:
        try:
            drafts.append(jsonl.draft(record, keep_id=keep_ids))
        except InvalidInput as error:
            raise lines.error(error) from error
        numbers.append(lines.number)
    try:
        with door.progress() as progress:
            done = memories.remember_many(drafts, on_duplicate=on_duplicate, progress=progress)
    except InvalidInput as error:
        which = re.match(r"Draft ([\d,]+): (.*)", str(error), re.DOTALL)
        if which is None:
            raise
        raise lines.error(which[2], numbers[int(which[1].replace(",", "")) - 1]) from error
    return Counter(each.outcome for each in done)


@command()
@click.argument("file", metavar="[FILE]", default="-", type=_file())
@click.option("--vectors", is_flag=True, help="The vectors too, so that nothing needs to be embedded anew.")
def export(door: Door, file: str, vectors: bool) -> None:
    """Write everything in the namespace as JSON lines, losing nothing; to standard output without FILE.

    A file is there complete or not at all, and compressed if its name ends in .gz.

    \b
    Example:
      recollect export backup.jsonl.gz --vectors
      recollect -n proj1 export | recollect -n proj2 import -
    """
    with door.open() as memories:
        records = memories.export_records(vectors=vectors)
        if file == "-":
            jsonl.write(records, sys.stdout)
            return
        number = jsonl.write_file(records, Path(file))
    door.answer({"file": file, "records": number}, f"{render.safe(file)}  {render.count(number, 'record')}")
