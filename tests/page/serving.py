"""A real `recollect serve`, and a small history that is always the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import recollect
from recollect import Draft, Memories

PATIENCE = 60


class Site:
    """The server under test, on a store and with tokens of its own; it can be stopped and started again."""

    def __init__(self, folder: Path, embedder: str = "hash") -> None:
        self.folder = folder
        self.embedder = embedder
        self.store = str(folder / "memory.db")
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = self.token = ""

    def start(self, *options: str) -> None:
        """Serve; the same address again after a stop."""
        self._process = self._recollect("--json", "serve", "--port", str(self._port), *options)
        told = self._answer(self._process)
        self.url, self.token = told["url"], told["token"]
        self._port = int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        """End it, as Ctrl-C does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=PATIENCE)
        self._process = None

    def new_token(self, name: str, *options: str) -> str:
        """A further token."""
        made = self._recollect("--json", "token", "add", name, *options)
        output, _ = made.communicate(timeout=PATIENCE)
        return str(json.loads(output)["token"])

    def remove_token(self, name: str) -> None:
        """Refuse a token from now on."""
        self._recollect("token", "remove", name).communicate(timeout=PATIENCE)

    def memories(self, namespace: str) -> Memories:
        """The memories of a namespace, past the server."""
        return recollect.open(self.store, namespace=namespace, embedder=self.embedder)

    def address(self, namespace: str, view: str = "search", **query: str) -> str:
        """Where a view is."""
        return f"{self.url}/#/{view}?{urlencode({'ns': namespace, **query})}"

    def _recollect(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "recollect.doors.cli", "-s", self.store, "--embedder", self.embedder]
        environment = {
            **os.environ,
            "RECOLLECT_TOKENS": str(self.folder / "tokens.json"),
            "RECOLLECT_NAMESPACE": "default",
            "XDG_CONFIG_HOME": str(self.folder),
            "PYTHONPATH": str(Path(recollect.__file__).parents[1]),
        }
        environment.pop("RECOLLECT_TOKEN", None)
        return subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def _answer(self, process: subprocess.Popen[str]) -> Any:
        """The JSON that it prints once it can be reached."""
        assert process.stdout is not None
        text = ""
        while line := process.stdout.readline():
            text += line
            if line.startswith("}"):
                return json.loads(text)
        _, trouble = process.communicate(timeout=PATIENCE)
        raise RuntimeError(f"recollect serve did not start: {trouble}")


def days_ago(days: float, hour: int = 9) -> datetime:
    """That many days before today, at some hour."""
    return datetime.combine(
        (datetime.now(UTC) - timedelta(days=days)).date(), datetime.min.time(), UTC
    ) + timedelta(hours=hour)


def fill(memories: Memories) -> None:
    """Three weeks of a small project: two sessions, a supersession, a relation, a document."""
    memories.start_session("kickoff", agent="scout", started_at=days_ago(20))
    memories.start_session("lost-phone", agent="scout", started_at=days_ago(7))
    drafts = []
    for id, text, age, more in (
        ("port-8080", "The gateway listens on port 8080", 20, {"session": "kickoff", "tags": ["network"]}),
        ("stack", "We chose PostgreSQL for bookings", 20, {"session": "kickoff", "sector": "reflective"}),
        ("cookie", "Members stay logged in with a cookie", 19, {"tags": ["auth"]}),
        ("deploy", "To deploy, run make release and wait", 12, {"sector": "procedural", "tags": ["ops"]}),
        ("lost", "A member lost her phone", 7, {"session": "lost-phone", "speaker": "Mara"}),
        ("revoke", "Then tokens must be revocable", 7, {"session": "lost-phone", "speaker": "Jonas"}),
        ("tokens", "Members log in with opaque tokens", 7, {"session": "lost-phone", "tags": ["auth"]}),
        ("port-9090", "The gateway listens on port 9090", 3, {"tags": ["network"], "trust": "low"}),
    ):
        drafts.append(Draft(text, id=id, created_at=days_ago(age), **more))
    memories.remember_many(drafts)
    memories.supersede("port-8080", "port-9090")
    memories.relate("tokens", "lost", "caused_by")
    memories.end_session("kickoff", summary="Ports and databases", ended_at=days_ago(20, 11))
    memories.end_session("lost-phone", summary="Tokens that can be revoked", ended_at=days_ago(7, 12))
    memories.ingest_text("handbook.md", "# Handbook\n\nRestart the gateway from the console.")
