"""The description of the API, made from the operations themselves: what /openapi.json gives."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import isfunction
from typing import Any

from recollect import __version__
from recollect.doors.http import problems, reading, writing
from recollect.doors.http.asking import JSON, LINES, path_names, query_schema
from recollect.doors.http.inputs import NAME, Schema, body
from recollect.doors.http.operations import Operation
from recollect.doors.schema import Schemas

OPERATIONS: tuple[Operation, ...] = (*reading.OPERATIONS, *writing.OPERATIONS)
_REFERENCE = "#/components/schemas/"
_PROBLEM = {"$ref": f"{_REFERENCE}Problem"}
_REFUSALS = {
    400: "It is not of the form described here.",
    401: "There is no token, or it is not known.",
    403: "The token does not allow it, or it comes from a foreign page.",
    404: "There is no such thing.",
    409: "The store is not ready for it: an embedder or vectors are missing.",
    413: "The request or its answer would be too large.",
    415: "The body is not JSON.",
    422: "It is of the right form, but can't be carried out; nothing was changed.",
    500: "The store failed.",
    503: "The store or the embedder can't do it now.",
}
_PROGRESS = {
    "anyOf": [
        body({"progress": body({
            "what": {"type": "string"}, "done": {"type": "integer"}, "total": {"type": ["integer", "null"]},
        })}, "progress"),
        body({"result": {}}, "result"),
        body({"problem": _PROBLEM}, "problem"),
    ]
}  # fmt: skip


def document(operations: Iterable[Operation] = OPERATIONS) -> dict[str, Any]:
    """OpenAPI 3.1."""
    schemas = Schemas(_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    paths["/health"] = {"get": _plain("health", "Whether the store answers; needs no token.", _HEALTH)}
    paths["/metrics"] = {"get": _metrics()}
    paths["/openapi.json"] = {"get": _plain("openapi", "This description.", {"type": "object"})}
    paths["/health"]["get"]["security"] = []
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "summary": "Memory for AI agents with hybrid search.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.named, "Problem": problems.SCHEMA},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


_HEALTH = body({"status": {"type": "string"}, "version": {"type": "string"}}, "status", "version")


def answer_schema(operation: Operation, schemas: Schemas) -> Schema:
    """What an operation gives."""
    if isfunction(operation.answer):
        found: Schema = operation.answer(schemas)
        return found
    return schemas.of(operation.answer)


def _described(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {
            str(operation.status): {"description": "It worked.", "content": _content(operation, schemas)},
            **_refused(),
        },
    }
    if operation.body is not None:
        needed = bool(operation.body.keys() & {"required", "minProperties"})
        forms = {JSON: {"schema": operation.body}}
        described["requestBody"] = {"required": needed, "content": forms}
    return described


def _content(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    answer = answer_schema(operation, schemas)
    if operation.lines:
        return {LINES: {"schema": answer}}
    return {JSON: {"schema": answer}} | ({LINES: {"schema": _PROGRESS}} if operation.progress else {})


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": NAME} for name in path_names(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    schema = query_schema(operation)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": each.get("description", ""),
            "schema": each,
        }
        for name, each in schema["properties"].items()
    ]


def _refused() -> dict[str, Any]:
    return {
        str(status): {"description": meaning, "content": {problems.CONTENT_TYPE: {"schema": _PROBLEM}}}
        for status, meaning in _REFUSALS.items()
    }


def _plain(name: str, summary: str, schema: Schema) -> dict[str, Any]:
    answered = {"description": "It worked.", "content": {JSON: {"schema": schema}}}
    return {"operationId": name, "summary": summary, "responses": {"200": answered, **_refused()}}


def _metrics() -> dict[str, Any]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    answered = {"description": "Numbers in Prometheus's form.", "content": content}
    return {
        "operationId": "metrics",
        "summary": "How many requests there were and how long they took.",
        "responses": {"200": answered, **_refused()},
    }
