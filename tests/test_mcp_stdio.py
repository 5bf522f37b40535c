"""`recollect mcp` in a process of its own, with the SDK's client and with bytes of ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memories
from recollect.doors.mcp.stdio import whole

from .agents import BOTH_PROTOCOLS, command, connected, settings
from .test_cli import Cli, cli

__all__ = ["cli"]

PROGRAM = ("-m", "recollect.doors.cli", "mcp")
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}


def opened(folder: Path) -> Memories:
    return recollect.open(folder / "memory.db", namespace="proj1", embedder="none")


class ByHand:
    """A client that writes and reads lines."""

    def __init__(self, folder: Path, *arguments: str, program: Sequence[str] = PROGRAM) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **settings(folder)},
            cwd=folder,
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any], id: int = 1) -> dict[str, Any]:
        """What it answers; every line must be JSON."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["id"] == id
        return answer

    def begin(self) -> None:
        assert self.ask("initialize", HELLO)["result"]["serverInfo"]["name"] == "recollect"
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answered: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return answered


@contextmanager
def by_hand(folder: Path, *arguments: str, program: Sequence[str] = PROGRAM) -> Iterator[ByHand]:
    client = ByHand(folder, *arguments, program=program)
    with client.process:
        try:
            yield client
        finally:
            client.process.kill()


@pytest.mark.parametrize("mode", BOTH_PROTOCOLS)
@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}])
def test_a_client_over_stdio(tmp_path: Path, mode: str, locale: dict[str, str]) -> None:
    text = "Grüße aus 東京 😀 \u202e\x1b[31m " + "x" * 100_000
    with connected(command(tmp_path, "--tools", "all", **locale), mode, "claude") as agent:
        id = agent.remember(text)
        assert "Grüße aus 東京 😀" in agent.text("search", query="Grüße 東京")
        assert agent.content("get", ids=id)["memories"][0]["content"] in text
        assert "nope" in agent.error("get", ids=["nope"])
        assert "sing" in agent.error("sing")
        assert "Grüße" in agent.read(f"memory://{id}")
        assert "Grüße" in agent.prompt("recall", topic="Grüße")
    with opened(tmp_path) as memories:
        assert memories.get(id).content == text
        (session,) = memories.sessions()
        assert (session.agent, session.memories) == ("claude", 1)
        assert session.ended_at is not None


def test_two_clients_on_one_file_at_once(tmp_path: Path) -> None:
    def write(name: str) -> list[str]:
        with connected(command(tmp_path), name=name) as agent:
            ids = [agent.remember(f"Number {number}, says {name}") for number in range(15)]
            assert agent.content("search", query="number")["hits"]
            return ids

    with ThreadPoolExecutor() as pool:
        written = [id for ids in pool.map(write, ("one", "two")) for id in ids]
    with opened(tmp_path) as memories:
        assert {memory.id for memory in memories.get(written)} == set(written)
        assert len(written) == 30
        assert {(each.agent, each.memories) for each in memories.sessions()} == {("one", 15), ("two", 15)}
        assert memories.doctor() == []


