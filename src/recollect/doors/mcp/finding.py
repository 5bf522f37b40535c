"""Tools that find: timeline, search, get, context, sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_types import CallToolResult

from recollect.assembling import DOUBT
from recollect.doors.cli.render import count, when
from recollect.doors.mcp import parameters as given
from recollect.doors.mcp.output import (
    Record,
    Room,
    answer,
    framed,
    in_bytes,
    previewed,
    said,
    tagged,
    trimmed,
)
from recollect.doors.mcp.texts import shown_hit, shown_memories
from recollect.doors.mcp.visits import Request, Visits
from recollect.doors.plain import plain
from recollect.errors import InvalidInput
from recollect.memories import Memories
from recollect.memories.finding import preview
from recollect.types import Preview, Recall

NOTHING = "Nothing was found."


class Finding:
    """The tools that change nothing but what counts as used."""

    def __init__(self, memories: Memories, max_tokens: int) -> None:
        self._memories = memories
        self._max_tokens = max_tokens

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
        if id:
            if timeframe or tags or session or offset:
                raise InvalidInput(
                    "With an id give before and after alone: no timeframe, tags, session or offset."
                )
            return self._around(id, before, after)
        filters = _chosen(timeframe=timeframe, tags=tags, session=session)
        found = self._memories.timeline(limit=limit + offset, **filters)
        page = found[: len(found) - offset] if offset else found
        shown, room = _newest_that_fit(page[-limit:], Room(self._max_tokens))
        further = len(shown) < len(page) or len(found) == limit + offset
        more = f"Earlier ones: call timeline again with offset={offset + len(shown)}." if further else ""
        return _timeline(shown, None, more if shown else "")

    def _around(self, ending: str, before: int, after: int) -> CallToolResult:
        found = self._memories.timeline(self._memories.find_id(ending), before, after)
        earlier, later = [preview(each) for each in found.before], [preview(each) for each in found.after]
        middle = preview(found.anchor)
        room = Room(self._max_tokens)
        room.takes(previewed(middle, is_anchor=True), plain(middle))
        nearest = max(len(earlier), len(later))
        kept_before, kept_after = 0, 0
        for place in range(nearest):
            if place < len(earlier) and kept_before == place and _takes(room, earlier[-1 - place]):
                kept_before += 1
            if place < len(later) and kept_after == place and _takes(room, later[place]):
                kept_after += 1
        shown = [*earlier[len(earlier) - kept_before :], middle, *later[:kept_after]]
        ends = [
            end.id
            for end, kept, wanted, there in (
                (shown[0], kept_before, before, len(earlier)),
                (shown[-1], kept_after, after, len(later)),
            )
            if kept < there or (kept == wanted > 0)
        ]
        more = f"Further ones: call timeline with the id {' or '.join(ends)}." if ends else ""
        return _timeline(shown, middle.id, more)

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
        """Find what is remembered about something, by meaning and by words: ids, scores and snippets, best first.

        Call it at the start of a task, and before you decide, assume or ask the user something that may have
        been settled. Then get the ids whose snippets look right. It says how sure it is: where an answer does
        not seem to be there, tell so instead of guessing. Nothing found? Try other words, or no filters.
        """
        filters = _chosen(timeframe=timeframe, tags=tags, session=session, speaker=speaker)
        if include_superseded:
            filters["include_superseded"] = True
        visits: Visits = request.request_context.lifespan_context
        found = visits.memories_of(request).recall(
            query,
            limit=limit + offset,
            include_documents=include_documents,
            reinforce=offset == 0,  # those before were counted with the first page
            **filters,
        )
        return self._found(found, limit, offset, in_full=detail == "full")

    def _found(self, found: Recall, limit: int, offset: int, *, in_full: bool) -> CallToolResult:
        room = Room(self._max_tokens)
        content: Record = plain(found) | {"hits": []}
        content, _ = trimmed(content, room.left // 2, keep=("confidence", "hits"))
        room.takes(framed((), DOUBT[found.confidence]), content)
        page, texts, cut = list(found)[offset : offset + limit], [], 0
        for hit in page:
            ways = [shown_hit(hit, in_full=True)] if in_full else []
            taken = next((way for way in (*ways, shown_hit(hit)) if room.takes(*way)), None)
            if taken is None:
                break
            cut += taken[1].keys() != plain(hit).keys() if in_full else 0
            texts.append(taken[0])
            content["hits"].append(taken[1])
        shown = offset + len(texts)
        hints = []
        if cut:
            hints.append(f"{count(cut, 'hit')} shortened for lack of room: get them by their ids.")
        if len(texts) < len(page) or len(found) == limit + offset:
            hints.append(f"Further hits: search again with offset={shown}.")
        if hints and (len(texts) < len(page) or cut):
            content["more"] = " ".join(hints)
        text = framed(texts, DOUBT[found.confidence]) if texts else NOTHING
        return answer(text + said(*found.notes, *hints) if page else NOTHING + said(*found.notes), content)

    def get(self, ids: given.Ids, part: given.Part = 1) -> CallToolResult:
        """Read memories in full, by the ids that timeline, search or another memory gave.

        Get only what you need: snippets are often enough. Gives whole texts with where they come from, how far
        to trust them, what superseded them and how they are related. A long text comes in parts.
        """
        wanted = [self._memories.find_id(id) for id in ids]
        if part > 1 and len(wanted) > 1:
            raise InvalidInput("Ask for a part of one memory at a time: give one id.")
        found = self._memories.get(wanted)
        related = [self._memories.relations(memory) for memory in found]
        return shown_memories(list(zip(found, related, strict=True)), part, self._max_tokens)

    def context(
        self,
        request: Request,
        query: given.Query,
        max_tokens: given.ContextTokens = 1_000,
        timeframe: given.Timeframe = "",
        tags: given.Tags = [],  # noqa: B006
    ) -> CallToolResult:
        """Gather what is remembered about something as one text: whole memories, oldest first, within a budget.

        Call it instead of search and get when you want background on a subject at once.
        """
        visits: Visits = request.request_context.lifespan_context
        memories = visits.memories_of(request)
        content: Record = {}
        room = Room(self._max_tokens)
        budget = min(max_tokens, max(50, room.left // 5))
        filters = _chosen(timeframe=timeframe, tags=tags)
        while not content or (in_bytes(content) > room.left and budget >= 50):
            found = memories.context(query, budget, **filters)
            origins = [{"id": memory.id} for memory in found.memories]
            content = plain(found) | {"memories": origins}
            budget //= 2
        if not found.text:
            return answer(NOTHING + said(*found.notes), content)
        left = (
            f"{count(found.left_out, 'memory', 'memories')} left out: search finds them."
            if found.left_out
            else ""
        )
        return answer(found.text + said(*found.notes, left), content)

    def sessions(self, limit: given.Limit = 10, offset: given.Offset = 0) -> CallToolResult:
        """List earlier sessions, newest first: id, agent, when, how many memories, and a summary if there is one.

        Then call timeline with a session's id to see what happened in it.
        """
        found = self._memories.sessions(limit=limit + offset)[offset:]
        room, texts, content = Room(self._max_tokens), [], []
        for each in found:
            attributes = [
                ("agent", each.agent),
                ("from", when(each.started_at)),
                ("to", when(each.ended_at) or "now"),
                ("memories", str(each.memories)),
            ]
            record, _ = trimmed(plain(each), 1_000)
            text = tagged("session", each.id, attributes, record.get("summary") or "")
            if not room.takes(text, record):
                break
            texts.append(text)
            content.append(record)
        further = len(content) < len(found) or len(found) == limit
        more = f"Earlier ones: call sessions again with offset={offset + len(content)}." if further else ""
        structured: Record = {"sessions": content} | ({"more": more} if more and content else {})
        return answer(framed(texts) + said(more) if texts else NOTHING, structured)


def _chosen(**filters: Any) -> dict[str, Any]:
    """Those filters that say something."""
    return {name: value for name, value in filters.items() if value}


def _takes(room: Room, each: Preview) -> bool:
    return room.takes(previewed(each), plain(each))


def _newest_that_fit(previews: Sequence[Preview], room: Room) -> tuple[list[Preview], Room]:
    kept: list[Preview] = []
    for each in reversed(previews):
        if not _takes(room, each):
            break
        kept.insert(0, each)
    return kept, room


def _timeline(shown: Sequence[Preview], anchor: str | None, more: str) -> CallToolResult:
    content: Record = {"previews": [plain(each) for each in shown], "anchor": anchor}
    if more:
        content["more"] = more
    if not shown:
        return answer(NOTHING, content)
    return answer(
        framed(previewed(each, is_anchor=each.id == anchor) for each in shown) + said(more), content
    )
