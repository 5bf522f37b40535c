"""The application: each operation behind its guard, on a thread; health, numbers, description, page."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

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
from recollect.asynchronous import Batches
from recollect.doors.http import asking, openapi, page, problems
from recollect.doors.http.guarding import Guard, check_allowed, without_traces
from recollect.doors.http.metrics import CONTENT_TYPE, Metrics
from recollect.doors.http.operations import Operation
from recollect.doors.http.problems import Problem
from recollect.doors.http.tickets import Ticket
from recollect.doors.http.tokens import Token
from recollect.doors.plain import plain
from recollect.errors import RecollectError
from recollect.memories import Memories

_log = logging.getLogger("recollect.http")
_UNREAD = 60
"""Seconds that a part of an answer in lines may wait for somebody to read what was sent before."""
_READ_ON = 4
"""Up to so many times the limit a body is read, to be refused in words."""


@dataclass(frozen=True)
class Limits:
    """How large a request and an answer may be, in bytes."""

    body: int = 32_000_000
    answer: int = 64_000_000


def application(
    memories: Memories,
    guard: Guard,
    limits: Limits | None = None,
    *,
    with_page: bool = True,
    ticket: Ticket | None = None,
) -> ASGIApp:
    """The whole server over the memories; closing them is left to the caller. A ticket is for its page."""
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
        *(page.routes(ticket) if with_page else ()),
    ]
    allowed = sorted(guard.origins)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=allowed,
        allow_methods=["*"],
        allow_headers=["authorization", "content-type"],
        expose_headers=["location", "retry-after"],
    )
    app = Starlette(routes=routes, middleware=[cors] if allowed else [], exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False  # there is one address for each thing
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
        token = self.guard.check_token(request.headers)
        if token.namespace is not None:
            raise Problem(
                403, f"The token {token.name!r} is for one namespace; this concerns the whole store."
            )
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def description(self, request: Request) -> Response:
        """The OpenAPI document."""
        self.guard.check_token(request.headers)
        return Response(self._document, media_type=asking.JSON)

    async def serve(self, by_method: Mapping[str, Operation], request: Request) -> Response:
        """Check, run on a thread, answer."""
        operation = by_method[request.method if request.method != "HEAD" else "GET"]
        request.scope["recollect.operation"] = operation.name
        token = self.guard.check_token(request.headers)
        check_allowed(token, operation, {})
        given = asking.from_path(operation, request.path_params)
        given |= asking.from_query(operation, request.scope["query_string"].decode("latin-1"))
        check_allowed(token, operation, given)
        content, kind = await self._content(request), request.headers.get("content-type", "")
        prepared = partial(self._prepared, token, operation, given, content, kind)
        if operation.lines:
            return await self._lines(prepared, request.method)
        if operation.progress and asking.LINES in request.headers.get("accept", ""):
            return _Lines(_with_progress(await run_in_threadpool(prepared)))
        return await run_in_threadpool(self._answer, prepared, operation, given)

    def _prepared(
        self, token: Token, operation: Operation, given: dict[str, Any], content: bytes, kind: str
    ) -> Callable[..., Any]:
        """The operation with all that it was given, once that is known to be allowed."""
        asked = given | asking.from_body(operation, content, kind)
        check_allowed(token, operation, asked)
        namespace = asked.pop("namespace", None)
        asked |= without_traces(token, operation) | ({"token": token} if operation.asks_who else {})
        return partial(operation.run, self._view(token, namespace), **asked)

    def _view(self, token: Token, namespace: str | None) -> Memories:
        """The memories of the namespace that was asked for; of the token's own, if it has one."""
        wanted = namespace or token.namespace
        return self.memories if wanted is None else self.memories.in_namespace(wanted)

    def _answer(
        self, prepared: Callable[[], Callable[..., Any]], operation: Operation, given: Mapping[str, Any]
    ) -> Response:
        run = prepared()
        found = run(progress=None) if operation.progress else run()
        content = _encoded(plain(found))
        if len(content) > self.limits.answer:
            raise Problem(413, f"The answer has {len(content):,} bytes: ask for less, with a smaller limit.")
        made = operation.location and operation.location(found)
        headers = {"Location": _within(made, given.get("namespace"))} if made else None
        return Response(content, operation.status, headers, asking.JSON)

    async def _lines(self, prepared: Callable[[], Callable[..., Any]], method: str) -> Response:
        """Records as they come; the first ones are fetched before it is said that all is well."""
        run = await run_in_threadpool(prepared)
        if method == "HEAD":
            return _Lines(iter(()))
        records = Batches(await run_in_threadpool(run))
        first = await records.next()

        async def lines() -> AsyncIterator[bytes]:
            try:
                yield _joined(first)
                while some := await records.next():
                    yield _joined(some)
            finally:
                await records.close()

        return _Lines(lines())

    async def _content(self, request: Request) -> bytes:
        """The body, unless it is too large. A little more is read then: who still sends hears no answer."""
        most = self.limits.body
        refusal = Problem(413, f"The body has more than {most:,} bytes: send less at a time.")
        if int(request.headers.get("content-length", 0)) > _READ_ON * most:
            raise refusal
        content, size = bytearray(), 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > _READ_ON * most:
                break
            if size <= most:
                content += chunk
        if size > most:
            raise refusal
        return bytes(content)


class _Lines(StreamingResponse):
    """JSON lines, as they come; whoever stops reading them must not keep the store from cleaning up."""

    media_type = asking.LINES

    async def stream_response(self, send: Send) -> None:
        async def in_time(message: Message) -> None:
            async with asyncio.timeout(_UNREAD):
                await send(message)

        try:
            await super().stream_response(in_time)
        except TimeoutError:
            _log.warning("An answer was broken off: nobody read on for %d seconds.", _UNREAD)
        finally:
            close = getattr(self.body_iterator, "aclose", None)
            if close is not None:
                await close()


def _within(path: str, namespace: str | None) -> str:
    return path if namespace is None else f"{path}?namespace={quote(namespace, safe='')}"


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "replace"
    )


def _joined(records: Iterable[object]) -> bytes:
    return b"".join(_encoded(record) + b"\n" for record in records)


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
        error = Problem(error.status_code, _said(request, error), error.headers)
    if not isinstance(error, Problem):
        error = Problem(500, "That is a fault of Recollect's: its log says more.")
    return problems.response(error)


def _said(request: Request, error: HTTPException) -> str:
    asked = f"{request.method} {request.scope['path']}"
    if error.status_code == 404:
        return f"There is nothing at {asked}."
    if error.status_code == 405:
        return f"There is no {asked}: what can be done there is {(error.headers or {}).get('Allow')}."
    return error.detail


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
_STOPPING = Problem(503, "The server is being stopped: ask again once it is back.", problems.AGAIN)


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
        began, status, started = time.perf_counter(), 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in _SAFETY.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        with self._server.metrics.in_progress.track_inprogress():
            try:
                self._server.guard.check_place(Headers(scope=scope))
                await self._app(scope, receive, answer)
            except Problem as problem:
                await problems.response(problem)(scope, receive, answer)
            except asyncio.CancelledError:  # the server ends, and has waited long enough
                if not started:
                    await problems.response(_STOPPING)(scope, receive, answer)
            finally:
                took = time.perf_counter() - began
                self._server.metrics.note(scope["recollect.operation"], status, took)
