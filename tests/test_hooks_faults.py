"""Whatever goes wrong, a hook ends with 0 and in its time, says nothing, and the log tells what it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import project
from recollect.doors.agents import lock

from .hooked import HOOK, PATIENCE, QUESTION, TALK, Agent, assistant, until, user

PIPES: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
PROMPT = [*HOOK, "hook", "user-prompt", "--timeout", str(PATIENCE)]
EVENTS = ("session-start", "user-prompt", "pre-compact", "session-end")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.fixture
def known(agent: Agent) -> Agent:
    """An agent whose project has something to tell."""
    with agent.memories() as memories:
        memories.remember("The billing service uses PostgreSQL 17.2")
    return agent


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process has the whole store for itself, even against readers."""
    code = f"""
import apsw, sys
store = apsw.Connection({str(path)!r})
list(store.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"))
print("locked", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout and other.stdout.readline() == b"locked\n"
        yield
        other.communicate()


@pytest.mark.parametrize("event", ["session-start", "user-prompt"])
def test_a_store_that_somebody_else_has_locked(known: Agent, event: str) -> None:
    with locked(known.store):
        assert known.call(event, "--timeout", "1.5", prompt=QUESTION) == ""
    assert event in known.log()
    assert "PostgreSQL" in known.call(event, prompt=QUESTION)


def test_what_could_not_be_captured_is_captured_the_next_time(known: Agent) -> None:
    known.transcript(*TALK)
    with locked(known.store):
        known.call("session-end", "--wait", "--timeout", "1.5")
    assert known.waiting() == 1
    assert "session-end" in known.log()
    known.call("session-start", session="s2", source="startup")
    until(lambda: known.waiting() == 0)
    assert len(known.kept()) == 3


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("given", ["", "garbage", "[1, 2]", '{"cwd": 3}', '{"a": ' * 50_000, "\x00\ufffd{}"])
def test_input_that_makes_no_sense(agent: Agent, event: str, given: str) -> None:
    assert agent.run(event, input=given).stdout == ""


@pytest.mark.parametrize("event", EVENTS)
def test_input_that_never_comes(agent: Agent, event: str) -> None:
    command = [*HOOK, "hook", event, "--timeout", "0.5"]
    with subprocess.Popen(command, env=agent.environment, **PIPES) as hook:
        assert hook.stdin and hook.stdout
        hook.stdin.write(b'{"cwd": "/", ')
        hook.stdin.flush()
        assert hook.wait(PATIENCE) == 0
        assert hook.stdout.read() == b""
    assert "gave up after 0.5 s while reading standard input" in agent.log()


def test_input_that_is_complete_but_never_closed_is_answered(known: Agent) -> None:
    with subprocess.Popen(PROMPT, env=known.environment, **PIPES) as hook:
        assert hook.stdin and hook.stdout
        hook.stdin.write(known.payload(prompt=QUESTION + " {a}").encode())
        hook.stdin.flush()
        assert b"PostgreSQL" in hook.stdout.read()
        assert hook.wait(PATIENCE) == 0
        hook.stdin.close()


@pytest.mark.parametrize("event", EVENTS)
def test_a_folder_that_is_not_there(agent: Agent, event: str) -> None:
    assert agent.call(event, cwd=str(agent.home / "gone"), prompt=QUESTION) == ""
    assert "gone" in agent.log()


def test_a_transcript_that_is_not_there_is_given_up_in_the_end(agent: Agent) -> None:
    agent.call("session-end", "--wait")
    assert "is not there" in agent.log()
    for number in range(4):
        assert (agent.waiting(), agent.log().count("given up")) == (1, 0), number
        agent.run("capture", input="")
    assert (agent.waiting(), agent.log().count("given up")) == (0, 1)
    assert agent.kept() == []


@pytest.mark.parametrize("event", EVENTS)
def test_settings_that_are_broken(agent: Agent, event: str) -> None:
    (agent.project / "recollect.toml").write_text("url = ")
    assert agent.call(event, prompt=QUESTION) == ""
    assert "recollect.toml" in agent.log()


@pytest.mark.parametrize("event", EVENTS)
def test_a_store_that_is_none(agent: Agent, event: str) -> None:
    agent.transcript(*TALK)
    agent.store.parent.mkdir(parents=True)
    agent.store.write_bytes(b"this is no store" * 1000)
    options = ["--wait"] if event in ("pre-compact", "session-end") else []
    assert agent.call(event, *options, prompt=QUESTION) == ""
    assert "memory.db" in agent.log()
    assert agent.store.read_bytes() == b"this is no store" * 1000


def test_a_home_where_nothing_can_be_written(agent: Agent) -> None:
    agent.transcript(*TALK)
    (agent.home / ".local").write_text("a file")
    for event in EVENTS:
        done = agent.run(event, input=agent.payload(prompt=QUESTION))
        assert done.stdout == ""
        assert event in done.stderr or event in ("session-start", "user-prompt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_answer_that_nobody_takes(known: Agent) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            PROMPT,
            input=known.payload(prompt=QUESTION).encode(), stdout=full, env=known.environment,
        )  # fmt: skip
    assert done.returncode == 0
    assert "while answering" in known.log()
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        PROMPT,
        input=known.payload(prompt=QUESTION).encode(), stdout=writing, env=known.environment, timeout=PATIENCE
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["hook", "bogus"],
        ["hook", "user-prompt", "--new-option"],
        ["hook", "user-prompt", "--timeout", "x"],
        ["hook"],
        ["hook", "-n", ""],
        ["--new-option", "hook", "user-prompt"],
        ["-n", "", "hook", "session-end"],
    ],
)
def test_a_command_line_of_another_version_stops_nobody(agent: Agent, arguments: list[str]) -> None:
    command = [*HOOK, *arguments]
    done = subprocess.run(command, input="{}", capture_output=True, text=True, env=agent.environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Error: ")
    assert agent.log().count(" hook ") == 1


def test_hooks_that_end_at_once_keep_each_turn_once(agent: Agent) -> None:
    agent.transcript(*TALK)
    command = [*HOOK, "hook", "session-end", "--timeout", str(PATIENCE)]
    both = [
        subprocess.Popen([*command, *more], stdin=subprocess.PIPE, env=agent.environment)
        for more in ([], ["--wait"], [], ["--wait"])
    ]
    for hook in both:
        assert hook.stdin
        hook.stdin.write(agent.payload().encode())
        hook.stdin.close()
    assert [hook.wait(PATIENCE) for hook in both] == [0, 0, 0, 0]
    agent.run("capture", input="")
    until(lambda: agent.waiting() == 0)
    assert len(agent.kept()) == 2
    assert agent.log() == ""


def test_prompts_of_one_session_at_once_are_both_answered(known: Agent) -> None:
    hooks = [subprocess.Popen(PROMPT, env=known.environment, **PIPES) for _ in range(3)]
    answers = [
        hook.communicate(known.payload(prompt=QUESTION).encode(), timeout=PATIENCE)[0] for hook in hooks
    ]
    assert [hook.returncode for hook in hooks] == [0, 0, 0]
    assert any(b"PostgreSQL" in answer for answer in answers)


def test_only_one_process_captures_at_a_time(agent: Agent) -> None:
    agent.transcript(*TALK)
    state = agent.home / ".local" / "state" / "recollect" / "hooks"
    with lock.taken(state / "capture.lock") as is_ours:
        assert is_ours
        agent.call("session-end", "--wait")
        assert (agent.kept(), agent.waiting()) == ([], 1)
    agent.run("capture", input="")
    assert len(agent.kept()) == 2


def test_a_capture_that_is_cut_off_goes_on_later_and_keeps_each_turn_once(agent: Agent) -> None:
    turns = [
        each
        for n in range(1, 2001, 2)
        for each in (user(n, f"ask {n} please"), assistant(n + 1, f"done {n}"))
    ]
    agent.transcript(*turns)
    agent.call("session-end", "--wait", "--timeout", "1")
    agent.run("capture", "--timeout", "100", input="")
    until(lambda: agent.waiting() == 0)
    with agent.memories() as memories:
        assert memories.stats().memories == 2000


def test_a_capture_that_never_ends_is_given_up_and_holds_up_no_other(known: Agent) -> None:
    known.transcript(*TALK)
    known.transcript(*TALK, session="s2")
    other = known.home / "other.db"
    with locked(known.store):
        known.call("session-end", "--wait", "--timeout", "1")
        known.call("session-end", "-s", str(other), "--wait", "--timeout", "2", session="s2")
        assert known.waiting() == 1
        for _ in range(4):
            known.run("capture", "--timeout", "1", input="")
        assert known.waiting() == 0
    assert "given up" in known.log()
    with recollect.open(other, namespace=project.namespace_of(known.project), embedder="hash") as memories:
        assert len(memories.timeline()) == 2


def test_the_log_does_not_grow_for_ever(agent: Agent) -> None:
    log = agent.home / ".local" / "state" / "recollect" / "log" / "hooks.log"
    log.parent.mkdir(parents=True)
    log.write_text("old\n" * 100_000)
    agent.run("user-prompt", input="garbage")
    agent.run("user-prompt", input="garbage")
    assert len(log.read_text().splitlines()) == 2
    assert "old" in agent.log()


def test_what_others_print_does_not_spoil_the_answer(agent: Agent) -> None:
    code = """
import os
from recollect.doors.agents.deadline import Deadline
with Deadline("user-prompt", 60) as deadline:
    print("a model says hello", flush=True)
    os.write(1, b"and so does a library")
    deadline.say("{}")
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=agent.environment)
    assert done.stdout == "{}\n" and "hello" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(known: Agent, closed: str) -> None:
    command = ["sh", "-c", f'"$@" {closed}', "sh", *PROMPT]
    given = known.payload(prompt=QUESTION)
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, env=known.environment)
    assert done.returncode == 0
    assert ("PostgreSQL" in done.stdout) == (closed == "2>&-")
