"""When is it worth looking at a folder again? When the system says so, or every few seconds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from recollect.errors import ConfigError

HEARTBEAT = 1.0
"""How many seconds pass between looks at whether the folders themselves are still the same."""
QUIET = 0.2
"""How many seconds nothing must change before it is told, for who saves a file writes it in several steps."""
LONGEST_QUIET = 2.0
ALL_THE_SAME = 60
"""After how many heartbeats to look although nothing was told: systems lose some."""
WHERE_NOT_TOLD = 2.0
"""How many seconds pass between looks where the system can't tell, as when it has no more watches to give."""

_log = logging.getLogger("recollect")


def require() -> None:
    """ConfigError unless the system can be asked to tell of changes."""
    if find_spec("watchfiles") is None:
        raise ConfigError(
            "Being told of changes needs watchfiles: pip install 'recollect[watch]', or say --poll 2 to look "
            "every two seconds."
        )


def moments(paths: Sequence[Path], stop: threading.Event, every: float | None = None) -> Iterator[bool]:
    """Yields until `stop` is set: True when something may have changed, False now and then between.

    `every` so many seconds something may have changed; without it the system says so, by way of watchfiles.
    """
    if every is not None:
        while not stop.wait(every):
            yield True
        return
    require()
    while not stop.is_set():
        there = _identities(paths)
        if not there:
            stop.wait(HEARTBEAT)
            yield True
            continue
        try:
            yield from _told(paths, there, stop)
        except FileNotFoundError:  # it went while we began to listen
            yield True
        except OSError as error:
            _log.warning(
                "The system can't tell of changes (%s): looking every %g seconds instead.",
                error,
                WHERE_NOT_TOLD,
            )
            yield from moments(paths, stop, every=WHERE_NOT_TOLD)


def _told(paths: Sequence[Path], there: dict[Path, tuple[int, int]], stop: threading.Event) -> Iterator[bool]:
    """As long as the folders are the same ones. What comes before they are listened to, or is lost when they
    are moved while they are, is seen by looking all the same: at first, and now and then."""
    from watchfiles import watch

    listened = watch(
        *there,
        watch_filter=None,
        step=int(QUIET * 1000),
        debounce=int(LONGEST_QUIET * 1000),
        rust_timeout=int(HEARTBEAT * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
        stop_event=stop,
    )
    for number, changes in enumerate(listened):
        is_same = _identities(paths) == there
        is_due = number % ALL_THE_SAME == 0
        yield is_due or not is_same or not all(_is_hidden(Path(path), paths) for _, path in changes)
        if not is_same or _identities(paths) != there:
            yield True
            return


def _identities(paths: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in paths:
        with suppress(OSError):
            state = path.stat()
            found[path] = (state.st_dev, state.st_ino)
    return found


def _is_hidden(path: Path, roots: Sequence[Path]) -> bool:
    """Whether it lies in a hidden folder, such as .git, below those that are watched, or is hidden itself."""
    for root in (*roots, *(root.resolve() for root in roots)):
        if path.is_relative_to(root):
            return any(part.startswith(".") for part in path.relative_to(root).parts)
    return path.name.startswith(".")
