"""Claude Code as the hooks see it: a home, a project, transcripts, and calls of `recollect hook`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import recollect
from recollect import Memories, project
from recollect.doors.cli.program import NAME
from recollect.doors.cli.program import recollect as program

HOOK = [sys.executable, "-m", "recollect.doors.cli"]
PATIENCE = 120.0


def uuid(number: int) -> str:
    return f"11111111-0000-4000-8000-{number:012d}"


def user(number: int, text: str, **fields: Any) -> dict[str, Any]:
    """What a person said, as Claude Code writes it down."""
    return {
        "type": "user",
        "uuid": uuid(number),
        "timestamp": f"2026-11-10T09:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        "sessionId": "s1",
        "gitBranch": "main",
        "message": {"role": "user", "content": text},
        **fields,
    }


def assistant(number: int, *blocks: str | dict[str, Any], message: str | None = None) -> dict[str, Any]:
    """What Claude said and did, as Claude Code writes it down."""
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    answer = {"id": message or f"msg_{number}", "role": "assistant", "content": content}
    return {**user(number, ""), "type": "assistant", "message": answer}


TOOL_USE = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "schema.sql"}}
TALK = (
    {"type": "ai-title", "aiTitle": "Choosing a database for billing"},
    user(1, "Which database should the billing service use?<system-reminder>be brief</system-reminder>"),
    assistant(2, {"type": "thinking", "thinking": "secret"}, "Let me see the schema.", TOOL_USE),
    user(3, "", message={"role": "user", "content": [{"type": "tool_result", "content": "CREATE TABLE"}]}),
    assistant(4, "PostgreSQL 17.2 suits billing, since it has row level security."),
)
QUESTION = "which database was chosen for the billing service?"


class Agent:
    """A project in a home folder, and hooks that are called for it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "app"
        self.project.mkdir(parents=True)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RECOLLECT_", "XDG_", "CLAUDE"))
        } | {"HOME": str(self.home), "RECOLLECT_EMBEDDER": "hash"}
        self.store = self.home / ".local" / "share" / "recollect" / "memory.db"

    def transcript(self, *records: Any, session: str = "s1", tail: str = "") -> Path:
        path = self.home / f"{session}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records) + tail)
        return path

    def payload(self, session: str = "s1", **fields: str) -> str:
        common = {"session_id": session, "transcript_path": str(self.home / f"{session}.jsonl")}
        return json.dumps({**common, "cwd": str(self.project), **fields})

    def call(self, event: str, *options: str, session: str = "s1", **fields: str) -> str:
        """What a hook injected; it must end with 0, and say nothing else."""
        done = self.run(event, *options, input=self.payload(session, **fields))
        if not done.stdout:
            return ""
        answer = json.loads(done.stdout)["hookSpecificOutput"]
        expected = {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit"}
        assert answer["hookEventName"] == expected[event]
        return str(answer["additionalContext"])

    def run(self, event: str, *options: str, input: str) -> subprocess.CompletedProcess[str]:
        patient = [] if "--timeout" in options else ["--timeout", str(PATIENCE)]
        done = subprocess.run(
            [*HOOK, "hook", event, *options, *patient],
            input=input, capture_output=True, text=True, timeout=PATIENCE, env=self.environment, cwd=self.home
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    def memories(self, namespace: str | None = None) -> Memories:
        named = namespace or project.namespace_of(self.project)
        self.store.parent.mkdir(parents=True, exist_ok=True)
        return recollect.open(self.store, namespace=named, embedder="hash")

    def kept(self, namespace: str | None = None) -> list[tuple[str | None, str]]:
        """Who said what, as it was kept."""
        if not self.store.exists():
            return []
        with self.memories(namespace) as memories:
            found = memories.get([each.id for each in memories.timeline(limit=1000)])
            return [(memory.speaker, memory.content) for memory in found]

    def log(self, *options: str) -> str:
        """What `recollect hook --log` tells, asked in this process."""
        others = {name: None for name in os.environ if name not in self.environment}
        done = CliRunner(env={**others, **self.environment}).invoke(
            program, ["hook", "--log", *options], prog_name=NAME, catch_exceptions=False
        )
        assert done.exit_code == 0, done.stderr
        return done.stdout

    def forget_log(self) -> None:
        (self.home / ".local" / "state" / "recollect" / "log" / "hooks.log").unlink(missing_ok=True)

    def waiting(self) -> int:
        return int(json.loads(self.log("--json"))["waiting"])


def until(condition: Callable[[], object]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.1)
