"""The application: each operation behind its guard, on a thread; health, numbers, description, page."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect import __version__
from recollect.asynchronous import iterate
from recollect.doors.http import asking, openapi, page, problems
from recollect.doors.http.guarding import Guard, check_allowed
from recollect.doors.http.metrics import CONTENT_TYPE, Metrics
from recollect.doors.http.operations import Operation
from recollect.doors.http.problems import Problem
from recollect.doors.http.tokens import Token
from recollect.doors.plain import plain
from recollect.errors import RecollectError
from recollect.memories import Memories

_log = logging.getLogger("recollect.http")


@dataclass(frozen=True)
class Limits:
    """How large a request and an answer may be, in bytes."""

    body: int = 32_000_000
    answer: int = 64_000_000


def application(
    memories: Memories, guard: Guard, limits: Limits | None = None, *, with_page: bool = True
) -> ASGIApp:
    """The whole server over the memories; closing them is left to the caller."""
    server = _Server(memories, guard, limits or Limits())
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in sorted(openapi.OPERATIONS, key=lambda each: "{" in each.path):
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes: list[BaseRoute] = [
        Route(path, partial(server.serve, by_method), methods=list(by_method))
        for path, by_method in by_path.items()
    ]
    routes += [
        Route("/health", server.health),
        Route("/metrics", server.metrics_text),
        Route("/openapi.json", server.description),
        *(page.routes() if with_page else ()),
    ]
    allowed = sorted(guard.origins)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=allowed,
        allow_methods=["*"],
        allow_headers=["authorization", "content-type"],
    )
    app = Starlette(routes=routes, middleware=[cors] if allowed else [], exception_handlers=_HANDLERS)
    return _Outermost(app, server)


class _Server:
    """What all operations share."""

    def __init__(self, memories: Memories, guard: Guard, limits: Limits) -> None:
        self.memories = memories
        self.guard = guard
        self.limits = limits
        self.metrics = Metrics()
        self._document = json.dumps(openapi.document()).encode()

    async def health(self, request: Request) -> Response:
        """Whether the store answers."""
        await run_in_threadpool(self.memories.sessions, limit=1)
        return JSONResponse({"status": "ok", "version": __version__})

    async def metrics_text(self, request: Request) -> Response:
        """Numbers for Prometheus; they tell of all namespaces."""
        token = await run_in_threadpool(self.guard.check_token, request.headers)
        if token.namespace is not None:
            raise Problem(
                403, f"The token {token.name!r} is for one namespace; this concerns the whole store."
            )
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def description(self, request: Request) -> Response:
        """The OpenAPI document."""
        await run_in_threadpool(self.guard.check_token, request.headers)
        return Response(self._document, media_type=asking.JSON)

    async def serve(self, by_method: Mapping[str, Operation], request: Request) -> Response:
        """Check, run on a thread, answer."""
        operation = by_method[request.method if request.method != "HEAD" else "GET"]
        request.scope["recollect.operation"] = operation.name
        token = await run_in_threadpool(self.guard.check_token, request.headers)
        check_allowed(token, operation, {})
        given = asking.from_path(operation, request.path_params)
        given |= asking.from_query(operation, request.url.query)
        check_allowed(token, operation, given)
        content = await self._content(request)
        kind = request.headers.get("content-type", "")
        given |= await run_in_threadpool(asking.from_body, operation, content, kind)
        check_allowed(token, operation, given)
        run = partial(operation.run, self._view(token, given.pop("namespace", None)), **given)
        if operation.asks_who:
            run = partial(run, token=token)
        if operation.lines:
            return await self._lines(run)
        if operation.progress and asking.LINES in request.headers.get("accept", ""):
            return StreamingResponse(_with_progress(run), media_type=asking.LINES)
        if operation.progress:
            run = partial(run, progress=None)
        return await run_in_threadpool(self._answer, run, operation.status)

    def _view(self, token: Token, namespace: str | None) -> Memories:
        """The memories of the namespace that was asked for; of the token's own, if it has one."""
        wanted = namespace or token.namespace
        return self.memories if wanted is None else self.memories.in_namespace(wanted)

    def _answer(self, run: Callable[[], object], status: int) -> Response:
        content = _encoded(plain(run()))
        if len(content) > self.limits.answer:
            raise Problem(413, f"The answer has {len(content):,} bytes: ask for less, with a smaller limit.")
        return Response(content, status, media_type=asking.JSON)

    async def _lines(self, run: Callable[[], Any]) -> Response:
        records: Iterator[object] = await run_in_threadpool(run)

        async def lines() -> AsyncIterator[bytes]:
            async for record in iterate(records):
                yield _encoded(record) + b"\n"

        return StreamingResponse(lines(), media_type=asking.LINES)

    async def _content(self, request: Request) -> bytes:
        """The body, unless it is too large."""
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > self.limits.body:
                raise Problem(413, f"The body has more than {self.limits.body:,} bytes: send less at a time.")
        return bytes(content)


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


async def _with_progress(run: Callable[..., object]) -> AsyncIterator[bytes]:
    """How far the work is, line by line, at last what came of it; it goes on even if nobody listens."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def say(line: dict[str, Any] | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def report(what: str, done: int, total: int | None) -> None:
        say({"progress": {"what": what, "done": done, "total": total}})

    work = asyncio.ensure_future(run_in_threadpool(_told, partial(run, progress=report), say))
    while (line := await lines.get()) is not None:
        yield _encoded(line) + b"\n"
    await work


def _told(run: Callable[[], object], say: Callable[[dict[str, Any] | None], None]) -> None:
    try:
        say({"result": plain(run())})
    except RecollectError as error:
        say({"problem": problems.as_json(problems.from_error(error))})
    except Exception:  # noqa: BLE001  (a fault of ours: it is logged, and whoever waits is told)
        _log.exception("An operation failed.")
        say({"problem": problems.as_json(Problem(500, "That is a fault of Recollect's: its log says more."))})
    finally:
        say(None)


async def _problem(request: Request, error: Exception) -> Response:
    if isinstance(error, RecollectError):
        error = problems.from_error(error)
    if isinstance(error, HTTPException):
        detail = (
            f"There is nothing at {request.method} {request.url.path}."
            if error.status_code == 404
            else error.detail
        )
        error = Problem(error.status_code, detail, error.headers)
    if not isinstance(error, Problem):
        error = Problem(500, "That is a fault of Recollect's: its log says more.")
    return problems.response(error)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


_HANDLERS = {
    Problem: _problem,
    RecollectError: _problem,
    HTTPException: _problem,
    ClientDisconnect: _gone,
    Exception: _problem,
}
_SAFETY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": page.POLICY,
}


class _Outermost:
    """What happens to every request: its place is checked, its path kept as it came, its time measured."""

    def __init__(self, app: ASGIApp, server: _Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": scope["raw_path"].decode("latin-1"), "recollect.operation": "other"}
        began, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _SAFETY.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        with self._server.metrics.in_progress.track_inprogress():
            try:
                self._server.guard.check_place(Headers(scope=scope))
            except Problem as problem:
                await problems.response(problem)(scope, receive, answer)
            else:
                await self._app(scope, receive, answer)
            finally:
                took = time.perf_counter() - began
                self._server.metrics.note(scope["recollect.operation"], status, took)
