"""Where the hooks keep what they must know from one call to the next, and what went wrong."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from recollect.doors import whole

LONGEST_LOG = 256_000
"""Bytes; then the log is begun anew, and the one before it is kept."""


def state_folder() -> Path:
    """For what may be lost without harm."""
    import platformdirs

    return Path(platformdirs.user_state_dir("recollect", appauthor=False)) / "hooks"


def log_file() -> Path:
    """What the hooks could not do."""
    import platformdirs

    return Path(platformdirs.user_log_dir("recollect", appauthor=False)) / "hooks.log"


def file_name(session: str) -> str:
    """A file name for a session, whatever characters its id has."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".json"


def log(event: str, message: str) -> None:
    """One line more in the log; OSError where there can be none."""
    path = log_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LONGEST_LOG:
        path.replace(path.with_suffix(".1.log"))
    line = " ".join(message.split())[:4_000]
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{_stamp(datetime.now(UTC))}  {event}  {line}\n")


def _stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def read_log() -> list[str]:
    """The lines of the log, oldest first."""
    path = log_file()
    lines: list[str] = []
    for each in (path.with_suffix(".1.log"), path):
        if each.exists():
            lines += each.read_text("utf-8", "replace").splitlines()
    return lines


def failures_since(moment: datetime) -> int:
    """How many lines the log got since then."""
    start = _stamp(moment)
    return sum(line[: len(start)] >= start for line in read_log())


def write_private(path: Path, text: str) -> None:
    """A file in one step, for the user alone; an agent waits, so it may be lost with the power."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    whole.write(path, text, durable=False)