def test_the_options(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:ours/it.git\n')
    options = ("--agent", "night shift", "--max-tokens", "1000", "-n", ".")
    with connected(command(tmp_path, *options)) as agent:
        assert "'example.org/ours/it'" in (agent.client.instructions or "")
        id = agent.remember("walrus " * 2_000)
        assert "part=2" in agent.text("get", ids=id)
    with opened(tmp_path).in_namespace("example.org/ours/it") as memories:
        assert memories.sessions()[0].agent == "night shift"
        memories._store.close()


def test_half_characters_and_nonsense_do_not_end_it(tmp_path: Path) -> None:
    with by_hand(tmp_path) as client:
        client.begin()
        for nonsense in (
            b"",
            b"not json",
            b"\xff\xfe\x00",
            b"[" * 100_000,
            b'{"jsonrpc": "2.0"}',
            b"[]",
            b"null",
        ):
            client.send(nonsense)
        assert not client.call("remember", text="Half \ud83d of it").get("isError")
        assert client.call("no\udc80thing", te="\ud800")["isError"]
        assert client.call("search", **{"query": "\ud800", "\udfff": 1})["isError"]
        assert "NUL" in client.call("remember", text="a\x00b")["content"][0]["text"]
        found = client.call("search", query="half \ud83d")
        assert found["structuredContent"]["hits"]
        assert client.process.stdin
        client.process.stdin.close()
        assert client.process.wait(30) == 0
    with opened(tmp_path) as memories:
        assert [each.text for each in memories.timeline()] == ["Half \ufffd of it"]


def test_only_half_characters_are_replaced() -> None:
    for line in (
        b'{"a": "\\ud83d\\ude00"}',
        b'{"a": "\\\\ud83d"}',
        '{"a": "日本"}'.encode(),
        b'{"a": "\\ud8',
    ):
        try:
            expected = json.loads(line)
        except ValueError:
            assert whole(line) == line
        else:
            assert json.loads(whole(line)) == expected


@pytest.mark.parametrize("ended_by", ["eof", "SIGTERM", "SIGINT"])
def test_the_session_ends_however_the_process_is_ended(tmp_path: Path, ended_by: str) -> None:
    with by_hand(tmp_path) as client:
        client.begin()
        assert not client.call("remember", text="Kept")["isError"]
        if ended_by == "eof":
            assert client.process.stdin
            client.process.stdin.close()
        else:
            client.process.send_signal(signal.Signals[ended_by])
        assert client.process.wait(30) == (130 if ended_by == "SIGINT" else 0)
        assert client.process.stdout and client.process.stdout.read() == b""
        assert client.process.stderr and b"Traceback" not in client.process.stderr.read()
    with opened(tmp_path) as memories:
        assert memories.sessions()[0].ended_at is not None


ASLEEP = """
import signal, sys, threading, time
from pathlib import Path
from recollect.doors.cli import main

def wait_and_signal():
    while not Path("now").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=wait_and_signal, daemon=True).start()
main(["mcp"])
"""
"""A signal that does not wake the main thread, as when it comes just before that goes to sleep."""


def test_a_signal_at_an_unlucky_moment_ends_it_too(tmp_path: Path) -> None:
    with by_hand(tmp_path, program=("-c", ASLEEP)) as client:
        client.begin()
        assert not client.call("remember", text="Kept")["isError"]
        (tmp_path / "now").touch()
        assert client.process.wait(30) == 0
    with opened(tmp_path) as memories:
        assert memories.sessions()[0].ended_at is not None


CLOSED = """
import os, time
from pathlib import Path
from recollect.doors.mcp.stdio import Intake

intake = Intake()
os.open(os.devnull, os.O_RDONLY)  # takes the number that making the pipe left free
intake.close()
with Path("file").open("wb") as file:
    print("closed", flush=True)
    while not Path("sent").exists():
        time.sleep(0.05)
    time.sleep(0.5)
"""
"""A file that is opened when standard input was ended from within, as the store is to end the session."""


def test_a_line_that_comes_too_late_goes_into_no_file(tmp_path: Path) -> None:
    with by_hand(tmp_path, program=("-c", CLOSED)) as client:
        assert client.process.stdout and client.process.stdout.readline() == b"closed\n"
        client.send(b'{"jsonrpc": "2.0", "id": 9, "method": "tools/list"}')
        (tmp_path / "sent").touch()
        assert client.process.wait(30) == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_a_client_that_vanishes_leaves_no_orphan(tmp_path: Path) -> None:
    with by_hand(tmp_path) as client:
        client.begin()
        assert client.process.stdin and client.process.stdout and client.process.stderr
        client.call("remember", text="Kept")
        client.process.stdout.close()
        client.send(b'{"jsonrpc": "2.0", "id": 9, "method": "tools/list"}')
        client.process.stdin.close()
        assert client.process.wait(30) == 0
        assert b"Traceback" not in client.process.stderr.read()
    with opened(tmp_path) as memories:
        assert memories.sessions()[0].ended_at is not None


def test_a_client_that_goes_at_once(tmp_path: Path) -> None:
    with by_hand(tmp_path) as client:
        assert client.process.stdin
        client.process.stdin.close()
        assert client.process.wait(30) == 0
    with opened(tmp_path) as memories:
        assert memories.sessions() == []


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
    code += "from recollect.doors.cli import main; main(['mcp'])"
    environment = {**os.environ, **settings(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ") and done.stderr.endswith("pip install 'recollect[mcp]'.\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--port", "1"), "--http"),
        (("--host", "localhost"), "--http"),
        (("--token", "a-token-for-the-tests"), "--http"),
        (("--http", "--host", "0.0.0.0"), "--allow-host"),
        (("--http", "--host", "192.0.2.1"), "--allow-host"),
        (("--max-tokens", "10"), "--max-tokens"),
        (("--tools", "many"), "--tools"),
    ],
)
def test_options_that_can_t_be_used(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    assert said in cli.error("mcp", *arguments)
