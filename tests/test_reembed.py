"""`recollect reembed` in real processes: interrupted anywhere, resumed without repeating; searched always."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Memories

from .conftest import sqlite_only
from .providers import Fault, Provider, Request

NUMBER = 300
WHOLE_BATCHES = 128
"""How many have their vectors when the third batch of 64 is under way."""
NOMIC = "ollama:nomic-embed-text"


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with Provider() as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url)
        yield running


class Gate:
    """Holds the request with this number, and every later one, until it is opened."""

    def __init__(self, provider: Provider, number: int) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self._count = 0
        self._number = number
        provider.before = self._pass

    def _pass(self, request: Request) -> None:
        self._count += 1
        if self._count >= self._number:
            self.reached.set()
            self.opened.wait(60)


def opened(url: str, embedder: str = "auto") -> Memories:
    return recollect.open(url, namespace="proj1", embedder=embedder)


def filled(url: str, embedder: str = "hash:64") -> None:
    with opened(url, embedder) as memories:
        memories.remember_many(f"Note {number:03d} about pier {number * 31}" for number in range(NUMBER))


def start(url: str, embedder: str = NOMIC) -> subprocess.Popen[str]:
    """`recollect reembed` in a process of its own."""
    arguments = ["--store", url, "-n", "proj1", "--embedder", embedder, "reembed"]
    return subprocess.Popen(
        [sys.executable, "-m", "recollect.doors.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str], code: int = 0) -> str:
    """What it said, once it has ended with this code."""
    out, err = child.communicate(timeout=120)
    assert child.returncode == code, err
    assert "Traceback" not in err
    return out + err


def is_searched_by(url: str, model: str) -> None:
    """Every kind of search works, with the vectors of this model."""
    with opened(url) as memories:
        assert memories.stats().embedder == model
        found = memories.recall("Note 123 about pier 3813", mode="semantic")
        assert found[0].memory.content == "Note 123 about pier 3813"
        assert found[0].why.semantic is not None
        assert memories.recall("3813", mode="keyword")[0].memory.content == "Note 123 about pier 3813"


@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_interrupted_and_resumed_without_repeating(store_url: str, provider: Provider, how: str) -> None:
    filled(store_url)
    gate = Gate(provider, 6)
    child = start(store_url)
    assert gate.reached.wait(60)
    with opened(store_url, NOMIC) as memories:  # while it is at work
        assert memories.stats().embedder == "hash:64"
        assert memories.recall("Note 123 about pier 3813", mode="semantic")[0].why.semantic is not None
    child.send_signal(getattr(signal, how))
    gate.opened.set()
    told = finish(child, 130 if how == "SIGINT" else -signal.SIGKILL)
    assert ("running it again goes on from there" in told) == (how == "SIGINT")
    provider.before = lambda request: None
    is_searched_by(store_url, "hash:64")
    before = Counter(provider.texts[:WHOLE_BATCHES])
    provider.asked.clear()
    assert finish(start(store_url)) == "all embedded\n"
    assert len(provider.texts) == NUMBER - WHOLE_BATCHES
    assert not before & Counter(provider.texts)
    is_searched_by(store_url, NOMIC)
    provider.asked.clear()
    finish(start(store_url))
    assert provider.asked == [], "nothing is left to do"
    with opened(store_url) as memories:
        assert memories.doctor() == []
        stats = memories.stats()
        assert (stats.vectors, stats.pending_vectors) == (NUMBER, 0)


def test_killed_again_and_again_it_still_arrives(store_url: str, provider: Provider) -> None:
    filled(store_url)
    waiting = NUMBER
    while waiting:
        gate = Gate(provider, 4)  # one batch of 64 is kept each time; then it dies
        child = start(store_url)
        if waiting <= 64:
            gate.opened.set()
            finish(child)
            break
        assert gate.reached.wait(60)
        child.kill()
        gate.opened.set()
        child.communicate(timeout=60)
        is_searched_by_old(store_url)
        waiting -= 64
    is_searched_by(store_url, NOMIC)


def is_searched_by_old(url: str) -> None:
    with opened(url) as memories:
        assert memories.stats().embedder == "hash:64"
        assert memories.recall("pier 3813", mode="hybrid")[0].memory.content == "Note 123 about pier 3813"


def test_faults_on_the_way_that_pass(store_url: str, provider: Provider) -> None:
    filled(store_url)
    provider.faults = [
        Fault(),
        Fault(500),
        Fault(429, headers={"Retry-After": "0"}),
        Fault(),
        Fault(breaks=True),
    ]
    assert finish(start(store_url)) == "all embedded\n"
    is_searched_by(store_url, NOMIC)


def test_a_provider_that_dies_on_the_way(store_url: str, provider: Provider) -> None:
    filled(store_url)
    gate = Gate(provider, 6)
    child = start(store_url)
    assert gate.reached.wait(60)
    provider.stop()
    gate.opened.set()
    said = finish(child, 4)
    assert f"{NUMBER - WHOLE_BATCHES} memories still without a vector" in said
    assert "run recollect reembed again" in said
    assert "No vectors for now: ollama at" in said
    is_searched_by(store_url, "hash:64")
    provider.before = lambda request: None
    provider.asked.clear()
    provider.start()
    assert finish(start(store_url)) == "all embedded\n"
    assert len(provider.texts) == NUMBER - WHOLE_BATCHES
    is_searched_by(store_url, NOMIC)


def test_the_same_text_written_by_another_model_keeps_the_vectors_of_the_first(store_url: str) -> None:
    """Until everything is embedded anew, the first model's are searched."""
    with opened(store_url, "hash:64") as memories:
        id = memories.remember("The harbour is closed").id
        memories.remember("Bees swarm in May")
    with opened(store_url, "hash:128") as memories:
        memories.update(id, text="The harbour is closed")
    with opened(store_url, "hash:64") as memories:
        found = memories.recall("The harbour is closed", mode="semantic")
        assert found[0].memory.id == id
        assert memories.stats().pending_vectors == 0


def test_what_others_write_meanwhile_is_embedded_too(store_url: str, provider: Provider) -> None:
    filled(store_url)
    gate = Gate(provider, 6)
    child = start(store_url)
    assert gate.reached.wait(60)
    with opened(store_url, "none") as memories:
        memories.remember("A late fact about clams")
    gate.opened.set()
    finish(child)
    with opened(store_url) as memories:
        assert memories.stats().pending_vectors == 0
        assert memories.recall("a late fact about clams", mode="semantic")[0].why.semantic is not None


@sqlite_only
@pytest.mark.skipif(sys.platform == "win32", reason="no terminals like these there")
def test_it_shows_how_far_it_is(store_url: str, provider: Provider) -> None:
    import pty

    filled(store_url)
    ours, theirs = pty.openpty()
    arguments = ["--store", store_url, "-n", "proj1", "--embedder", NOMIC, "reembed"]
    child = subprocess.Popen(
        [sys.executable, "-m", "recollect.doors.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, b"all embedded\n")
    assert b"embedding" in shown
    assert f"{NUMBER}/{NUMBER}".encode() in shown
