"""The operations that change memories, sessions and documents."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from recollect.doors.http import inputs
from recollect.doors.http.inputs import CHANGES, DRAFT, FILTERS, MOMENT, NAME, TEXT, body, described, several
from recollect.doors.http.operations import Operation, within
from recollect.doors.http.problems import Problem
from recollect.memories import Memories
from recollect.types import (
    Draft,
    Finding,
    Ingested,
    Memory,
    Progress,
    Receipt,
    Relation,
    Remembered,
    Session,
    Tuned,
)

_AMOUNT = body({"amount": {**inputs.number(0, 1), "default": 0.1}})
_CHANGED = body({"changed": {"type": "integer"}}, "changed")
_SUPERSEDED = body({"old": {"type": "string"}, "new": {"type": "string"}}, "old", "new")
_COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
_KINDS_OF_FILTER = {name: schema for name, schema in FILTERS.items() if name != "include_superseded"}


def _as_is(schema: inputs.Schema) -> Any:
    return lambda _: schema


def _remember(memories: Memories, text: str, **fields: Any) -> Remembered:
    return memories.remember(text, **fields)


def _remember_many(
    memories: Memories, drafts: list[dict[str, Any]], progress: Progress | None, **given: Any
) -> list[Remembered]:
    return memories.remember_many([Draft(**draft) for draft in drafts], progress=progress, **given)


def _update(memories: Memories, id: str, in_session: str | None = None, **changes: Any) -> Memory:
    return within(memories, in_session).update(memories.find_id(id), **changes)


def _supersede(
    memories: Memories, id: str, by: str | None = None, text: str | None = None, at: str | None = None
) -> dict[str, str]:
    if (by is None) == (text is None):
        raise Problem(422, "Give either `by`, the id of a memory, or `text`, a new one.")
    from recollect.times import moment_or_none

    old, until = memories.find_id(id), moment_or_none(at)
    new = memories.find_id(by) if by is not None else memories.remember(text or "").id
    memories.supersede(old, new, at=until)
    return {"old": old, "new": new}


def _relate(memories: Memories, id: str, target: str, **given: Any) -> Relation:
    return memories.relate(memories.find_id(id), memories.find_id(target), **given)


def _unrelate(memories: Memories, id: str, target: str, type: str | None = None) -> dict[str, int]:
    return {"changed": memories.unrelate(memories.find_id(id), memories.find_id(target), type)}


def _forget(memories: Memories, ids: list[str] | None = None, **given: Any) -> Receipt:
    found = None if ids is None else [memories.find_id(id) for id in ids]
    return memories.forget(found, **given)


def _hide(memories: Memories, ids: list[str]) -> dict[str, int]:
    return {"changed": memories.delete([memories.find_id(id) for id in ids])}


def _restore(memories: Memories, ids: list[str]) -> dict[str, int]:
    return {"changed": memories.restore([memories.find_id(id) for id in ids])}


def _ingest(memories: Memories, name: str, text: str, progress: Progress | None, **given: Any) -> Ingested:
    return memories.ingest_text(name, text, progress=progress, **given)


def _use_weights(memories: Memories, semantic: float, keyword: float, **given: Any) -> Tuned | None:
    return memories.use_weights({"semantic": semantic, "keyword": keyword}, **given)


def _at(list: str, id: str, more: str = "") -> str:
    return f"/v1/{list}/{quote(id, safe='')}{more}"


_SESSION_TIMES = {"agent": described(NAME, "Who works in it."), "started_at": MOMENT}

OPERATIONS = (
    Operation(
        "remember", "POST", "/v1/memories",
        "Remember a text.",
        _remember, Remembered, body=body({**DRAFT, "on_duplicate": inputs.ON_DUPLICATE}, "text"),
        writes=True, status=201, location=lambda kept: _at("memories", kept.id),
    ),
    Operation(
        "remember_many", "POST", "/v1/memories/batch",
        "Remember many texts: found by their words at once.",
        _remember_many, list[Remembered],
        body=body(
            {"drafts": several(body(DRAFT, "text"), 1_000), "on_duplicate": inputs.ON_DUPLICATE}, "drafts"
        ),
        writes=True, progress=True,
    ),
    Operation(
        "update", "PATCH", "/v1/memories/{id}",
        "Change a memory.",
        _update, Memory, body=body({**CHANGES, "in_session": NAME}, minProperties=1), writes=True,
    ),
    Operation(
        "forget_memory", "DELETE", "/v1/memories/{id}",
        "Remove a memory for good, with all derived from it.",
        lambda memories, id: memories.forget(memories.find_id(id)), Receipt, writes=True,
    ),
    Operation(
        "forget", "POST", "/v1/forget",
        "Remove memories for good: ids, or filters, or expired, or everything.",
        _forget, Receipt,
        body=body(
            {"ids": inputs.IDS, "expired": inputs.FLAG, "everything": inputs.FLAG, **_KINDS_OF_FILTER},
            minProperties=1,
        ),
        writes=True,
    ),
    Operation(
        "hide", "POST", "/v1/memories/hide",
        "Hide memories; they can be restored.",
        _hide, _as_is(_CHANGED), body=body({"ids": inputs.IDS}, "ids"), writes=True,
    ),
    Operation(
        "restore", "POST", "/v1/memories/restore",
        "Bring back memories that were hidden.",
        _restore, _as_is(_CHANGED), body=body({"ids": inputs.IDS}, "ids"), writes=True,
    ),
    Operation(
        "supersede", "POST", "/v1/memories/{id}/supersede",
        "Let another memory, or a new text, take its place.",
        _supersede, _as_is(_SUPERSEDED), body=body({"by": NAME, "text": TEXT, "at": MOMENT}, minProperties=1),
        writes=True,
    ),
    Operation(
        "unsupersede", "DELETE", "/v1/memories/{id}/supersede",
        "Take a supersession back.",
        lambda memories, id: memories.unsupersede(memories.find_id(id)), Memory, writes=True,
    ),
    Operation(
        "relate", "POST", "/v1/memories/{id}/relations",
        "Draw a relation to another memory.",
        _relate, Relation, body=body({"target": NAME, "type": NAME, "origin": NAME}, "target"),
        writes=True, status=201, location=lambda drawn: _at("memories", drawn.source, "/relations"),
    ),
    Operation(
        "unrelate", "DELETE", "/v1/memories/{id}/relations",
        "Remove relations to another memory.",
        _unrelate, _as_is(_CHANGED), query={"target": NAME, "type": NAME}, writes=True,
    ),
    Operation(
        "reinforce", "POST", "/v1/memories/{id}/reinforce",
        "Make a memory more salient.",
        lambda memories, id, **given: memories.reinforce(memories.find_id(id), **given), Memory,
        body=_AMOUNT, writes=True,
    ),
    Operation(
        "deemphasize", "POST", "/v1/memories/{id}/deemphasize",
        "Make a memory less salient.",
        lambda memories, id, **given: memories.deemphasize(memories.find_id(id), **given), Memory,
        body=_AMOUNT, writes=True,
    ),
    Operation(
        "start_session", "POST", "/v1/sessions",
        "Begin a session, or go on with one.",
        lambda memories, **given: memories.start_session(**given), Session,
        body=body({"id": NAME, **_SESSION_TIMES}), writes=True, status=201,
        location=lambda session: _at("sessions", session.id),
    ),
    Operation(
        "end_session", "POST", "/v1/sessions/{id}/end",
        "End a session, with a summary if there is one.",
        lambda memories, id, **given: memories.end_session(id, **given), Session,
        body=body({"summary": TEXT, "ended_at": MOMENT}), writes=True,
    ),
    Operation(
        "summarise_session", "POST", "/v1/sessions/{id}/summary",
        "Keep a summary, or draw one from its memories.",
        lambda memories, id, **given: memories.summarise_session(id, **given), Session,
        body=body({"summary": TEXT}), writes=True,
    ),
    Operation(
        "ingest", "POST", "/v1/documents",
        "Take in a document; the same name again replaces it.",
        _ingest, Ingested, body=body(inputs.DOCUMENT, "name", "text"), writes=True, progress=True,
    ),
    Operation(
        "forget_document", "DELETE", "/v1/documents/{name}",
        "Remove a document and its passages.",
        lambda memories, name: memories.forget_document(name), Receipt, writes=True,
    ),
    Operation(
        "use_weights", "PUT", "/v1/weights",
        "Recall with these weights from now on.",
        _use_weights, Tuned,
        body=body(
            {**dict.fromkeys(("semantic", "keyword"), inputs.number(0, 1000)), "reading": inputs.READING},
            "semantic", "keyword",
        ),
        writes=True,
    ),
    Operation(
        "reset_weights", "DELETE", "/v1/weights",
        "Recall with the default weights from now on.",
        lambda memories: memories.use_weights(None), Tuned | None, writes=True,
    ),
    Operation(
        "undo_weights", "POST", "/v1/weights/undo",
        "Back to the weights before the last change.",
        lambda memories: memories.undo_weights(), Tuned | None, writes=True,
    ),
    Operation(
        "reembed", "POST", "/v1/reembed",
        "Give every memory a vector of the embedder that is set.",
        lambda memories, progress: {"waiting": memories.reembed(progress)},
        _as_is(body({"waiting": {"type": "integer"}}, "waiting")), writes=True, progress=True,
    ),
    Operation(
        "backfill", "POST", "/v1/backfill",
        "Give rows what they lack: keyword entries and vectors.",
        lambda memories, progress: {"waiting": memories.backfill(progress)},
        _as_is(body({"waiting": {"type": "integer"}}, "waiting")), writes=True, progress=True, reach="store",
    ),
    Operation(
        "doctor", "POST", "/v1/doctor",
        "Check that everything agrees; `rebuild` makes all that is derived anew.",
        lambda memories, progress, **given: memories.doctor(progress=progress, **given), list[Finding],
        body=body({"rebuild": inputs.FLAG}), writes=True, progress=True, reach="store",
    ),
    Operation(
        "import", "POST", "/v1/import",
        "Write what an export gave, all or nothing.",
        lambda memories, records: memories.import_records(records), _as_is(_COUNTS),
        body=body({"records": several({"type": "object"}, 10_000)}, "records"), writes=True,
    ),
)  # fmt: skip
