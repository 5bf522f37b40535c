"""Commands that find: search, show, timeline, context."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import completing, options, render
from recollect.doors.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Context, Recall


@command()
@click.argument("query", metavar="[QUERY]...", nargs=-1)
@options.limit(10)
@options.recall_options
@click.option(
    "--neighbours", type=int, metavar="N", help="What was said so many places before and after (0 to 20)."
)
@click.option("--why", is_flag=True, help="Explain every score in a table.")
@click.option(
    "--why-not",
    metavar="ID",
    help="Explain why this memory is not among them.",
    shell_complete=completing.ids,
)
def search(door: Door, query: tuple[str, ...], why: bool, why_not: str | None, **given: Any) -> None:
    """Find memories by meaning, by words and by time.

    A time that stands in the query ("last week") is a preference; --timeframe, --since and --until are
    filters. Ends with exit code 1 when nothing was found.

    Without a query it asks for questions on a terminal, and says there what else can be done (help).
    Elsewhere, or with - as the query, it reads questions from standard input, one a line; --json then
    answers each with one line.

    Most of a single search's time goes into loading the model. Sooner: --mode keyword needs none, --quick
    and the embedder static-s need a table, questions asked together load it once, and a running recollect
    serve or recollect mcp has it loaded.

    \b
    Example:
      recollect search which database did we choose for billing
      recollect search "auth decisions last week" --tag security --why
      recollect search --json -l 3 migration_032 | jq -r '.hits[].memory.content'
      recollect search --jsonl deploy | while read -r hit; do echo "$hit" | jq .score; done
      recollect search - --json < questions.txt > answers.jsonl
      recollect search "which port?" --why-not 479312039697
    """
    if why_not is not None:
        given.pop("in_session")
        if query in ((), ("-",)):
            raise click.UsageError("--why-not goes with a query.")
        _explain_absence(door, " ".join(query), why_not, options.recalling(given))
        return
    if query in ((), ("-",)):
        from recollect.doors.cli import asking

        asking.ask(door, why=why, given=given, on_terminal=not query)
        return
    with opened(door) as memories:
        found = within(memories, given.pop("in_session")).recall(" ".join(query), **options.recalling(given))
        tell(door, found, why=why)
    if not found:
        door.nothing("Nothing was found.")


def opened(door: Door) -> Memories:
    """The store, for a question or two: threads for products of matrices would cost more than they save."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported
    return door.open()


def tell(door: Door, found: Recall, *, why: bool, one_of_many: bool = False) -> None:
    """The answer to one question, and what is to be known of it."""
    door.note(*found.notes, *_doubt(found))
    ids = (render.safe(hit.memory.id) for hit in found)
    door.answer(found, ids if door.quiet else _found(found, why), one_of_many=one_of_many)


def _explain_absence(door: Door, query: str, id: str, given: dict[str, Any]) -> None:
    with door.open() as memories:
        answer = memories.why_not(query, memories.find_id(id), **given)
    reasons = answer.reasons or (f"it is returned, at rank {answer.rank}",)
    door.answer(answer, (render.one_line(reason) for reason in reasons))


def _found(found: Recall, why: bool) -> Iterator[str]:
    yield from render.hits(found)
    if why and found:
        from recollect.doors.cli.why import explained

        yield from explained(found)


def _doubt(found: Recall) -> Iterator[str]:
    if found and found.confidence == "weak":
        yield "these may not answer it"
    if found and found.confidence == "none":
        yield "nothing here seems to answer it; these are the nearest"


def within(memories: Memories, session: str | None) -> Memories:
    """The same memories, in a session if there is one."""
    return memories if session is None else memories.in_session(session)


@command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.ids)
def show(door: Door, ids: tuple[str, ...]) -> None:
    """Show memories in full, with their relations.

    An id may be shortened to its last characters, as search prints it. With --json: a list, also for one.

    \b
    Example:
      recollect show 479312039697
    """
    from recollect.doors.plain import plain

    with door.open() as memories:
        found = memories.get([memories.find_id(id) for id in ids])
        edges = [memories.relations(memory.id) for memory in found]
    both = list(zip(found, edges, strict=True))
    door.answer(
        [plain(memory) | {"relations": plain(relations)} for memory, relations in both],
        chain.from_iterable((*([""] if i else []), *render.whole(*each)) for i, each in enumerate(both)),
    )


@command()
@click.argument("id", metavar="[ID]", required=False, shell_complete=completing.ids)
@click.option("--before", type=int, metavar="N", help="How many before ID (5).")
@click.option("--after", type=int, metavar="N", help="How many after ID (5).")
@options.limit(100)
@options.filters
def timeline(door: Door, id: str | None, before: int | None, after: int | None, **given: Any) -> None:
    """Show what was remembered around a memory, or within a time.

    Without ID and filters: the latest. Oldest first.

    \b
    Example:
      recollect timeline 479312039697 --before 3 --after 3
      recollect timeline --timeframe "last week" --tag decision
    """
    wanted, places = options.chosen(given), options.chosen({"before": before, "after": after})
    if wanted if id is not None else places:
        raise click.UsageError("--before and --after go with an ID, all other options go without one.")
    with door.open() as memories:
        if id is not None:
            found = memories.timeline(memories.find_id(id), **places)
            door.answer(found, render.around(found))
            return
        previews = memories.timeline(**_interval(wanted))
    door.answer(previews, render.previews(previews))
    if not previews:
        door.nothing("Nothing was found.")


def _interval(wanted: dict[str, Any]) -> dict[str, Any]:
    """A timeframe in words as since and until."""
    phrase = wanted.pop("timeframe", None)
    if phrase is None:
        return wanted
    if "since" in wanted or "until" in wanted:
        raise click.UsageError("Give either --timeframe or --since and --until, not both.")
    from recollect.query.timeframe import parse_timeframe

    frame = parse_timeframe(phrase, datetime.now(UTC))
    return {**wanted, "since": frame.start, "until": frame.end}


@command()
@click.argument("query", metavar="QUERY...", nargs=-1, required=True)
@click.option("--max-tokens", type=int, default=1000, metavar="N", help="The budget, 50 to 1000000 (1000).")
@options.limit(50)
@options.recall_options
def context(
    door: Door, query: tuple[str, ...], max_tokens: int, in_session: str | None, **given: Any
) -> None:
    """Assemble the best memories for a prompt.

    Takes what answers best while it fits the budget, oldest first, dated, with ids, and quoted as data. With
    - as the query, all of standard input is one question.

    \b
    Example:
      recollect context "how do we deploy" --max-tokens 800 >> prompt.txt
      recollect context - --max-tokens 800 < task.txt
    """
    with opened(door) as memories:
        asked = options.read_text(" ".join(query))
        found = within(memories, in_session).context(asked, max_tokens, **options.recalling(given))
        door.note(*found.notes)
        door.answer(found, _assembled(found))
    if not found.memories:
        door.nothing("Nothing fits the budget." if found.left_out else "Nothing was found.")
    if found.left_out:
        door.note(f"{render.count(found.left_out, 'memory', 'memories')} left out: the budget is used up.")


def _assembled(found: Context) -> Iterator[str]:
    """As it is for a file or a program, safe for a terminal."""
    if found.text:
        yield render.safe(found.text) if render.on_terminal() else found.text
