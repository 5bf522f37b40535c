"""Tools that find: timeline, search, get, context, sessions."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult

from recollect.assembling import DOUBT
from recollect.doors.cli.render import count
from recollect.doors.mcp import parameters as given
from recollect.doors.mcp.output import (
    BYTES_OF_A_TOKEN,
    NOTHING,
    RESERVED,
    Page,
    Record,
    answer,
    in_bytes,
    named,
    parts,
    said,
    trimmed,
)
from recollect.doors.mcp.texts import hit_ways, part_ways, preview_ways, session_ways
from recollect.doors.mcp.visits import Request, Visits
from recollect.doors.plain import plain
from recollect.errors import InvalidInput
from recollect.memories import Memories
from recollect.memories.finding import preview
from recollect.types import Preview, Recall, Timeline


class Finding:
    """The tools that change nothing but what counts as used."""

    def __init__(self, memories: Memories, max_tokens: int) -> None:
        self._memories = memories
        self._max_tokens = max_tokens
        self._room = max_tokens * BYTES_OF_A_TOKEN - RESERVED

    def timeline(
        self,
        id: given.Around = "",
        before: given.Places = 5,
        after: given.Places = 5,
        timeframe: given.Timeframe = "",
        tags: given.Tags = [],  # noqa: B006  # a default of the schema, never changed
        session: given.Session = "",
        limit: given.Limit = 20,
        offset: given.Offset = 0,
    ) -> CallToolResult:
        """See what happened: the latest memories, those of a time, or those around one id, oldest first.

        Call it to catch up ("what did we do last week?") or to see what led to a memory and what came of it.
        Gives id, time, kind, tags and a preview of 100 characters each. Then get the ids that matter. For a
        question about a subject, search instead.
        """
        filters = _chosen(timeframe=timeframe, tags=tags, session=session)
        if id:
            if filters or offset:
                raise InvalidInput(
                    "With an id give before and after alone: no timeframe, tags, session or offset."
                )
            return self._around(self._memories.timeline(self._memories.find_id(id), before, after))
        found = self._memories.timeline(limit=limit + offset, **filters)
        newest = list(reversed(found))[offset:]
        page = Page(self._max_tokens, "previews", {"anchor": None})
        for each in newest:
            if not page.add(*preview_ways(each), first=True):
                break
        return page.answer(_further("timeline", "Earlier ones", offset, page, newest, limit))

    def _around(self, found: Timeline) -> CallToolResult:
        middle = preview(found.anchor)
        page = Page(self._max_tokens, "previews", {"anchor": middle.id})
        page.add(*preview_ways(middle, is_anchor=True))
        earlier = [preview(memory) for memory in reversed(found.before)]
        later = [preview(memory) for memory in found.after]
        ends: dict[bool, Preview] = {True: middle, False: middle}
        left_out = False
        for place in range(max(len(earlier), len(later))):
            for side, in_front in ((earlier, True), (later, False)):
                if place < len(side) and not left_out:
                    left_out = not page.add(*preview_ways(side[place]), first=in_front)
                    ends[in_front] = ends[in_front] if left_out else side[place]
        outer = " or ".join(dict.fromkeys(named(end.id) for end in ends.values()))
        return page.answer(f"Further ones: call timeline around {outer}." if left_out else "")

    def search(
        self,
        request: Request,
        query: given.Query,
        limit: given.Limit = 10,
        offset: given.Offset = 0,
        timeframe: given.Timeframe = "",
        tags: given.Tags = [],  # noqa: B006
        session: given.Session = "",
        speaker: given.Speaker = "",
        include_superseded: given.Superseded = False,
        include_documents: given.Documents = False,
        detail: given.Detail = "snippets",
    ) -> CallToolResult:
        """Find what is remembered about something, by meaning and words: ids, scores, snippets, best first.

        Call it at the start of a task, and before you decide, assume or ask the user something that may have
        been settled. Then get the ids whose snippets look right. It says how sure it is: where an answer does
        not seem to be there, say so instead of guessing. Nothing found? Try other words, or no filters.
        """
        filters = _chosen(
            timeframe=timeframe,
            tags=tags,
            session=session,
            speaker=speaker,
            include_superseded=include_superseded,
            include_documents=include_documents,
        )
        visits: Visits = request.request_context.lifespan_context
        found = visits.memories_of(request).recall(
            query,
            limit=limit + offset,
            reinforce=offset == 0,  # those before were counted with the first page
            **filters,
        )
        return self._found(found, limit, offset, in_full=detail == "full")

    def _found(self, found: Recall, limit: int, offset: int, *, in_full: bool) -> CallToolResult:
        content: Record = plain(found)
        del content["hits"]
        content, _ = trimmed(content, max(1_000, self._room // 3), keep=("confidence",))
        page = Page(self._max_tokens, "hits", content, DOUBT[found.confidence])
        wanted, shortened = list(found)[offset:], 0
        for hit in wanted:
            ways = list(hit_ways(hit, in_full=in_full))
            if not page.add(*ways):
                break
            shortened += not page.shows(ways[0])
        hint = f"{count(shortened, 'hit')} shortened for lack of room: get them by id." if shortened else ""
        further = _further("search", "Further hits", offset, page, wanted, limit)
        is_short = bool(shortened) or len(page) < len(wanted)
        return page.answer(hint, further, notes=found.notes, is_short=is_short)

    def get(self, ids: given.Ids, part: given.Part = 1) -> CallToolResult:
        """Read memories in full, by the ids that timeline, search or another memory gave.

        Get only what you need: snippets are often enough. Gives whole texts with where they come from, how
        far to trust them, what superseded them and how they are related. A long text comes in parts.
        """
        wanted = [self._memories.find_id(id) for id in ids]
        if part > 1 and len(wanted) > 1:
            raise InvalidInput("Ask for a part of one memory at a time: give one id.")
        page, longest, hints = Page(self._max_tokens, "memories"), self._room // 2, []
        found = self._memories.get(wanted)
        for memory in found:
            pieces = parts(memory.content, longest)
            if part > len(pieces):
                raise InvalidInput(f"The text has {count(len(pieces), 'part')}: ask for one of those.")
            which = {"part": part, "parts": len(pieces)} if len(pieces) > 1 else {}
            relations = self._memories.relations(memory)
            size = page.left - (in_bytes({"": pieces[part - 1]}) + 20)
            ways = list(part_ways(memory, relations, pieces[part - 1], which, size))
            if (len(page) and len(pieces) > 1) or not page.add(*ways):
                break
            if part < len(pieces):
                hints.append(
                    f"The text goes on: get {named(memory.id)} with part={part + 1} of {len(pieces)}."
                )
        left = [named(memory.id) for memory in found[len(page) :]]
        if left:
            hints.append(f"There was no room for {len(left)}: get {', '.join(left)}.")
        return page.answer(*hints)

    def context(
        self,
        request: Request,
        query: given.Query,
        max_tokens: given.ContextTokens = 1_000,
        timeframe: given.Timeframe = "",
        tags: given.Tags = [],  # noqa: B006
    ) -> CallToolResult:
        """Gather what is remembered about something as one text: whole memories, oldest first, in a budget.

        Call it instead of search and get when you want background on a subject at once.
        """
        visits: Visits = request.request_context.lifespan_context
        memories = visits.memories_of(request)
        budget = min(max_tokens, self._room // BYTES_OF_A_TOKEN)
        while True:
            found = memories.context(query, budget, **_chosen(timeframe=timeframe, tags=tags))
            content: Record = plain(found) | {"memories": [{"id": memory.id} for memory in found.memories]}
            if in_bytes(content) <= self._room or budget < 100:
                break
            budget = budget * 2 // 3
        left = f"{count(found.left_out, 'memory', 'memories')} left out: search finds them."
        hint = left if found.left_out else ""
        return answer((found.text or NOTHING) + said(*found.notes, hint), content)

    def sessions(self, limit: given.Limit = 10, offset: given.Offset = 0) -> CallToolResult:
        """List earlier sessions, newest first: id, agent, when, how many memories, a summary if there is one.

        Then call timeline with a session's id to see what happened in it.
        """
        found = self._memories.sessions(limit=limit + offset)[offset:]
        page = Page(self._max_tokens, "sessions")
        for each in found:
            if not page.add(*session_ways(each)):
                break
        return page.answer(_further("sessions", "Earlier ones", offset, page, found, limit))


def _chosen(**filters: Any) -> dict[str, Any]:
    """Those filters that say something."""
    return {name: value for name, value in filters.items() if value}


def _further(tool: str, what: str, offset: int, page: Page, found: list[Any], limit: int) -> str:
    """How to read on, where there is or may be more."""
    if len(page) == len(found) < limit or not len(page):
        return ""
    return f"{what}: call {tool} again with offset={offset + len(page)}."
