"""Which agents are known, where each keeps its configuration, and what belongs there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from recollect.frozen import dataclass

Scope = Literal["project", "user"]
SCOPES: tuple[Scope, ...] = ("project", "user")
NAME = "recollect"
"""What the server is called in an agent's configuration."""


@dataclass(frozen=True, slots=True)
class Client:
    """An agent that can start an MCP server over stdio.

    `project` and `user` are the files of each scope, `user` relative to `home(client)`; None where only the
    agent itself may write. `key` is where servers stand in the document, `extra` what an entry needs there.
    """

    name: str
    title: str
    key: str
    project: str
    user: str | None
    scope: Scope
    next_step: str
    extra: Mapping[str, Any] | None = None
    starts_in_project: bool = True


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            "mcpServers",
            ".mcp.json",
            None,
            "project",
            "Start claude, allow the server when it asks, and look at it with /mcp.",
        ),
        Client(
            "cursor",
            "Cursor",
            "mcpServers",
            ".cursor/mcp.json",
            ".cursor/mcp.json",
            "project",
            "Restart Cursor, and switch the server on under Customize, MCPs.",
            starts_in_project=False,
        ),
        Client(
            "codex",
            "Codex",
            "mcp_servers",
            ".codex/config.toml",
            "config.toml",
            "user",
            "Start codex, and look at it with /mcp. A project's own file is for trusted projects.",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            "mcpServers",
            ".gemini/settings.json",
            ".gemini/settings.json",
            "project",
            "Start gemini, and look at it with /mcp.",
        ),
        Client(
            "vscode",
            "VS Code",
            "servers",
            ".vscode/mcp.json",
            "mcp.json",
            "project",
            "In VS Code, run MCP: List Servers, and start it there.",
            extra={"type": "stdio", "cwd": "${workspaceFolder}"},
        ),
    )
}


def file_of(client: Client, scope: Scope, folder: Path) -> Path | None:
    """The file of a scope; None where there is none that others should write."""
    if scope == "project":
        return folder / client.project
    return None if client.user is None else home(client) / client.user


def hooks_file(scope: Scope, folder: Path) -> Path:
    """Where Claude Code reads hooks."""
    if scope == "project":
        return folder / ".claude" / "settings.json"
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named) if named else Path.home() / ".claude") / "settings.json"


def home(client: Client) -> Path:
    """The folder that the file of the user's scope is in."""
    if client.name == "codex":
        named = os.environ.get("CODEX_HOME")
        return Path(named) if named else Path.home() / ".codex"
    if client.name == "vscode":
        return _settings_folder() / "Code" / "User"
    return Path.home()


def _settings_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def entry(client: Client, command: Sequence[str]) -> dict[str, Any]:
    """What stands in the configuration under our name.

    >>> entry(CLIENTS["cursor"], ["recollect", "mcp", "-n", "."])
    {'command': 'recollect', 'args': ['mcp', '-n', '.']}
    """
    made: dict[str, Any] = {"command": command[0], "args": [*command[1:]]}
    extra = dict(client.extra or {})
    kind = {"type": extra.pop("type")} if "type" in extra else {}
    return kind | made | extra


def is_ours(found: object) -> bool:
    """Whether an entry starts `recollect mcp`, however it was installed.

    >>> is_ours({"command": "/opt/bin/recollect", "args": ["-s", "x.db", "mcp"]}), is_ours({"url": "http://x"})
    (True, False)
    """
    if not isinstance(found, Mapping):
        return False
    command, arguments = found.get("command"), found.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list) or "mcp" not in arguments:
        return False
    stem = command.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return stem == NAME or "recollect.doors.cli" in arguments


def add_command(command: Sequence[str], *, uninstall: bool) -> list[str]:
    """What Claude Code is asked to do in the user's scope, whose file it rewrites while it runs."""
    if uninstall:
        return ["claude", "mcp", "remove", "--scope", "user", NAME]
    return ["claude", "mcp", "add", "--scope", "user", NAME, "--", *command]
