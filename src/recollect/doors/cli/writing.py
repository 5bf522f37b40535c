"""Commands that write: add, supersede, relate, forget, restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import completing, options, render
from recollect.doors.cli.door import Door, command
from recollect.types import SECTORS, TIERS, TRUSTS

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Receipt, Remembered


@command()
@click.argument("text", metavar="TEXT")
@click.option(
    "--session",
    metavar="ID",
    help="The session it belongs to; made when it is not there.",
    shell_complete=completing.sessions,
)
@click.option(
    "--speaker",
    metavar="NAME",
    help="Who said it; makes it a turn that is never merged.",
    shell_complete=completing.speakers,
)
@click.option("--at", "created_at", metavar="WHEN", help="When it was, if not now (UTC).")
@click.option(
    "--sector", type=click.Choice(SECTORS), help="What kind of memory; read from the text if not given."
)
@click.option("--tier", type=click.Choice(TIERS), help="How far it reaches (project).")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="A tag; may be repeated.",
    shell_complete=completing.tags,
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="A file it speaks of; may be repeated.",
    shell_complete=completing.files,
)
@click.option("--importance", type=float, metavar="X", help="0 to 1: where its salience starts (0.5).")
@click.option("--summary", metavar="TEXT", help="A shorter text, shown in timelines (- for standard input).")
@click.option(
    "--meta", "metadata", multiple=True, metavar="KEY=VALUE", help="Anything else; may be repeated."
)
@click.option("--source", metavar="NAME", help="Where it comes from.")
@click.option("--trust", type=click.Choice(TRUSTS), help="How far to trust it (normal).")
@click.option("--language", metavar="CODE", help="Its language, such as en or de; detected if not given.")
@click.option("--valid-from", metavar="WHEN", help="Since when it holds.")
@click.option("--valid-until", metavar="WHEN", help="Until when it holds.")
@click.option("--expires", "expires_at", metavar="WHEN", help="When it goes: a date, or a span such as 30d.")
@click.option("--id", metavar="ID", help="An id of your own.")
@click.option("--keep-duplicates", is_flag=True, help="Add it even if the same text is there already.")
def add(door: Door, text: str, keep_duplicates: bool, **given: Any) -> None:
    """Remember a text, or what comes from standard input (TEXT is -).

    The same text again makes the memory that is there more salient instead of adding a double.

    \b
    Example:
      recollect add "We chose PostgreSQL 17.2 for billing" --tag database --importance 0.8
      git log -1 --format=%B | recollect add - --session today --meta branch=main
    """
    fields = options.chosen(given)
    if "summary" in fields:
        if text == fields["summary"] == "-":
            raise click.UsageError("Standard input can't be both TEXT and --summary.")
        fields["summary"] = options.read_text(fields["summary"])
    fields["metadata"] = options.pairs(given["metadata"])
    fields["expires_at"] = options.expiry(given["expires_at"])
    with door.open(create=True) as memories:
        done = memories.remember(
            options.read_text(text), on_duplicate="keep" if keep_duplicates else "reinforce", **fields
        )
    door.answer(done, done.id if door.quiet else _outcome(done))
    door.note(*_remarks(done))


def _outcome(done: Remembered) -> str:
    return f"{render.safe(done.id)}  {done.outcome}"


def _remarks(done: Remembered) -> Iterator[str]:
    if done.outcome == "reinforced":
        yield "The same text was there already: it is more salient now."
    if done.near_duplicates:
        yield f"Much like {', '.join(map(render.short, done.near_duplicates))}: linked, not merged."
    if not done.embedded and done.outcome == "added":
        yield "Kept without a vector: found by its words until recollect reembed gives it one."


@command()
@click.argument("old", metavar="OLD", shell_complete=completing.ids)
@click.argument("new", metavar="[NEW]", required=False, shell_complete=completing.ids)
@click.option("--text", metavar="TEXT", help="Add this text (- for standard input) and let it be NEW.")
@click.option("--at", metavar="WHEN", help="When OLD ceased to hold, if not when NEW began to.")
def supersede(door: Door, old: str, new: str | None, text: str | None, at: str | None) -> None:
    """Let one memory take the place of another.

    OLD is left out of searches from then on, and says by what it was superseded.

    \b
    Example:
      recollect supersede 479312039697 8a1b0c2d4e6f
      recollect supersede 479312039697 --text "We moved billing to PostgreSQL 18"
    """
    if (new is None) == (text is None):
        raise click.UsageError("Give either NEW, the id of a memory, or --text with a new one.")
    from recollect.times import moment_or_none

    until = moment_or_none(at)
    with door.open() as memories:
        before = memories.find_id(old)
        after = memories.find_id(new) if new else memories.remember(options.read_text(text or "")).id
        memories.supersede(before, after, at=until)
    door.answer(
        {"old": before, "new": after},
        after if door.quiet else f"{render.short(after)} supersedes {render.short(before)}",
    )


@command()
@click.argument("ids", metavar="A [B]", nargs=-1, required=True, shell_complete=completing.ids)
@click.option("--type", "kind", metavar="TYPE", help="How they are related (related_to).")
@click.option("--origin", metavar="NAME", help="Who says so (user).")
@click.option("--list", "listing", is_flag=True, help="List the relations of A instead.")
@click.option("--remove", is_flag=True, help="Remove the relation from A to B instead.")
def relate(
    door: Door, ids: tuple[str, ...], kind: str | None, origin: str | None, listing: bool, remove: bool
) -> None:
    """Draw a relation from one memory to another, or list those of one.

    \b
    Example:
      recollect relate 479312039697 8a1b0c2d4e6f --type caused_by
      recollect relate --list 479312039697
    """
    if len(ids) != (1 if listing else 2):
        raise click.UsageError("Give one id with --list, two ids without.")
    if (listing and (kind or origin or remove)) or (remove and origin):
        raise click.UsageError("--list goes with no other option, --remove with --type alone.")
    with door.open() as memories:
        found = [memories.find_id(id) for id in ids]
        if listing:
            relations = memories.relations(found[0])
            door.answer(relations, (render.edge(each) for each in relations))
            if not relations:
                door.nothing("It has no relations.")
        elif remove:
            removed = memories.unrelate(found[0], found[1], kind)
            door.answer({"removed": removed}, f"{render.count(removed, 'relation')} removed")
        else:
            relation = memories.relate(*found, **options.chosen({"type": kind, "origin": origin}))
            door.answer(relation, render.edge(relation))


@command()
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completing.ids)
@click.option(
    "--session",
    multiple=True,
    metavar="ID",
    help="Everything of this session.",
    shell_complete=completing.sessions,
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Everything with this tag; several: with all.",
    shell_complete=completing.tags,
)
@click.option(
    "--speaker",
    multiple=True,
    metavar="NAME",
    help="Everything said by this speaker.",
    shell_complete=completing.speakers,
)
@options.SINCE
@options.UNTIL
@click.option(
    "--document",
    metavar="NAME",
    help="This document with its passages.",
    shell_complete=completing.documents,
)
@click.option("--expired", is_flag=True, help="Everything that has expired.")
@click.option("--everything", is_flag=True, help="Everything in the namespace.")
@click.option("--soft", is_flag=True, help="Hide the memories with these ids; restore brings them back.")
@options.YES
def forget(
    door: Door,
    ids: tuple[str, ...],
    document: str | None,
    expired: bool,
    everything: bool,
    soft: bool,
    yes: bool,
    **filters: Any,
) -> None:
    """Remove memories for good, with all that was derived from them.

    Say which in one way: by ids, by filters (all of them must hold), --document, --expired or
    --everything. It asks on a terminal; elsewhere anything but ids needs --yes. With --soft nothing is
    removed: the memories are hidden until they are restored.

    \b
    Example:
      recollect forget 479312039697
      recollect forget --session scratch --until 2026-01-01 --yes
    """
    wanted = options.chosen(filters)
    ways = (bool(ids), bool(wanted), document is not None, expired, everything)
    if sum(ways) != 1:
        raise click.UsageError(
            "Say what to forget in one way: ids, filters, --document, --expired or --everything."
        )
    if soft and not ids:
        raise click.UsageError("--soft hides memories by their ids: give ids.")
    with door.open() as memories:
        found = [memories.find_id(id) for id in ids]
        if soft:
            hidden = memories.delete(found)
            door.answer({"hidden": hidden}, f"{render.count(hidden, 'memory', 'memories')} hidden")
            return
        _confirm(yes, bool(ids), _said(found, wanted, document, expired), memories.namespace)
        if document is not None:
            receipt = memories.forget_document(document)
        else:
            receipt = _forget(memories, found, wanted, expired=expired, everything=everything)
    door.answer(receipt, _receipt(receipt))
    if wanted and not (receipt.memories or receipt.sessions):
        door.nothing("Nothing was forgotten: nothing is like that here.")


def _forget(
    memories: Memories, ids: list[str], filters: Mapping[str, Any], *, expired: bool, everything: bool
) -> Receipt:
    return memories.forget(ids or None, expired=expired, everything=everything, **filters)


def _said(ids: list[str], filters: Mapping[str, Any], document: str | None, expired: bool) -> str:
    if ids:
        return render.count(len(ids), "memory", "memories")
    if filters:
        given = (", ".join(value) if isinstance(value, tuple) else value for value in filters.values())
        return "everything with " + ", ".join(
            f"{name} {value}" for name, value in zip(filters, given, strict=True)
        )
    if document is not None:
        return f"the document {document}"
    return "everything that has expired" if expired else "EVERYTHING"


def _confirm(yes: bool, by_id: bool, what: str, namespace: str) -> None:
    if yes:
        return
    if sys.stdin.isatty():
        question = f"Forget {what} in the namespace {namespace} for good?"
        if not click.confirm(render.one_line(question), err=True):
            click.echo("Nothing was forgotten.", err=True)
            raise click.exceptions.Exit(1)
    elif not by_id:
        raise click.UsageError("There is no terminal to ask on: say --yes to forget more than single ids.")


def _receipt(receipt: Receipt) -> str:
    parts = [
        render.count(receipt.documents, "document") if receipt.documents else "",
        render.count(receipt.memories, "memory", "memories"),
        render.count(receipt.keyword_entries, "keyword entry", "keyword entries"),
        render.count(receipt.vectors, "vector"),
        render.count(receipt.session_links, "session link"),
        render.count(receipt.relations, "relation"),
    ]
    return "forgotten: " + ", ".join(part for part in parts if part)


@command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.ids)
def restore(door: Door, ids: tuple[str, ...]) -> None:
    """Bring back memories that were hidden with forget --soft.

    \b
    Example:
      recollect restore 479312039697
    """
    with door.open() as memories:
        restored = memories.restore([memories.find_id(id) for id in ids])
    door.answer({"restored": restored}, f"{render.count(restored, 'memory', 'memories')} restored")
