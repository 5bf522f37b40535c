"""What a shell offers at Tab: namespaces, ids, sessions, tags … of the store that the line names.

It never makes a store, loads no model, says nothing when something is wrong, and gives up after a moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from recollect.memories import Memories

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
Offers = Iterable[tuple[str, str]]
"""Values, each with a few words on it."""

PATIENCE = 2.0
"""How many seconds somebody who pressed Tab is kept waiting by a store that does not answer."""
RECENT = 50
LOOKED_AT = 1_000
"""How many of the latest memories are looked at for their tags and speakers."""
EMBEDDERS = {
    "auto": "the model that the store was written with, else the best one installed",
    "none": "no vectors: search by keyword alone",
    "arctic-s": "a small model, run here",
    "static-s": "a table of words: quick, and less exact",
    "hash": "made from the letters, for tests",
    "ollama:nomic-embed-text": "a model that Ollama runs",
    "openai:text-embedding-3-small": "OpenAI, or a server that speaks its protocol",
    "fastembed:BAAI/bge-small-en-v1.5": "a model that fastembed runs here",
    "sentence-transformers:all-MiniLM-L6-v2": "a model that sentence-transformers runs here",
}


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell itself knows best."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def embedders(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of embedders."""
    return _items(EMBEDDERS.items(), incomplete)


def _of_the_store(offers: Callable[[Memories, str], Offers]) -> Completer:
    """What the store that is named on the line has to offer."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from recollect.doors.cli.door import Door

        door = context.find_object(Door) or Door()
        found: list[CompletionItem] = []

        def look() -> None:
            with suppress(RecollectError, OSError), door.open(create=False) as memories:
                found.extend(_items(offers(memories, incomplete), incomplete))

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(PATIENCE)
        return [] if looking.is_alive() else found

    return complete


def _items(offers: Offers, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from recollect.doors.cli.render import one_line

    return [
        CompletionItem(value, help=one_line(about, 80))
        for value, about in dict(offers).items()
        if value.startswith(incomplete) and one_line(value) == value
    ]


def _ids(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    """The latest, by the ends of their ids as search prints them; in full for who began one in full."""
    from recollect.doors.cli.render import short, when

    for preview in reversed(memories.timeline(limit=RECENT, kind=("memory", "passage"))):
        ending = short(preview.id)
        is_full = not ending.startswith(incomplete)
        yield preview.id if is_full else ending, f"{when(preview.created_at)} {preview.text}"


def _sessions(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    from recollect.doors.cli.render import when

    for session in memories.sessions(limit=RECENT):
        yield session.id, f"{when(session.started_at)} {session.summary or session.agent or ''}"


def _tags(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    for preview in reversed(memories.timeline(limit=LOOKED_AT)):
        yield from ((tag, "") for tag in preview.tags)


def _speakers(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    for preview in reversed(memories.timeline(limit=LOOKED_AT)):
        if preview.speaker:
            yield preview.speaker, ""


def _namespaces(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    from recollect.doors.cli.render import count

    for name, number in memories.namespaces().items():
        yield name, count(number, "memory", "memories")


def _documents(memories: Memories, incomplete: str) -> Iterator[tuple[str, str]]:
    for document in memories.documents():
        yield document.name, document.title


def mind_bash() -> None:
    """Make bash get values quoted, if they need it: other shells do that themselves."""
    from shlex import quote

    from click.shell_completion import BashComplete, add_completion_class

    class Bash(BashComplete):
        def format_completion(self, item: CompletionItem) -> str:
            return f"{item.type},{quote(item.value) if item.type == 'plain' else item.value}"

    add_completion_class(Bash)


namespaces = _of_the_store(_namespaces)
ids = _of_the_store(_ids)
sessions = _of_the_store(_sessions)
tags = _of_the_store(_tags)
speakers = _of_the_store(_speakers)
documents = _of_the_store(_documents)
