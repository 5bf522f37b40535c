"""`recollect install`: every agent, real files in a home of the test's own."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recollect.doors.agents import clients, installing, jsonc, planning
from recollect.doors.agents.clients import CLIENTS
from recollect.doors.cli.program import NAME, recollect
from recollect.errors import InvalidInput

MCP = ["mcp", "-n", "."]


class Home:
    """A home folder and a project in it; `recollect` is on the path."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.project, self._monkeypatch = folder / "home", folder / "home" / "app", monkeypatch
        bin = folder / "bin"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "config").write_text(
            '[remote "origin"]\n\turl = git@github.com:acme/app.git\n'
        )
        bin.mkdir()
        (bin / NAME).write_text("#!/bin/sh\n")
        (bin / NAME).chmod(0o755)
        for name in ("RECOLLECT_CONFIG", "RECOLLECT_NAMESPACE", "RECOLLECT_URL", "CODEX_HOME",
                     "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "APPDATA"):  # fmt: skip
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", str(bin))
        monkeypatch.setattr(sys, "argv", [str(bin / NAME)])
        monkeypatch.chdir(self.project)

    def run(self, *arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(recollect, arguments, prog_name=NAME)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return done

    def install(self, agent: str, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run("install", agent, *arguments, "--json", code=code).stdout)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def entry_in(path: Path) -> Any:
    text = path.read_text()
    document = tomllib.loads(text) if path.suffix == ".toml" else jsonc.parsed(text)
    [(_, servers)] = document.items()
    return servers["recollect"]


@pytest.mark.parametrize(
    ("agent", "scope", "path", "entry"),
    [
        ("claude-code", "project", "app/.mcp.json", {"command": NAME, "args": MCP}),
        (
            "cursor",
            "project",
            "app/.cursor/mcp.json",
            {"command": NAME, "args": ["mcp", "-n", "github.com/acme/app"]},
        ),
        ("cursor", "user", ".cursor/mcp.json", {"command": NAME, "args": MCP}),
        ("codex", "project", "app/.codex/config.toml", {"command": NAME, "args": MCP}),
        ("codex", "user", ".codex/config.toml", {"command": NAME, "args": MCP}),
        ("gemini", "project", "app/.gemini/settings.json", {"command": NAME, "args": MCP}),
        ("gemini", "user", ".gemini/settings.json", {"command": NAME, "args": MCP}),
        (
            "vscode",
            "project",
            "app/.vscode/mcp.json",
            {"type": "stdio", "command": NAME, "args": MCP, "cwd": "${workspaceFolder}"},
        ),
    ],
)
def test_a_file_that_is_not_there_is_written_and_goes_again(
    home: Home, agent: str, scope: str, path: str, entry: Any
) -> None:
    file = home.home / path
    [done] = home.install(agent, "--scope", scope)["files"]
    assert (done["path"], done["outcome"], done["backup"]) == (str(file), "written", None)
    assert entry_in(file) == entry
    assert home.install(agent, "--scope", scope)["files"][0]["outcome"] == "unchanged"
    assert home.install(agent, "--scope", scope, "--uninstall")["files"][0]["outcome"] == "would change"
    home.install(agent, "--scope", scope, "--uninstall", "--write")
    assert not file.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another elsewhere")
def test_vscode_of_a_user(home: Home) -> None:
    home.install("vscode", "--scope", "user")
    assert entry_in(home.home / ".config" / "Code" / "User" / "mcp.json")["type"] == "stdio"


@pytest.mark.parametrize("agent", CLIENTS)
def test_each_has_a_scope_that_it_takes_by_itself(home: Home, agent: str) -> None:
    [done] = home.install(agent)["files"]
    assert Path(done["path"]) == clients.file_of(CLIENTS[agent], CLIENTS[agent].scope, home.project)


def test_claude_code_is_asked_to_add_a_users_server_itself(home: Home) -> None:
    done = home.install("claude-code", "--scope", "user")
    assert done == {"files": [], "run": "claude mcp add --scope user recollect -- recollect mcp -n ."}
    done = home.install("claude-code", "--scope", "user", "--uninstall")
    assert done["run"] == "claude mcp remove --scope user recollect"
    assert "claude mcp add" in home.run("install", "claude-code", "--scope", "user").stdout


@pytest.mark.parametrize("agent", CLIENTS)
def test_what_to_do_next_is_true_in_the_scope_of_a_user(home: Home, agent: str) -> None:
    told = home.run("install", agent, "--scope", "user").stderr
    assert CLIENTS[agent].project not in told and "this folder" not in told
    assert ("--scope user --hooks" in told) == (agent == "claude-code")


def test_a_file_that_is_there_is_only_shown_until_write_is_said(home: Home) -> None:
    file = home.project / ".mcp.json"
    text = '{\n  // ours\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n'
    file.write_text(text)
    done = home.run("install", "claude-code")
    assert '+    "recollect": {' in done.stdout and "--write" in done.stderr
    assert file.read_text() == text
    home.run("install", "claude-code", "--write")
    assert jsonc.parsed(file.read_text())["mcpServers"]["other"] == {"command": "x"}
    assert "// ours" in file.read_text()
    [backup] = file.parent.glob(".mcp.json.*.bak")
    assert backup.read_text() == text
    home.run("install", "claude-code", "--uninstall", "--write")
    assert file.read_text() == text


def test_dry_run_writes_nothing_even_where_there_is_nothing(home: Home) -> None:
    assert home.install("gemini", "--dry-run")["files"][0]["outcome"] == "would change"
    assert not (home.project / ".gemini").exists()


def test_print_shows_what_belongs_there(home: Home) -> None:
    (home.project / ".mcp.json").write_text("{ broken")
    done = home.run("install", "claude-code", "--print", "--hooks").stdout
    assert '"mcpServers"' in done and "recollect hook session-end" in done
    assert "[mcp_servers.recollect]" in home.run("install", "codex", "--print").stdout
    assert (home.project / ".mcp.json").read_text() == "{ broken"
    home.run("install", "codex", "--print", "--write", code=2)


def test_what_can_not_be_read_is_refused_before_anything_is_written(home: Home) -> None:
    settings = home.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": [')
    done = home.run("install", "claude-code", "--hooks", "--write", code=2)
    assert "--print" in done.stderr
    assert settings.read_text() == '{"hooks": ['
    assert not (home.project / ".mcp.json").exists()


def test_links_are_followed_and_the_mode_is_kept(home: Home) -> None:
    real = home.home / "dotfiles" / "codex.toml"
    real.parent.mkdir()
    real.write_text('model = "x" # mine\n')
    real.chmod(0o600)
    (home.home / ".codex").mkdir()
    link = home.home / ".codex" / "config.toml"
    link.symlink_to(real)
    home.install("codex", "--write")
    assert link.is_symlink() and "# mine" in real.read_text() and "recollect" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    [backup] = real.parent.glob("*.bak")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_file_that_changes_between_plan_and_write_is_left_alone(home: Home) -> None:
    file = home.project / ".mcp.json"
    plan = planning.server(CLIENTS["claude-code"], file, {"command": "x", "args": ["mcp"]}, uninstall=False)
    file.write_text("{}")
    from datetime import datetime

    with pytest.raises(InvalidInput, match="meanwhile"):
        planning.write(plan, datetime.now())
    assert file.read_text() == "{}"


def test_the_shared_options_go_into_the_command_lines(home: Home) -> None:
    home.run("install", "claude-code", "--hooks", "-s", "notes.db", "-n", "work", "--embedder", "static-s")
    store = str(home.project / "notes.db")
    options = ["-s", store, "-n", "work", "--embedder", "static-s"]
    assert entry_in(home.project / ".mcp.json")["args"] == ["mcp", *options]
    hooks = jsonc.parsed((home.project / ".claude" / "settings.json").read_text())["hooks"]
    line = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    assert line == f"recollect {' '.join(options)} hook user-prompt"


def test_a_namespace_that_the_project_settings_name_is_left_to_them(home: Home) -> None:
    (home.project / "recollect.toml").write_text('namespace = "billing"\n')
    home.install("claude-code")
    assert entry_in(home.project / ".mcp.json")["args"] == ["mcp"]
    home.install("cursor")
    assert entry_in(home.project / ".cursor" / "mcp.json")["args"] == ["mcp", "-n", "billing"]


def test_a_program_that_is_not_on_the_path_is_named_in_full(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert installing.program() == NAME
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert installing.program() == str(tmp_path / "bin" / NAME)


def test_hooks_are_for_claude_code_alone(home: Home) -> None:
    assert "claude-code" in home.run("install", "cursor", "--hooks", code=2).stderr


def test_hooks_in_and_out_of_settings_that_are_there(home: Home) -> None:
    settings = home.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    mine = {"permissions": {"allow": ["Bash"]}, "hooks": {"SessionEnd": [{"hooks": [{"type": "command",
            "command": "say bye"}]}]}}  # fmt: skip
    settings.write_text(json.dumps(mine, indent=4))
    home.install("claude-code", "--hooks", "--write")
    found = jsonc.parsed(settings.read_text())
    assert found["permissions"] == mine["permissions"]
    assert [group["hooks"][0]["command"] for group in found["hooks"]["SessionEnd"]] == [
        "say bye",
        "recollect hook session-end",
    ]
    home.install("claude-code", "--uninstall", "--write")
    assert settings.read_text() == json.dumps(mine, indent=4)


def test_one_file_that_is_there_keeps_the_other_from_being_written(home: Home) -> None:
    (home.project / ".mcp.json").write_text("{}")
    files = home.install("claude-code", "--hooks")["files"]
    assert [file["outcome"] for file in files] == ["would change", "would change"]
    assert not (home.project / ".claude").exists()


def test_hooks_of_a_user(home: Home) -> None:
    home.install("claude-code", "--hooks", "--scope", "user")
    assert (home.home / ".claude" / "settings.json").exists()


def test_a_file_that_is_locked_against_writing_stays_so(home: Home) -> None:
    file = home.project / ".mcp.json"
    file.write_text("{}")
    file.chmod(0o444)
    assert "read-only" in home.run("install", "claude-code", "--write", code=2).stderr
    assert file.read_text() == "{}" and [*home.project.glob("*.bak")] == []


def test_a_folder_that_can_not_be_written_says_so(home: Home) -> None:
    (home.project / ".cursor").write_text("a file")
    done = home.run("install", "cursor", code=3)
    assert "Traceback" not in done.output and ".cursor" in done.stderr


def test_the_whole_program_in_a_shell(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "recollect.doors.cli", "install", "gemini"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{tmp_path}/.gemini/settings.json: written\n"
    assert "/mcp" in done.stderr
