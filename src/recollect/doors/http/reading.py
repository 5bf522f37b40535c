"""The operations that change nothing: recall and what is built on it, memories, sessions, documents."""

from __future__ import annotations

from typing import Any

from recollect import __version__
from recollect.doors.http import inputs
from recollect.doors.http.inputs import FILTERS, NAME, PAGE, RECALL, body, count, described
from recollect.doors.http.operations import Operation, Page, cursor, page_of, place, sliced, with_more, within
from recollect.doors.http.tokens import Token
from recollect.doors.plain import plain
from recollect.evaluate.tuning import Proposal
from recollect.memories import Memories
from recollect.memories.weights import TUNED_ON
from recollect.types import (
    Context,
    Document,
    Growth,
    Memory,
    Neighbourhood,
    Preview,
    Recall,
    Relation,
    Session,
    SessionContext,
    Stats,
    Timeline,
    Tuned,
    WhyNot,
)

_CONTEXT = {
    **RECALL,
    "limit": described(count(50), "At most so many."),
    "max_tokens": count(1000, 50, 1_000_000),
}
_PASSAGES = {name: schema for name, schema in RECALL.items() if name not in ("kind", "include_documents")}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What `recall` takes; whoever names a document wants its passages."""
    if given.get("namespaces"):
        given["namespace"] = given["namespaces"]
    given.pop("namespaces", None)
    if given.get("document"):
        given.setdefault("include_documents", True)
    return given


def _recall(memories: Memories, query: str, in_session: str | None = None, **given: Any) -> Recall:
    return within(memories, in_session).recall(query, **_options(given))


def _context(memories: Memories, query: str, in_session: str | None = None, **given: Any) -> Context:
    return within(memories, in_session).context(query, **_options(given))


def _search_documents(memories: Memories, query: str, in_session: str | None = None, **given: Any) -> Recall:
    return within(memories, in_session).search_documents(query, **_options(given))


def _conversation(
    memories: Memories, query: str, in_session: str | None = None, **given: Any
) -> list[Memory]:
    return within(memories, in_session).conversation_timeline(query, **_options(given))


def _why_not(memories: Memories, query: str, id: str, in_session: str | None = None, **given: Any) -> WhyNot:
    return memories.why_not(query, memories.find_id(id), **_options(given))


def _memories(memories: Memories, limit: int = 100, cursor: str | None = None, **given: Any) -> Page:
    found = memories.timeline(limit=limit, older_than=place(cursor), **given)
    return Page(found[::-1], _older(found[0].created_at, found[0].id) if len(found) == limit else None)


def _older(at: Any, id: str) -> str:
    return cursor(at, id)


def _memory(memories: Memories, id: str) -> dict[str, Any]:
    found = memories.get(memories.find_id(id))
    return {**plain(found), "relations": plain(memories.relations(found.id))}


def _get(memories: Memories, ids: list[str]) -> list[Memory]:
    return memories.get([memories.find_id(id) for id in ids])


def _around(memories: Memories, id: str, before: int = 5, after: int = 5) -> Timeline:
    return memories.timeline(memories.find_id(id), before, after)


def _sessions(memories: Memories, limit: int = 100, cursor: str | None = None, **given: Any) -> Page:
    found = memories.sessions(limit=limit, older_than=place(cursor), **given)
    return Page(found, _older(found[-1].started_at, found[-1].id) if len(found) == limit else None)


def _documents(memories: Memories, limit: int = 100, cursor: str | None = None) -> Page:
    return sliced({document.name: document for document in memories.documents()}, limit, cursor)


def _namespaces(memories: Memories, limit: int = 100, cursor: str | None = None) -> Page:
    known = {name: {"name": name, "memories": number} for name, number in memories.namespaces().items()}
    return sliced(known, limit, cursor)


def _namespace_schema(_: object) -> inputs.Schema:
    item = body({"name": {"type": "string"}, "memories": {"type": "integer"}}, "name", "memories")
    properties: inputs.Properties = {
        "items": {"type": "array", "items": item},
        "next": {"type": ["string", "null"]},
    }
    return body(properties, "items", "next")


def _who(memories: Memories, token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "read_only": token.read_only,
        "bound": token.namespace is not None,
        "namespace": memories.namespace,
        "version": __version__,
    }


def _who_schema(_: object) -> inputs.Schema:
    return body(
        {
            "name": {"type": "string"},
            "read_only": {"type": "boolean"},
            "bound": {"type": "boolean", "description": "Whether it is good for that namespace alone."},
            "namespace": {"type": "string", "description": "Where it works when none is named."},
            "version": {"type": "string"},
        },
        *("name", "read_only", "bound", "namespace", "version"),
    )


_BETWEEN = {"since": FILTERS["since"], "until": FILTERS["until"]}

OPERATIONS = (
    Operation(
        "recall", "POST", "/v1/recall",
        "Find memories by meaning, by words and by time.",
        _recall, Recall, body=body(RECALL, "query"),
    ),
    Operation(
        "context", "POST", "/v1/context",
        "Assemble the best memories for a prompt, within a token budget.",
        _context, Context, body=body(_CONTEXT, "query"),
    ),
    Operation(
        "search_documents", "POST", "/v1/documents/search",
        "Find passages of documents.",
        _search_documents, Recall, body=body(_PASSAGES, "query"),
    ),
    Operation(
        "conversation", "POST", "/v1/conversation",
        "Show what was said about a topic, the oldest first: how a decision came about.",
        _conversation, list[Memory], body=body({**RECALL, "limit": _CONTEXT["limit"]}, "query"),
    ),
    Operation(
        "why_not", "POST", "/v1/why-not",
        "Explain why a recall does not return a memory.",
        _why_not, WhyNot, body=body({**RECALL, "id": NAME}, "query", "id"),
    ),
    Operation(
        "list_memories", "GET", "/v1/memories",
        "List memories, the newest first.",
        _memories, page_of(Preview), query={**PAGE, "timeframe": inputs.TIMEFRAME, **FILTERS},
    ),
    Operation(
        "get_memory", "GET", "/v1/memories/{id}",
        "Show a memory in full, with its relations.",
        _memory, with_more(Memory, relations=list[Relation]),
    ),
    Operation(
        "get_memories", "POST", "/v1/memories/get",
        "Show several memories in full.",
        _get, list[Memory], body=body({"ids": inputs.IDS}, "ids"),
    ),
    Operation(
        "timeline", "GET", "/v1/memories/{id}/timeline",
        "Show what was remembered around a memory.",
        _around, Timeline, query={"before": count(5, 0), "after": count(5, 0)},
    ),
    Operation(
        "history", "GET", "/v1/memories/{id}/history",
        "Show what a memory superseded and what superseded it.",
        lambda memories, id: memories.history(memories.find_id(id)), list[Memory],
    ),
    Operation(
        "neighbourhood", "GET", "/v1/memories/{id}/neighbourhood",
        "Show what lies within two edges of a memory.",
        lambda memories, id, **given: memories.neighbourhood(memories.find_id(id), **given), Neighbourhood,
        query={"limit": count(40, 1, 200)},
    ),
    Operation(
        "relations", "GET", "/v1/memories/{id}/relations",
        "List the relations of a memory.",
        lambda memories, id: memories.relations(memories.find_id(id)), list[Relation],
    ),
    Operation(
        "session_context", "GET", "/v1/memories/{id}/session",
        "Show the session that used a memory last.",
        lambda memories, id: memories.session_context(memories.find_id(id)), SessionContext | None,
    ),
    Operation(
        "list_sessions", "GET", "/v1/sessions",
        "List sessions, the newest first.",
        _sessions, page_of(Session), query={**PAGE, **_BETWEEN},
    ),
    Operation(
        "get_session", "GET", "/v1/sessions/{id}",
        "Show a session.",
        lambda memories, id: memories.session(id), Session,
    ),
    Operation(
        "list_documents", "GET", "/v1/documents",
        "List documents by name.",
        _documents, page_of(Document), query=PAGE,
    ),
    Operation(
        "stats", "GET", "/v1/stats",
        "Show the namespace in numbers.",
        lambda memories: memories.stats(), Stats,
    ),
    Operation(
        "growth", "GET", "/v1/growth",
        "Show how many memories each day brought, and how salient they are.",
        lambda memories: memories.growth(), Growth,
    ),
    Operation(
        "weights", "GET", "/v1/weights",
        "Show the weights that were set for this namespace.",
        lambda memories: memories.tuned(), Tuned | None,
    ),
    Operation(
        "tune", "POST", "/v1/tune",
        "Propose weights that suit the memories of this namespace; nothing is changed.",
        lambda memories, progress, **given: memories.tune(**given, progress=progress), Proposal,
        body=body({"number": described(count(TUNED_ON), "Judged by so many of a kind.")}), progress=True,
    ),
    Operation(
        "list_namespaces", "GET", "/v1/namespaces",
        "List the namespaces of the store.",
        _namespaces, _namespace_schema, query=PAGE, reach="store",
    ),
    Operation(
        "token", "GET", "/v1/token",
        "Show what the token of this request may do.",
        _who, _who_schema, asks_who=True,
    ),
    Operation(
        "export", "GET", "/v1/export",
        "Everything in the namespace as JSON lines, losing nothing.",
        lambda memories, **given: memories.export_records(**given), dict[str, Any],
        query={"vectors": described(inputs.FLAG, "With the vectors.")}, lines=True,
    ),
)  # fmt: skip
