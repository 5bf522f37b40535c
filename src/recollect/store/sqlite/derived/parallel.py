"""The same for many parts of an array, on every core where there are enough of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_FEWEST = 6
"""With fewer parts, one thread is done before another has begun."""
_helpers: list[ThreadPoolExecutor] = []


def each(action: Callable[[int], None], parts: Sequence[int]) -> None:
    """Call `action` with each of the parts; in no order."""
    cores = os.cpu_count() or 1
    if len(parts) < _FEWEST or cores == 1:
        for part in parts:
            action(part)
        return
    if not _helpers:
        _helpers.append(ThreadPoolExecutor(min(cores, 8) - 1, thread_name_prefix="recollect-near"))
    turns = min(cores, 8)

    def take(first: int) -> None:
        for part in parts[first::turns]:
            action(part)

    others = [_helpers[0].submit(take, turn) for turn in range(1, turns)]
    take(0)
    for other in others:
        other.result()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.clear)
