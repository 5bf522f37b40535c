"""What goes wrong, as problem+json (RFC 9457): one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from recollect.errors import (
    ConfigError,
    EmbedderError,
    EmbedderMissing,
    InvalidInput,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreClosed,
    StoreReadOnly,
    StoreUnreachable,
)

CONTENT_TYPE = "application/problem+json"
TITLES = {
    400: "The request can't be understood",
    401: "A token is needed",
    403: "That is not allowed",
    404: "There is no such thing",
    405: "That can't be done here",
    409: "The store is not ready for that",
    413: "That is too large",
    415: "That form can't be read",
    422: "The request can't be carried out",
    500: "Something went wrong",
    503: "That is not possible now",
}
AGAIN = {"Retry-After": "2"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong, as RFC 9457 says.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
}


class Problem(Exception):
    """Something that a caller is told, with its status."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def from_error(error: RecollectError) -> Problem:
    """An error of ours, with the status it means over HTTP."""
    status = _status(error)
    return Problem(status, str(error), AGAIN if status == 503 else None)


def _status(error: RecollectError) -> int:
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, StoreReadOnly):
        return 403
    if isinstance(error, (InvalidInput, ConfigError)):
        return 422
    if isinstance(error, EmbedderMissing):
        return 409
    if isinstance(error, (StoreBusy, StoreUnreachable, StoreClosed, EmbedderError)):
        return 503
    return 500


def as_json(problem: Problem) -> dict[str, Any]:
    """The body of the answer."""
    title = TITLES.get(problem.status, "Something went wrong")
    return {"type": "about:blank", "title": title, "status": problem.status, "detail": problem.detail}


def response(problem: Problem) -> JSONResponse:
    """The answer itself."""
    return JSONResponse(
        as_json(problem), problem.status, media_type=CONTENT_TYPE, headers=dict(problem.headers or {})
    )
