"""Work on arrays beside other work: numpy lets go of the interpreter while it reckons."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_FEWEST = 6
"""With fewer parts, one thread is done before another has begun."""
_MOST = 8
_pools: dict[str, ThreadPoolExecutor] = {}

Result = TypeVar("Result")


def each(action: Callable[[int], None], parts: Sequence[int]) -> None:
    """Call `action` with each of the parts, in no order, on every core where there are enough of them."""
    turns = min(os.cpu_count() or 1, _MOST)

    def take(first: int) -> None:
        for part in parts[first::turns]:
            action(part)

    if len(parts) < _FEWEST or turns == 1:
        turns = 1
    others = [_pool("each").submit(take, turn) for turn in range(1, turns)]
    take(0)
    for other in others:
        other.result()


def begun(action: Callable[[], Result]) -> Future[Result]:
    """The result of an action that runs meanwhile."""
    return _pool("begun").submit(action)


def _pool(name: str) -> ThreadPoolExecutor:
    if name not in _pools:
        _pools[name] = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST), f"recollect-{name}")
    return _pools[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
