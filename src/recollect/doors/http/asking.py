"""A request, checked against the schemas of its operation: what was given, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from recollect.doors.http.inputs import NAME, NAMESPACE, Schema, body
from recollect.doors.http.operations import Operation
from recollect.doors.http.problems import Problem

JSON, LINES = "application/json", "application/x-ndjson"
_PLACEHOLDER = re.compile(r"{(\w+)}")
_WHOLE = re.compile(r"-?\d{1,18}")
_LONGEST_SHOWN = 80
_validators: dict[tuple[str, str], Draft202012Validator] = {}
"""One for each part of each operation, made when it is first needed."""


def path_names(path: str) -> list[str]:
    """The names in a path.

    >>> path_names("/v1/memories/{id}/history")
    ['id']
    """
    return _PLACEHOLDER.findall(path)


def query_schema(operation: Operation) -> Schema:
    """What may stand after the question mark."""
    required = [name for name in operation.query if name == "target"]
    return body({**operation.query, "namespace": NAMESPACE}, *required)


def from_path(operation: Operation, given: Mapping[str, str]) -> dict[str, Any]:
    """What stands in the path, which was matched before it was decoded: an id may contain a slash."""
    decoded = {name: _decoded(value) for name, value in given.items()}
    schema = body(dict.fromkeys(path_names(operation.path), NAME))
    _check(decoded, ("path", operation.name), schema)
    return decoded


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "The path is not UTF-8: encode it so.") from None


def from_query(operation: Operation, text: str) -> dict[str, Any]:
    """What stands after the question mark, as values of the right types."""
    schema = query_schema(operation)
    given: dict[str, Any] = {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError:
        raise Problem(400, "The query can't be read: use UTF-8 and at most 200 parameters.") from None
    for name, value in pairs:
        wanted = schema["properties"].get(name, {})
        if wanted.get("type") == "array":
            given.setdefault(name, []).append(value)
        elif name in given:
            raise Problem(400, f"{name} is given twice: give it once.")
        else:
            given[name] = _typed(value, wanted.get("type"))
    _check(given, ("query", operation.name), schema)
    return given


def _typed(value: str, wanted: str | None) -> Any:
    if wanted == "integer" and _WHOLE.fullmatch(value):
        return int(value)
    if wanted == "boolean" and value in ("true", "false"):
        return value == "true"
    if wanted == "number":
        try:
            return float(value)
        except ValueError:
            return value
    return value


def from_body(operation: Operation, content: bytes, content_type: str) -> dict[str, Any]:
    """What stands in the body; JSON lines are taken where an export is."""
    if operation.body is None:
        if content.strip():
            raise Problem(400, "This takes no body: leave it out.")
        return {}
    kind = content_type.partition(";")[0].strip().lower()
    if operation.name == "import" and kind == LINES:
        return {"records": [_object(_parsed(line)) for line in content.splitlines() if line.strip()]}
    if kind != JSON and (content.strip() or content_type):
        raise Problem(415, f"Send the body as {JSON}.")
    given = _parsed(content) if content.strip() else {}
    _check(given, ("body", operation.name), operation.body)
    return dict(given)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Problem(400, "Every line must be a JSON object, as an export writes them.")
    return value


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else str(error)
        raise Problem(400, f"The body is not JSON ({reason}): send UTF-8 JSON.") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _check(given: Any, place: tuple[str, str], schema: Schema) -> None:
    if place not in _validators:
        _validators[place] = Draft202012Validator(schema)
    error = best_match(_validators[place].iter_errors(given))
    if error is not None:
        raise Problem(400, _sentence(error, place[0]))


def _sentence(error: ValidationError, place: str) -> str:
    """What is wrong, and where; never the whole of what was sent."""
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    message = error.message
    if len(message) > 2 * _LONGEST_SHOWN:
        message = f"what was given is not of the form {_shown(error.validator, error.validator_value)}"
    named = f" at {where.lstrip('.')}" if where else ""
    return f"The {place} can't be used{named}: {message}."


def _shown(rule: object, value: object) -> str:
    text = f"{rule}: {json.dumps(value)}"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
