"""A peer's process, and what is known of its store on disk."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import ROOT


class Failed(Exception):
    """A peer could not do what it was asked; it is left out from here on."""


class Process:
    """A driver, asked line by line."""

    def __init__(
        self, python: Path, name: str, store: Path, data: Path, variables: Mapping[str, str], log: Path
    ) -> None:
        self._log = log.open("a", encoding="utf-8")
        self._child = subprocess.Popen(
            [str(python), "-m", "benchmarks.peers.driver", name, str(store), str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=dict(variables),
            cwd=ROOT,
            text=True,
        )
        self.idle = 0.0

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """The reply; Failed when there is none, or an error."""
        if self._child.stdin is None or self._child.stdout is None:
            raise Failed("it has no pipes")
        try:
            print(json.dumps({"do": do, **given}), file=self._child.stdin, flush=True)
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"it ended at {do}, see {self._log.name}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise Failed(f"{do}: {reply['error']}")
        self.idle += reply["idle"]
        return reply

    def end(self) -> None:
        """Close the store and wait; one that doesn't end by itself is ended."""
        with suppress(Failed):
            self.ask("close")
        if self._child.stdin:
            self._child.stdin.close()
        try:
            self._child.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
        self._log.close()

    def kill(self) -> None:
        """At once."""
        self._child.kill()
        self._child.wait()


def size_of(folder: Path) -> int:
    """Bytes that the files of a folder take on disk; a file with holes takes less than it is long."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def copied(built: Path, to: Path) -> Path:
    """A store to measure, so that the built one stays as it is."""
    shutil.rmtree(to, ignore_errors=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(built), str(to)], check=True)
    return to
