"""Tools that write: remember, supersede, relate, forget."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from recollect.doors.cli.render import count, one_line
from recollect.doors.mcp import parameters as given
from recollect.doors.mcp.output import answer, failure, named, trimmed
from recollect.doors.mcp.visits import Request, Visits
from recollect.doors.plain import plain
from recollect.errors import InvalidInput
from recollect.memories import Memories
from recollect.memories.finding import preview
from recollect.types import DraftFields, Receipt, Remembered

KEPT = "Nothing was removed."
LONGEST_RECORD = 2_000
"""In bytes, for what became of a text."""
SHOWN = 5
"""How many memories a question to the user quotes."""


class Agreement(BaseModel):
    """What the user answers."""

    forget: bool = Field(description="Remove these memories for good.")


def asked(request: Request, ids: given.Ids, confirm: given.Confirm) -> Elicit[Agreement] | Agreement:
    """The question to the user where the client can ask it; else what the call itself says."""
    if not _can_ask(request):
        if not confirm:
            raise InvalidInput(f"Ask the user first, then call forget again with confirm=true. {KEPT}")
        return Agreement(forget=True)
    visits: Visits = request.request_context.lifespan_context
    found = visits.memories.get([visits.memories.find_id(id) for id in ids])
    lines = [f'- "{one_line(preview(memory).text)}" ({named(memory.id)})' for memory in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"- and {len(found) - SHOWN} more")
    things = count(len(found), "memory", "memories")
    return Elicit("\n".join([f"Forget {things} for good?", *lines]), Agreement)


def _can_ask(request: Request) -> bool:
    declared = request.client_capabilities
    asking = declared.elicitation if declared else None
    return asking is not None and (asking.form is not None or asking.url is None)


class Writing:
    """The tools that change what is remembered."""

    def __init__(self, memories: Memories, *, can_supersede: bool) -> None:
        self._memories = memories
        self._can_supersede = can_supersede

    def remember(
        self,
        request: Request,
        text: given.Text,
        tags: given.NewTags = [],  # noqa: B006  # a default of the schema, never changed
        sector: given.NewSector = "",
        importance: given.Importance = 0.5,
        files: given.Files = [],  # noqa: B006
        source: given.Source = "",
        trust: given.GivenTrust = "normal",
        speaker: given.SaidBy = "",
        expires_at: given.Expires = "",
    ) -> CallToolResult:
        """Keep something for later conversations: a decision and its reason, a fact, a preference, a lesson.

        Call it as soon as you learn it, once for each thing. Keep no secrets, and nothing that the code or
        the documents already say. The same text again only makes the memory stronger. Gives the id, and
        those of memories that say nearly the same.
        """
        visits: Visits = request.request_context.lifespan_context
        fields: DraftFields = {
            "tags": tags,
            "sector": given.sector_or_none(sector),
            "importance": importance,
            "files": files,
            "source": source or None,
            "trust": trust,
            "speaker": speaker or None,
            "expires_at": expires_at or None,
        }
        done = visits.memories_of(request).remember(text, **fields)
        return answer(
            self._outcome(done), trimmed(plain(done), LONGEST_RECORD, keep=("id", "outcome", "embedded"))[0]
        )

    def _outcome(self, done: Remembered) -> str:
        said = f"Remembered as {named(done.id)}."
        if done.outcome == "reinforced":
            said = f"The same text was remembered already, as {named(done.id)}: it counts for more now."
        if done.near_duplicates:
            said += f" Much like {', '.join(map(named, done.near_duplicates[:3]))}"
            said += ": if it takes their place, supersede them." if self._can_supersede else "."
        if not done.embedded and done.outcome == "added":
            said += " It is found by its words until it has a vector."
        return said

    def supersede(
        self, request: Request, old: given.Old, new: given.New = "", text: given.NewText = ""
    ) -> CallToolResult:
        """Let a newer memory, given by id or as a new text, take the place of one that no longer holds.

        Call it when something changed: another decision, a corrected fact. The old one is kept as history
        and left out of searches.
        """
        if bool(new) == bool(text):
            raise InvalidInput("Give either new, the id of a memory, or text, not both.")
        before = self._memories.find_id(old)
        if text:
            visits: Visits = request.request_context.lifespan_context
            after = visits.memories_of(request).remember(text).id
        else:
            after = self._memories.find_id(new)
        self._memories.supersede(before, after)
        return answer(f"{named(after)} supersedes {named(before)}.", {"old": before, "new": after})

    def relate(
        self, source: given.From, target: given.To, type: given.RelationType = "related_to"
    ) -> CallToolResult:
        """Note how one memory is related to another; get shows it with both.

        Call it when two memories explain each other. Doing it again changes nothing.
        """
        found = self._memories.find_id(source), self._memories.find_id(target)
        relation = self._memories.relate(*found, type=type, origin="agent")
        return answer(
            f"{named(relation.source)} {named(relation.type)} {named(relation.target)}.", plain(relation)
        )

    def forget(
        self,
        ids: given.Ids,
        agreement: Annotated[ElicitationResult[Agreement], Resolve(asked)],
        confirm: given.Confirm = False,
    ) -> CallToolResult:
        """Remove memories for good, by their ids, with all that was derived from them. It can't be undone.

        Call it only when the user wants something gone. What merely changed is superseded instead. The user
        is asked first where the client can do that; else ask yourself, and give confirm=true.
        """
        if not isinstance(agreement, AcceptedElicitation) or not agreement.data.forget:
            return failure(f"The user did not agree. {KEPT}")
        receipt = self._memories.forget([self._memories.find_id(id) for id in ids])
        return answer(_removed(receipt), plain(receipt))


def _removed(receipt: Receipt) -> str:
    counted = [_counted(number, name.replace("_", " ")) for name, number in plain(receipt).items() if number]
    return f"Removed for good: {', '.join(counted) or 'nothing'}."


def _counted(number: int, names: str) -> str:
    """A number of things.

    >>> _counted(1, "memories"), _counted(1, "vectors"), _counted(2, "vectors")
    ('1 memory', '1 vector', '2 vectors')
    """
    one = f"{names[:-3]}y" if names.endswith("ies") else names.removesuffix("s")
    return f"{number} {one if number == 1 else names}"
