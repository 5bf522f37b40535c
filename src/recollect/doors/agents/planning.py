"""What would be written where: made from a file's text, checked, shown as a difference, then written."""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.doors import whole
from recollect.doors.agents import clients, hooksettings, jsonc, toml
from recollect.doors.agents.clients import NAME, Client
from recollect.errors import InvalidInput, NotFound
from recollect.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """A file as it is and as it would be; None where there is none."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def difference(self) -> Iterator[str]:
        """What would change, as a unified diff."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        was = os.devnull if self.before is None else str(self.path)
        will_be = os.devnull if self.after is None else str(self.path)
        yield from difflib.unified_diff(old, new, was, will_be, lineterm="")


def read(path: Path) -> str | None:
    """A file's text as it is, line ends and all; None if it is not there."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text: nothing was changed.") from None


def server(client: Client, path: Path, entry: Mapping[str, Any], *, uninstall: bool) -> Plan:
    """Our server in an agent's file, or out of it."""
    before = read(path)
    if path.suffix == ".toml":
        return Plan(path, before, _in_toml(client, path, before, entry, uninstall))
    return Plan(path, before, _in_json(client, path, before, entry, uninstall))


def _in_json(
    client: Client, path: Path, before: str | None, entry: Mapping[str, Any], uninstall: bool
) -> str | None:
    text = before if before and before.strip() else "{}\n"
    where = (client.key, NAME)
    try:
        document = jsonc.parsed(text)
        found = _found(document, where)
        _refuse_foreign(found, path)
        if uninstall:
            if found is None:
                return before
            after = jsonc.remove(text, where)
            return _checked(path, after, _without(document, where))
        wanted = {**(found or {}), **entry}
        if found == wanted:
            return before
        return _checked(path, jsonc.put(text, where, wanted), _with(document, where, wanted))
    except jsonc.Unreadable as error:
        raise _refused(path, error) from error


def _in_toml(
    client: Client, path: Path, before: str | None, entry: Mapping[str, Any], uninstall: bool
) -> str | None:
    text, where = before or "", (client.key, NAME)
    try:
        document = tomllib.loads(text)
        found = _found(document, where)
        _refuse_foreign(found, path)
        if uninstall:
            after, expected = toml.remove(text, where), _without(document, where)
        else:
            wanted = {**(found or {}), **entry}
            after = text if found == wanted else toml.put(text, where, entry)
            expected = _with(document, where, wanted)
        if tomllib.loads(after) != expected:
            raise _refused(path, "its form can't be edited safely")
    except (tomllib.TOMLDecodeError, jsonc.Unreadable) as error:
        raise _refused(path, error) from error
    return None if uninstall and before is not None and not after.strip() else after if after else before


def hooks(path: Path, program: Sequence[str], *, uninstall: bool) -> Plan:
    """Our hooks in Claude Code's settings, or out of them."""
    before = read(path)
    text = before if before and before.strip() else "{}\n"
    try:
        if uninstall and not hooksettings.is_there(jsonc.parsed(text)):
            return Plan(path, before, before)
        after: str | None = hooksettings.remove(text) if uninstall else hooksettings.put(text, program)
        document = jsonc.parsed(after or "")
    except jsonc.Unreadable as error:
        raise _refused(path, error) from error
    _check_others(path, jsonc.parsed(text), document)
    if after == text:
        after = before
    return Plan(path, before, None if uninstall and _is_empty(after or "") else after)


def _check_others(path: Path, before: Any, after: Any) -> None:
    """Refuse an edit that touched anything but our hooks."""
    if _others(before) != _others(after):
        raise _refused(path, "its form can't be edited safely")


def _others(document: Any) -> Any:
    """The settings as they are without us."""
    text = hooksettings.remove(jsonc.dumped(document))
    found = jsonc.parsed(text)
    if isinstance(found.get("hooks"), dict):
        kept = {event: groups for event, groups in found["hooks"].items() if groups}
        found = {key: kept if key == "hooks" else value for key, value in found.items()}
    return {key: value for key, value in found.items() if key != "hooks" or value}


def _found(document: Any, where: tuple[str, str]) -> Any:
    if not isinstance(document, dict):
        raise jsonc.Unreadable("line 1: an object was expected")
    servers = document.get(where[0])
    return servers.get(where[1]) if isinstance(servers, dict) else None


def _with(document: Any, where: tuple[str, str], entry: Mapping[str, Any]) -> Any:
    servers = document.get(where[0], {})
    if not isinstance(servers, dict):
        raise jsonc.Unreadable(f"{where[0]} was expected to hold servers by name")
    return {**document, where[0]: {**servers, where[1]: dict(entry)}}


def _without(document: Any, where: tuple[str, str]) -> Any:
    servers = document.get(where[0])
    if not isinstance(servers, dict) or where[1] not in servers:
        return document
    left = {key: value for key, value in servers.items() if key != where[1]}
    others = {key: value for key, value in document.items() if key != where[0]}
    return {key: left if key == where[0] else document[key] for key in document} if left else others


def _checked(path: Path, after: str, wanted: Any) -> str | None:
    """The edited text, if it reads as it should; None if nothing is left in it."""
    if jsonc.parsed(after) != wanted:
        raise _refused(path, "its form can't be edited safely")
    return None if _is_empty(after) else after


def _is_empty(text: str) -> bool:
    """Whether nothing is left in a file, not even a comment."""
    return "".join(text.split()) == "{}"


def _refuse_foreign(found: object, path: Path) -> None:
    if found is not None and not clients.is_ours(found):
        raise InvalidInput(
            f"{path} has a server called {NAME} that does not start `recollect mcp`: rename that one first."
        )


def _refused(path: Path, trouble: object) -> InvalidInput:
    return InvalidInput(
        f"{path} can't be edited ({trouble}): nothing was changed. `--print` shows what belongs there."
    )


# writing


def write(plan: Plan, now: datetime) -> Path | None:
    """Put the plan into force, in one step and with a copy of the old file beside it; says where that is."""
    target = plan.path.resolve()
    if read(target) != plan.before:
        raise InvalidInput(f"{plan.path} was changed meanwhile: nothing was written. Try again.")
    if plan.before is not None and not target.stat().st_mode & 0o222:
        raise InvalidInput(
            f"{plan.path} is read-only: nothing was changed. `--print` shows what belongs there."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    if plan.after is None:
        target.unlink()
        return None
    backup = _copy(target, plan.before, now) if plan.before is not None else None
    whole.write(target, plan.after, 0o644 if plan.before is None else stat.S_IMODE(target.stat().st_mode))
    return backup


def _copy(target: Path, text: str, now: datetime) -> Path:
    """A copy that takes nobody's place."""
    stamp = f"{now:%Y%m%d-%H%M%S}"
    for number in range(1, 1000):
        copy = target.with_name(f"{target.name}.{stamp}{'' if number == 1 else f'-{number}'}.bak")
        with suppress(FileExistsError):
            descriptor = os.open(
                copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(target.stat().st_mode)
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
            return copy
    raise NotFound(f"There is no name left for a copy of {target}: remove old ones.")
