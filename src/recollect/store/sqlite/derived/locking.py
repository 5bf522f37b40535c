"""One process at a time: a lock on a file that the system lets go of when its holder ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Whether this process holds the lock for the time of the block; never waits."""
    with path.open("a+b") as file:
        is_mine = _locked(file)
        if is_mine:
            _held.append(file)
        try:
            yield is_mine
        finally:
            if is_mine:
                _held.remove(file)
                _unlock(file)


def _unlock(file: IO[bytes]) -> None:
    """At once, also if a forked child has the file still; elsewhere closing it does."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(file, fcntl.LOCK_UN)


def _let_go() -> None:
    """A forked child has the parent's file too, and would hold the lock when that one is killed."""
    for file in _held:
        file.close()
    _held.clear()


_held: list[IO[bytes]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def _locked(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return _locked_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _locked_on_windows(file: IO[bytes]) -> bool:
    import msvcrt

    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
