"""The events that hooks are called for, each from its input to its answer."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import config, project
from recollect.doors.agents import payload
from recollect.doors.agents.deadline import Deadline
from recollect.doors.agents.payload import Payload
from recollect.errors import ConfigError, NoSuchStore
from recollect.frozen import dataclass

if TYPE_CHECKING:
    from recollect.config import Config
    from recollect.doors.agents.remembered import State
    from recollect.memories import Memories

SECONDS = {"session-start": 5.0, "user-prompt": 2.0, "pre-compact": 3.0, "session-end": 3.0, "capture": 120.0}
"""How long each may take before it gives up."""


@dataclass(frozen=True, slots=True)
class Given:
    """The shared options of the command line."""

    store: str | None = None
    namespace: str | None = None
    embedder: str | None = None
    quick: bool | None = None


def in_full(store: str | None) -> str | None:
    """A path that means the same in every folder; a URL stays as it is."""
    return store if store is None or "://" in store or store == ":memory:" else str(Path(store).absolute())


def session_start(given: Given, deadline: Deadline) -> None:
    """Tell a session what is known about its project; what could not be captured before is tried again."""
    asked = _asked(deadline)
    settings = _settings(given, asked)
    if not settings.hooks:
        return
    from recollect.doors.agents import capturing, injecting, remembered

    if capturing.waiting():
        capturing.start_worker()
    state = remembered.load(asked.session_id)
    if asked.source in ("compact", "clear"):
        state.injected, state.compacted = [], asked.source == "compact"
    deadline.doing = "opening the store"
    memories = _open(settings, given)
    context = ""
    if memories is not None:
        deadline.doing = "looking for what to tell"
        context = injecting.for_start(memories, asked.session_id, state, datetime.now(UTC))
    _tell("SessionStart", context, asked, state, deadline, always_save=asked.source in ("compact", "clear"))


def user_prompt(given: Given, deadline: Deadline) -> None:
    """Tell a session what is remembered about a prompt."""
    asked = _asked(deadline)
    settings = _settings(given, asked)
    from recollect.doors.agents import injecting, remembered

    if not settings.hooks or not injecting.is_worth_asking(asked.prompt):
        return
    deadline.doing = "opening the store"
    memories = _open(settings, given)
    if memories is None:
        return
    deadline.doing = "recalling"
    state = remembered.load(asked.session_id)
    context = injecting.for_prompt(memories, asked.prompt, asked.session_id, state, deadline)
    _tell("UserPromptSubmit", context, asked, state, deadline)


def capture_later(given: Given, deadline: Deadline, *, ended: bool, wait: bool) -> None:
    """Note the transcript of a session, and let a process of its own capture it; or wait for that."""
    asked = _asked(deadline)
    settings = _settings(given, asked)
    if not settings.hooks or not asked.transcript_path or not asked.session_id:
        return
    from recollect.doors.agents import capturing

    deadline.doing = "noting the transcript"
    note = capturing.Note(
        asked.session_id,
        asked.transcript_path,
        str(payload.folder(asked)),
        None if (settings.origins or {}).get("url") == "default" else settings.url,
        settings.namespace,
        given.embedder,
        ended,
    )
    capturing.leave(note)
    if wait:
        capture(deadline)
    else:
        capturing.start_worker()


def capture(deadline: Deadline) -> None:
    """Capture what waits, and write down what could not be."""
    from recollect.doors.agents import capturing

    deadline.doing = "capturing"
    for note, kept in capturing.work():
        if isinstance(kept, Exception):
            over = note.attempts >= capturing.MOST_ATTEMPTS
            deadline.note(f"session {note.session}: {kept}{' It was given up.' if over else ''}")


def _asked(deadline: Deadline) -> Payload:
    deadline.doing = "reading standard input"
    asked = payload.read()
    deadline.doing = "reading the settings"
    return asked


def _settings(given: Given, asked: Payload) -> Config:
    """The settings of the session's folder; the namespace is the project's unless one is named."""
    os.chdir(payload.folder(asked))
    named: dict[str, Any] = {"url": given.store, "namespace": given.namespace, "embedder": given.embedder}
    settings = config.load(**named, quick=given.quick)
    if (settings.origins or {}).get("namespace") == "default":
        settings = config.load(**named | {"namespace": project.HERE}, quick=given.quick)
    if settings.hooks and (machine := config.elsewhere(settings)):
        raise ConfigError(
            f"The recollect.toml of this folder sends memories to {machine}, so its hooks do nothing: "
            "name that yourself, by RECOLLECT_URL or OPENAI_BASE_URL, or set RECOLLECT_HOOKS=false."
        )
    return settings


def _open(settings: Config, given: Given) -> Memories | None:
    """The store; None where there is none yet. Questions are quick ones unless the settings say otherwise."""
    import recollect

    is_default = (settings.origins or {}).get("quick") == "default"
    try:
        return recollect.open(
            settings.url,
            namespace=settings.namespace,
            embedder=given.embedder,
            quick=True if is_default else settings.quick,
            create=False,
        )
    except NoSuchStore:
        return None


def _tell(
    event: str,
    context: str,
    asked: Payload,
    state: State,
    deadline: Deadline,
    *,
    always_save: bool = False,
) -> None:
    from recollect.doors.agents import injecting, remembered

    if context:
        deadline.doing = "answering"
        deadline.say(injecting.answer(event, context))
    if (context or always_save) and asked.session_id:
        deadline.doing = "noting what was told"
        remembered.save(asked.session_id, state)
