"""Our hooks among the others in Claude Code's settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from recollect.doors.agents import jsonc

EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}
"""Claude Code's events, and what the hook command for each is called."""
TIMEOUTS = {"session-start": 10, "user-prompt": 5, "pre-compact": 5, "session-end": 5}
"""Seconds that Claude Code waits; the commands themselves give up sooner."""


def command(program: Sequence[str], event: str) -> str:
    """A hook's command line, for the shell that Claude Code runs it in.

    >>> command(["/home/me/my tools/recollect", "-n", "work"], "SessionEnd")
    "'/home/me/my tools/recollect' -n work hook session-end"
    """
    return f"{shlex.join(program)} hook {EVENTS[event]}"


def wanted(program: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The hook of each event, as it stands in a group."""
    return {
        event: {"type": "command", "command": command(program, event), "timeout": TIMEOUTS[name]}
        for event, name in EVENTS.items()
    }


def put(text: str, program: Sequence[str]) -> str:
    """Settings with our hooks in them: once each, in groups of their own, or where they stand already."""
    for event, hook in wanted(program).items():
        there = [*_ours(jsonc.parsed(text), event)]
        if not there:
            text = jsonc.append(text, ("hooks", event), {"hooks": [hook]})
        for path, found in there[:1]:
            if any(found.get(key) != value for key, value in hook.items()):
                text = jsonc.put(text, path, {**found, **hook})
    return text


def remove(text: str) -> str:
    """Settings without our hooks, and without the groups and lists that they leave empty."""
    while True:
        document = jsonc.parsed(text)
        there = [path for event in EVENTS for path, _ in _ours(document, event)]
        if not there:
            return text
        text = jsonc.remove(text, _with_group(document, there[0]))


def is_there(document: Any) -> bool:
    """Whether any of our hooks is in the settings."""
    return any(True for event in EVENTS for _ in _ours(document, event))


def _with_group(document: Any, path: jsonc.Path) -> jsonc.Path:
    """A group whose only hook is ours goes with it, matcher and all."""
    group = document
    for step in path[:3]:
        group = group[step]
    return path[:3] if len(group["hooks"]) == 1 else path


def _ours(document: Any, event: str) -> Iterator[tuple[jsonc.Path, Mapping[str, Any]]]:
    hooks = document.get("hooks") if isinstance(document, dict) else None
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    for number, group in enumerate(groups if isinstance(groups, list) else ()):
        inner = group.get("hooks") if isinstance(group, dict) else None
        for place, hook in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(hook, dict) and _runs(hook.get("command"), EVENTS[event]):
                yield ("hooks", event, number, "hooks", place), hook


def _runs(line: object, name: str) -> bool:
    """Whether a command line is our hook command, wherever `recollect` is."""
    if not isinstance(line, str):
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    stem = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe") if words else ""
    return (stem == "recollect" or "recollect.doors.cli" in words) and ("hook", name) in pairwise(words)
