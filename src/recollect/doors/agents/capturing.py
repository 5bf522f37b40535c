"""Transcripts into the store: noted at once by the hook, done afterwards by one process at a time.

Claude Code hardly waits for a hook when a session ends. So the hook leaves a note and starts a process that
does the work and has a limited life. What could not be done stays noted, and is tried again the next time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.doors.agents import lock, places, remembered
from recollect.doors.agents.transcript import Transcript, Turn
from recollect.errors import InvalidInput, NoSuchMemory, NoSuchSession, RecollectError, StoreBusy
from recollect.frozen import dataclass

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Draft

AGENT = "claude-code"
MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Note:
    """A transcript that waits to be captured, and where it goes: `url` is None for the default store."""

    session: str
    transcript: str
    folder: str
    url: str | None
    namespace: str
    embedder: str | None = None
    ended: bool = False
    attempts: int = 0
    left_at: float = field(default_factory=time.time)


def _folder() -> Path:
    return places.state_folder() / "waiting"


def leave(note: Note) -> None:
    """Note that a transcript is to be captured; a later note on the same session takes the place of this."""
    places.write_private(_folder() / places.file_name(note.session), json.dumps(asdict(note)))


def waiting() -> list[Path]:
    """The notes that are there, oldest first."""
    folder = _folder()
    found = [*folder.glob("[!.]*.json")] if folder.is_dir() else []
    return sorted(found, key=_age)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # done meanwhile
        return 0.0


def start_worker() -> None:
    """Let a process of its own do what waits; it outlives this one, but not its own deadline."""
    import subprocess

    apart: dict[str, object] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    subprocess.Popen(  # type: ignore[call-overload]
        [sys.executable, "-m", "recollect.doors.cli", "hook", "capture"],
        cwd=places.state_folder(),
        **quiet,
        **apart,
    )


def work() -> Iterator[tuple[Note, int | RecollectError | OSError]]:
    """Capture what waits, if no other process does: each note, and how many turns were kept or why not."""
    with lock.taken(places.state_folder() / "capture.lock") as is_ours:
        tried: set[Note] = set()
        while is_ours and (found := _next(tried)):
            path, note = found
            tried |= {note, replace(note, attempts=note.attempts + 1)}
            kept: int | RecollectError | OSError = StoreBusy("It never came to an end.")
            if note.attempts < MOST_ATTEMPTS:
                note = replace(note, attempts=note.attempts + 1)
                leave(note)  # an attempt that is cut off counts too, or it would be made for ever
                try:
                    kept = capture(note)
                except (RecollectError, OSError) as error:
                    kept = error
            is_over = isinstance(kept, int) or note.attempts >= MOST_ATTEMPTS
            if is_over and _read(path) == note:  # another may have been left meanwhile
                path.unlink(missing_ok=True)
            yield note, kept
        if is_ours:
            remembered.clean_up()


def _next(tried: set[Note]) -> tuple[Path, Note] | None:
    """A note that was not tried yet; those that failed before come last."""
    notes = [(path, note) for path in waiting() if (note := _read(path)) and note not in tried]
    return min(notes, key=lambda each: each[1].attempts) if notes else None


def _read(path: Path) -> Note | None:
    """A note; one that can't be read goes."""
    try:
        return Note(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        path.unlink(missing_ok=True)
        return None


def capture(note: Note) -> int:
    """The turns of a transcript that are not kept yet, as an episodic session; says how many there were."""
    import recollect

    path = Path(note.transcript).expanduser()
    if not path.is_file():
        raise InvalidInput(f"The transcript {note.transcript} is not there.")
    if Path(note.folder).is_dir():
        os.chdir(note.folder)  # its settings hold, not those of whoever does the work
    state = remembered.load(note.session)
    transcript = Transcript(path, state.offset)
    with recollect.open(note.url, namespace=note.namespace, embedder=note.embedder) as memories:
        kept = _keep(memories, note, transcript)
        if note.ended:
            _end(memories, note.session, transcript.title)
    state = remembered.load(note.session)
    state.offset = transcript.offset
    remembered.save(note.session, state)
    return kept


def _keep(memories: Memories, note: Note, transcript: Transcript) -> int:
    turns = _new_turns(memories, transcript)
    first = next(turns, None)
    if first is None:
        return 0
    try:
        memories.session(note.session)
    except NoSuchSession:
        memories.start_session(note.session, agent=AGENT, started_at=first.said_at)

    def drafts() -> Iterator[Draft]:
        yield _draft(first, note.session)
        for turn in turns:
            yield _draft(turn, note.session)

    return len(memories.remember_many(drafts()))


def _new_turns(memories: Memories, transcript: Transcript) -> Iterator[Turn]:
    """Those that are not kept yet, each once: an agent may write down a turn again."""
    met: set[str] = set()
    for turn in transcript.turns():
        if turn.id not in met and not _is_there(memories, turn.id):
            met.add(turn.id)
            yield turn


def _is_there(memories: Memories, id: str) -> bool:
    try:
        memories.get(id)
    except NoSuchMemory:
        return False
    return True


def _draft(turn: Turn, session: str) -> Draft:
    from recollect.types import Draft

    return Draft(
        turn.text,
        id=turn.id,
        session=session,
        speaker=turn.speaker,
        created_at=turn.said_at,
        sector="episodic",
        source=AGENT,
        metadata={"branch": turn.branch} if turn.branch else {},
    )


def _end(memories: Memories, session: str, title: str | None) -> None:
    """End the session when its last turn was said, with its title or the beginnings of what was said."""
    last = memories.timeline(session=session, limit=1)
    if not last:
        return
    known = memories.session(session)
    summary = title or known.summary
    memories.end_session(session, summary=summary, ended_at=max(last[0].created_at, known.started_at))
    if not summary:
        memories.summarise_session(session)
