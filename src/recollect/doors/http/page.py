"""The page's shell: files that anybody may load, for they hold nothing; what they show needs a token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from recollect.doors.http.tickets import Ticket

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What a browser may do with what it gets from here: nothing from elsewhere, nothing that a text brings."""


def folder() -> Path:
    """Where the files are."""
    return Path(str(files("recollect.doors") / "page"))


async def _shell(request: Request) -> Response:
    return FileResponse(folder() / "index.html", headers={"Cache-Control": "no-cache"})


class _Files(StaticFiles):
    """Asked for anew each time: a new version must not meet an old one."""

    async def get_response(self, path: str, scope: object) -> Response:
        response = await super().get_response(path, scope)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


def routes(ticket: Ticket | None) -> Sequence[BaseRoute]:
    """The shell and its files; and, if there is a ticket, where the page changes it for a token."""
    shell = (Route("/", _shell), Mount("/page", _Files(directory=folder())))
    return (*shell, Route("/ticket", partial(_change, ticket), methods=["POST"])) if ticket else shell


async def _change(ticket: Ticket, request: Request) -> Response:
    return JSONResponse({"token": ticket.taken(request.headers.get("authorization", ""))})
