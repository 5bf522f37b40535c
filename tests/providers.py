"""A provider of embeddings on loopback that speaks the real protocols, and fails as it is told to.

POST /api/embed is Ollama's, POST /v1/embeddings OpenAI's. The vectors are those of the hashing embedder, so
that what is found with them means something. `python -m tests.providers 11434` runs it by itself.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from recollect.embed.hashing import HashingEmbedder
from recollect.embed.known import find_known

HOST = "127.0.0.1"
UNLISTED = 96
"""How long the vectors of a model are that nobody knows."""
PREFIXES = ("search_query: ", "search_document: ")


class Request(NamedTuple):
    """What a client asked."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


@dataclass(frozen=True)
class Fault:
    """What goes wrong with an answer."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[Any], Any] = lambda answer: answer
    waits: bool = False
    """It comes when the server is closed, or after a minute."""
    drips: bool = False
    """It comes byte by byte, slowly."""
    breaks: bool = False
    """The line is cut in the middle of it."""


class Provider:
    """The server; `faults` are for the next requests, one each, `always` for all when there are none."""

    def __init__(self, port: int = 0) -> None:
        self.asked: list[Request] = []
        self.faults: list[Fault] = []
        self.always = Fault()
        self.dimensions: dict[str, int] = {}
        self.knows_dimensions = True
        """Whether it gives as many dimensions as it is asked for, as older servers don't."""
        self.pulled: set[str] | None = None
        """The models that it has; None for any."""
        self.key: str | None = None
        self.before: Callable[[Request], None] = lambda request: None
        self._closing = threading.Event()
        self._lines: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self.port = port
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def texts(self) -> list[str]:
        """Every text that it was asked for, as it came."""
        return [text for request in self.asked for text in request.texts]

    def start(self) -> None:
        """Listen, at the port of before if there was one."""
        provider = self

        class Answers(_Answers):
            server_for = provider

        self._closing.clear()
        self._server = ThreadingHTTPServer((HOST, self.port), Answers)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, and cut those that are open."""
        self._closing.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        for line in list(self._lines):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def vectors(self, model: str, texts: Sequence[str], wanted: int | None) -> list[list[float]]:
        """What the model says of texts; its prefixes mean nothing to it."""
        size = self.dimensions.get(model) or find_known(model).dimensions or UNLISTED
        if wanted and self.knows_dimensions:
            size = wanted
        bare = [text.removeprefix(PREFIXES[0]).removeprefix(PREFIXES[1]) for text in texts]
        return [[float(value) for value in row] for row in HashingEmbedder(size).embed(bare)]

    def answer(self, request: Request) -> tuple[int, Any]:
        """A status and what goes with it, as a server that is well gives them."""
        model = request.body["model"]
        is_ollama = request.path == "/api/embed"
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "nothing")
            return 401, {
                "error": {"message": f"Incorrect API key provided: {given}", "code": "invalid_api_key"}
            }
        if self.pulled is not None and model not in self.pulled:
            told = f'model "{model}" not found, try pulling it first'
            return 404, {"error": told} if is_ollama else {"error": {"message": told}}
        vectors = self.vectors(model, request.texts, request.body.get("dimensions"))
        if is_ollama:
            return 200, {"model": model, "embeddings": vectors, "total_duration": 1, "prompt_eval_count": 1}
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(vectors)]
        return 200, {"object": "list", "data": data, "model": model, "usage": {"total_tokens": 1}}


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_for: Provider

    def setup(self) -> None:
        super().setup()
        self.server_for._lines.add(self.connection)

    def finish(self) -> None:
        self.server_for._lines.discard(self.connection)
        super().finish()

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        provider = self.server_for
        raw = self.rfile.read(int(self.headers["content-length"]))
        request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(raw))
        provider.asked.append(request)
        provider.before(request)
        fault = provider.faults.pop(0) if provider.faults else provider.always
        if fault.waits:
            provider._closing.wait(60)
        if self.path not in ("/api/embed", "/v1/embeddings"):
            return self._send(404, b"404 page not found", fault)
        status, answer = provider.answer(request)
        if fault.status != 200:
            status, answer = fault.status, {"error": {"message": "it is not well"}}
        body = json.dumps(fault.change(answer)).encode() if fault.body is None else fault.body
        return self._send(status, body, fault)

    def _send(self, status: int, body: bytes, fault: Fault) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault.breaks:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if fault.drips:
            for byte in body:
                self.wfile.write(bytes([byte]))
                if self.server_for._closing.wait(0.02):
                    return
            return
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def unused_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    with Provider(int(sys.argv[1])) as running:
        print(f"{running.url}: Ollama's /api/embed and OpenAI's /v1/embeddings", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(1)
