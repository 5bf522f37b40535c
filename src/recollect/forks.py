"""What must not cross a fork is let go before it; locks that the parent held are made anew after it."""

from __future__ import annotations

import logging  # noqa: F401  before we register: hooks run in reverse, and who holds a lock of ours may log
import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that holds locks or files, or counts on a thread."""

    def before_fork(self) -> None:
        """Called in the parent: let go of what the child must not inherit, and let nobody begin anew."""

    def after_fork(self, *, in_child: bool) -> None:
        """Called in both, before anything else runs; a child has only the thread that forked."""


_living: WeakSet[Forkable] = WeakSet()


def mind_forks(owner: Forkable) -> None:
    """Call `owner.before_fork` and `owner.after_fork` around every fork while it lives."""
    _living.add(owner)


_at_this_fork: list[Forkable] = []


def _before() -> None:
    _at_this_fork[:] = _living
    for owner in _at_this_fork:
        owner.before_fork()


def _after(*, in_child: bool) -> None:
    for owner in _at_this_fork:
        owner.after_fork(in_child=in_child)
    _at_this_fork.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(in_child=False),
        after_in_child=lambda: _after(in_child=True),
    )
