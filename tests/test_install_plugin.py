"""The plugin for Claude Code is complete and its commands run; every agent and option is documented."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import recollect
from recollect import config
from recollect.doors.agents import clients, hooksettings
from recollect.doors.agents.events import SECONDS
from recollect.doors.cli.hooks import hook
from recollect.doors.cli.installing import install

from .hooked import PATIENCE, QUESTION, TALK, Agent, until

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugins" / "claude-code"
MANUAL = (ROOT / "docs" / "agents.md").read_text("utf-8")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def loaded(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_the_marketplace_lists_the_plugin() -> None:
    market = loaded(ROOT / ".claude-plugin" / "marketplace.json")
    assert KEBAB.fullmatch(market["name"]) and market["owner"]["name"]
    [listed] = market["plugins"]
    assert listed["source"].startswith("./")
    assert (ROOT / listed["source"]).resolve() == PLUGIN
    assert listed["name"] == loaded(PLUGIN / ".claude-plugin" / "plugin.json")["name"]


def test_the_manifest() -> None:
    manifest = loaded(PLUGIN / ".claude-plugin" / "plugin.json")
    assert KEBAB.fullmatch(manifest["name"])
    assert manifest["version"] == recollect.__version__
    assert isinstance(manifest["author"], dict) and isinstance(manifest["description"], str)
    assert [path.name for path in (PLUGIN / ".claude-plugin").iterdir()] == ["plugin.json"]


def test_the_server_is_the_one_that_install_writes() -> None:
    entry = clients.entry(clients.CLIENTS["claude-code"], ["recollect", "mcp", "-n", "."])
    assert loaded(PLUGIN / ".mcp.json") == {"mcpServers": {"recollect": entry}}


def test_the_hooks_are_those_that_install_writes() -> None:
    hooks = loaded(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert hooks == {event: [{"hooks": [each]}] for event, each in hooksettings.wanted(["recollect"]).items()}


def test_the_skill_says_when_it_is_for() -> None:
    text = (PLUGIN / "skills" / "recall" / "SKILL.md").read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "recall" and 50 < len(fields["description"]) < 1024
    assert "search" in body


GIVEN = {
    "SessionStart": {"source": "startup", "model": "claude-sonnet"},
    "UserPromptSubmit": {"prompt": QUESTION, "permission_mode": "default"},
    "PreCompact": {"trigger": "auto", "custom_instructions": ""},
    "SessionEnd": {"reason": "prompt_input_exit"},
}


@pytest.mark.parametrize("event", GIVEN)
def test_each_command_line_runs_in_a_shell_as_claude_code_runs_it(tmp_path: Path, event: str) -> None:
    agent = Agent(tmp_path)
    agent.transcript(*TALK)
    with agent.memories() as memories:
        memories.remember("The billing service uses PostgreSQL 17.2")
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "recollect").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recollect.doors.cli "$@"\n')
    (bin / "recollect").chmod(0o755)
    [group] = loaded(PLUGIN / "hooks" / "hooks.json")["hooks"][event]
    [each] = group["hooks"]
    environment = {**agent.environment, "PATH": f"{bin}:{agent.environment['PATH']}"}
    environment["CLAUDE_PROJECT_DIR"] = str(agent.project)
    given = {**GIVEN[event], "hook_event_name": event}
    runs: list[subprocess.CompletedProcess[str]] = []

    def ends_in_time() -> bool:
        agent.forget_log()
        runs.append(
            subprocess.run(
                each["command"],
                shell=True,
                input=agent.payload(**given),
                text=True,
                capture_output=True,
                env=environment,
                cwd=agent.project,
                timeout=PATIENCE,
            )
        )
        return "gave up" not in agent.log()  # as it may on a machine that is very busy

    until(ends_in_time)
    done = runs[-1]
    assert (done.returncode, done.stderr) == (0, "")
    if event in ("SessionStart", "UserPromptSubmit"):
        answer = json.loads(done.stdout)["hookSpecificOutput"]
        assert {*answer} == {"hookEventName", "additionalContext"}
        assert answer["hookEventName"] == event
        assert "PostgreSQL 17.2" in answer["additionalContext"]
    else:
        assert done.stdout == ""
        until(lambda: len(agent.kept()) == 3)
    assert agent.log() == ""


# the manual


@pytest.mark.parametrize("client", clients.CLIENTS.values(), ids=lambda client: client.name)
def test_the_manual_describes_every_agent(client: clients.Client) -> None:
    assert f"recollect install {client.name}" in MANUAL
    assert f"### {client.title}\n" in MANUAL
    assert client.project in MANUAL
    assert client.next_step in MANUAL


def test_the_manual_describes_every_option_of_install() -> None:
    for option in install.params:
        if isinstance(option, click.Option):
            for name in (*option.opts, *option.secondary_opts):
                assert f"`{name}" in MANUAL, name


def test_the_manual_describes_every_hook() -> None:
    assert isinstance(hook, click.Group)
    assert {*hook.commands} == {*SECONDS}
    for event, name in hooksettings.EVENTS.items():
        row = next(line for line in MANUAL.splitlines() if line.startswith(f"| `{event}`"))
        assert f"`recollect hook {name}`" in row and f"| {SECONDS[name]:g} s |" in row
    assert f"| {SECONDS['capture']:g} s |" in MANUAL
    options = {name for each in (hook, *hook.commands.values()) for p in each.params for name in p.opts}
    for name in options:
        assert name in MANUAL, name


def test_the_manual_names_the_setting_that_leaves_a_project_out() -> None:
    assert "hooks" in config.SWITCHES
    assert "`hooks = false`" in MANUAL and "RECOLLECT_HOOKS" in MANUAL
