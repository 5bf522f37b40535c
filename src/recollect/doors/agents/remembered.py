"""What a hook must know of its session from one call to the next: what was injected, how far was captured."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from recollect.doors.agents import places

_KEPT_FOR = 60 * 24 * 3600.0
_MOST = 2_000


@dataclass(slots=True)
class State:
    """Of one session; losing it does no harm: something is told or looked at twice."""

    injected: list[str] = field(default_factory=list)
    compacted: bool = False
    offset: int = 0

    def note(self, ids: list[str]) -> None:
        """These were injected."""
        self.injected = [*self.injected, *(id for id in ids if id not in self.injected)][-_MOST:]


def _path(session: str) -> Path:
    return places.state_folder() / "sessions" / places.file_name(session)


def load(session: str) -> State:
    """The state of a session; a new one where there is none, or none that can be read."""
    try:
        found = json.loads(_path(session).read_text("utf-8"))
        state = State(**found)
    except (OSError, ValueError, TypeError):
        return State()
    usable = isinstance(state.injected, list) and isinstance(state.offset, int)
    return state if usable else State()


def save(session: str, state: State) -> None:
    """Keep the state."""
    places.write_private(_path(session), json.dumps(asdict(state)))


def clean_up() -> None:
    """Remove the states of sessions that nobody has gone on with for two months."""
    folder = places.state_folder() / "sessions"
    oldest = time.time() - _KEPT_FOR
    for path in folder.glob("*.json") if folder.is_dir() else ():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
