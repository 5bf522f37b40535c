"""Installing into an agent: what is to be done, planned before anything is written."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from recollect import config, project
from recollect.doors.agents import clients, hooksettings, jsonc, planning, toml
from recollect.doors.agents.clients import NAME, Client, Scope
from recollect.doors.agents.events import in_full
from recollect.doors.agents.planning import Plan
from recollect.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: which agent and scope, with hooks or without, in or out."""

    client: Client
    scope: Scope
    folder: Path
    hooks: bool = False
    uninstall: bool = False


@dataclass(frozen=True, slots=True)
class Shared:
    """The shared options that go into the command line of the server and of the hooks."""

    store: str | None = None
    namespace: str | None = None
    embedder: str | None = None
    quick: bool = False

    def arguments(self, namespace: str | None) -> list[str]:
        """As they stand after `recollect`."""
        named = (("-s", in_full(self.store)), ("-n", namespace), ("--embedder", self.embedder))
        given = [part for name, value in named if value for part in (name, value)]
        return [*given, "--quick"] if self.quick else given


def program() -> str:
    """`recollect` if the shell finds it and it is the one that runs; else where it is."""
    running = Path(sys.argv[0]).resolve()
    found = shutil.which(NAME)
    is_script = running.stem == NAME and running.is_file()
    if found and (not is_script or Path(found).resolve() == running):
        return NAME
    beside = Path(sys.executable).with_name(f"{NAME}.exe" if sys.platform == "win32" else NAME)
    return str(running if is_script else beside)


def server_command(wanted: Wanted, shared: Shared) -> list[str]:
    """The command line that starts the server."""
    return [program(), "mcp", *shared.arguments(_namespace(wanted, shared))]


def _namespace(wanted: Wanted, shared: Shared) -> str | None:
    """Which namespace the server is told: a given one; none where the project's settings name one.

    Else "." means the project of the folder that the agent starts it in. An agent that does not promise to
    start it in the project is told the project's name, in a file that is of this project alone.
    """
    if shared.namespace and shared.namespace != project.HERE:
        return shared.namespace
    if wanted.scope == "project":
        settings = config.load()
        if shared.namespace is None and (settings.origins or {}).get("namespace") != "default":
            return None if wanted.client.starts_in_project else settings.namespace
        if not wanted.client.starts_in_project:
            return project.namespace_of(wanted.folder)
    return project.HERE


def plans(wanted: Wanted, shared: Shared) -> list[Plan]:
    """Each file that is concerned, as it is and as it would be."""
    made: list[Plan] = []
    path = clients.file_of(wanted.client, wanted.scope, wanted.folder)
    if path is not None:
        entry = clients.entry(wanted.client, server_command(wanted, shared))
        made.append(planning.server(wanted.client, path, entry, uninstall=wanted.uninstall))
    if wanted.client.name == "claude-code" and (wanted.hooks or wanted.uninstall):
        settings = clients.hooks_file(wanted.scope, wanted.folder)
        made.append(planning.hooks(settings, hook_program(shared), uninstall=wanted.uninstall))
    return made


def hook_program(shared: Shared) -> Sequence[str]:
    """What stands before `hook …`: the program with the shared options that were given."""
    return [program(), *shared.arguments(shared.namespace)]


def asked_of_client(wanted: Wanted, shared: Shared) -> str | None:
    """The command to run where only the agent itself should write; None elsewhere."""
    if clients.file_of(wanted.client, wanted.scope, wanted.folder) is not None:
        return None
    return shlex.join(clients.add_command(server_command(wanted, shared), uninstall=wanted.uninstall))


def printed(wanted: Wanted, shared: Shared) -> list[tuple[Path, str]]:
    """What belongs in each file, by itself: to be pasted."""
    shown: list[tuple[Path, str]] = []
    path = clients.file_of(wanted.client, wanted.scope, wanted.folder)
    if path is not None:
        entry = clients.entry(wanted.client, server_command(wanted, shared))
        where = (wanted.client.key, NAME)
        is_toml = path.suffix == ".toml"
        shown.append(
            (
                path,
                toml.put("", where, entry).rstrip() if is_toml else jsonc.rendered({where[0]: {NAME: entry}}),
            )
        )
    if wanted.hooks and wanted.client.name == "claude-code":
        groups = {
            event: [{"hooks": [hook]}] for event, hook in hooksettings.wanted(hook_program(shared)).items()
        }
        shown.append((clients.hooks_file(wanted.scope, wanted.folder), jsonc.rendered({"hooks": groups})))
    return shown
