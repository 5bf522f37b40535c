"""`recollect mcp --http` in a process of its own: many clients, a token, and known host names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

import recollect

from .agents import BOTH_PROTOCOLS, Agent, connected, settings

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Served:
    """A server that runs, where it is, and what it wants to be sent."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recollect.doors.cli", "mcp", "--http", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **settings(folder), **environment},
        )
        self.url = self._line().split()[-1]
        self.token = self._line().split()[-1]

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().decode()
        assert line, "the server ended"
        return line

    @contextmanager
    def client(self, mode: str, name: str, **options: Any) -> Iterator[Agent]:
        with connected(self._transport(), mode, name, **options) as agent:
            yield agent

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}, timeout=60) as http,
            streamable_http_client(self.url, http_client=http) as streams,
        ):
            yield streams

    def post(self, body: Any = HELLO, token: str | None = None, **headers: str) -> httpx2.Response:
        given = {"Authorization": f"Bearer {self.token if token is None else token}", **ACCEPT, **headers}
        sent = {name.encode(): value.encode() for name, value in given.items()}
        return httpx2.post(self.url, json=body, headers=sent, timeout=60)


def test_a_program_that_starts_it_is_told_in_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recollect.doors.cli", "mcp", "--http", "--port", "0", "--jsonl"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **settings(tmp_path)}
    ) as server:
        assert server.stdout
        told = json.loads(server.stdout.readline())
        headers = {"Authorization": f"Bearer {told['token']}", **ACCEPT}
        answered = httpx2.post(told["url"], json=HELLO, headers=headers, timeout=60)
        server.send_signal(signal.SIGINT)
    assert answered.status_code == 200
    assert told["namespace"] == "proj1"


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[Served]:
    served = Served(folder, *arguments, **environment)
    with served.process:
        try:
            yield served
            served.process.terminate()
            assert served.process.wait(30) == 0
            assert served.process.stdout and served.process.stdout.read() == b""
            assert served.process.stderr and b"Traceback" not in served.process.stderr.read()
        finally:
            served.process.kill()


def sessions(folder: Path) -> list[recollect.Session]:
    with recollect.open(folder / "memory.db", namespace="proj1", embedder="none") as memories:
        return memories.sessions()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests that leave it running and ask nothing of an empty store."""
    with serving(tmp_path_factory.mktemp("served"), "--tools", "all") as served:
        yield served


@pytest.mark.parametrize("mode", BOTH_PROTOCOLS)
def test_a_client_over_http(served: Served, mode: str) -> None:
    async def agree(*_: Any) -> Any:
        from mcp_types import ElicitResult

        return ElicitResult(action="accept", content={"forget": True})

    with served.client(mode, "claude", elicitation_callback=agree) as agent:
        id = agent.remember("Grüße aus 東京 😀")
        assert agent.content("search", query="東京")["hits"][0]["memory"]["id"] == id
        assert "東京" in agent.read(f"memory://{id}")
        assert agent.content("forget", ids=[id])["memories"] == 1


def test_each_client_has_a_session_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with (
            served.client("legacy", "one") as one,
            served.client("legacy", "two") as two,
            served.client("auto", "three") as three,
        ):
            for turn in range(2):
                for agent in (one, two, three):
                    agent.remember(f"Turn {turn} of {id(agent)}")
            one.call("search", query="turn")
        after = {each.agent: each for each in sessions(tmp_path)}
        deadline = time.monotonic() + 60
        while not (after["one"].ended_at and after["two"].ended_at) and time.monotonic() < deadline:
            time.sleep(0.05)  # a goodbye is answered first and noted then
            after = {each.agent: each for each in sessions(tmp_path)}
        assert {(name, each.memories) for name, each in after.items()} == {
            ("one", 2),
            ("two", 2),
            ("three", 2),
        }
        assert after["one"].ended_at and after["two"].ended_at  # they said goodbye
        assert after["three"].ended_at is None  # its protocol has no goodbye
    assert all(each.ended_at for each in sessions(tmp_path))


def test_clients_that_are_still_there_when_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        opened = served.post()
        assert opened.status_code == 200
        call = {"name": "remember", "arguments": {"text": "Kept"}}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        assert "Remembered" in served.post(body, **{"Mcp-Session-Id": opened.headers["mcp-session-id"]}).text
        assert sessions(tmp_path)[0].ended_at is None
    assert sessions(tmp_path)[0].ended_at is not None


@pytest.mark.parametrize("token", ["x", "wrong", "é"])
def test_nobody_gets_in_without_the_token(served: Served, token: str) -> None:
    refused = served.post(token=token)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert httpx2.post(served.url, json=HELLO, headers=ACCEPT).status_code == 401
    assert httpx2.get(served.url.replace("/mcp", "/")).status_code == 401


def test_the_token_can_be_given(tmp_path: Path) -> None:
    with serving(tmp_path, RECOLLECT_TOKEN="hush-hush-hush-hush") as served:
        assert served.token == "hush-hush-hush-hush"
        assert served.post().status_code == 200
        assert served.post(token="other").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Host": "localhost:80", "Origin": "http://localhost:3000"}, 200),
    ],
)
def test_foreign_hosts_and_origins_are_refused(served: Served, headers: dict[str, str], status: int) -> None:
    assert served.post(**headers).status_code == status


def test_further_host_names_must_be_named(tmp_path: Path) -> None:
    with serving(tmp_path, "--allow-host", "memory.example") as served:
        assert served.post(Host="memory.example").status_code == 200
        assert served.post(Host="memory.example", Origin="https://memory.example").status_code == 200
        assert served.post(Host="other.example").status_code == 421


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_half_characters_do_not_end_it(served: Served, version: str) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {served.token}", **ACCEPT}
    prefix = "io.modelcontextprotocol"
    meta = f'"{prefix}/protocolVersion": "{version}", "{prefix}/clientCapabilities": {{}}'
    if version == "2025-06-18":
        meta = ""
        headers["Mcp-Session-Id"] = served.post().headers["mcp-session-id"]
    headers |= {"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "search"}
    body = (
        '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": '
        '{"name": "search", "arguments": {"query": "%s"}, "_meta": {%s}}}'
    )
    for query, found in (("\\ud800", False), ("whole", True)):
        answered = httpx2.post(served.url, content=body % (query, meta), headers=headers, timeout=60)
        assert answered.status_code in ((200,) if found else (200, 400)), answered.text
        assert "Traceback" not in answered.text


def test_a_port_that_is_taken(tmp_path: Path, served: Served) -> None:
    port = served.url.rsplit(":", 1)[1].partition("/")[0]
    done = subprocess.run(
        [sys.executable, "-m", "recollect.doors.cli", "mcp", "--http", "--port", port],
        capture_output=True,
        env={**os.environ, **settings(tmp_path)},
    )
    assert done.returncode == 3
    assert b"in use" in done.stderr and b"Traceback" not in done.stderr


def test_it_ends_in_order_with_ctrl_c(tmp_path: Path) -> None:
    served = Served(tmp_path)
    with served.process:
        try:
            served.post()
            served.process.send_signal(signal.SIGINT)
            assert served.process.wait(30) == 0
        finally:
            served.process.kill()
