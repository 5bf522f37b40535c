"""A forked child has only the thread that forked: locks that others held in the parent are made anew."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class HasLocks(Protocol):
    """Something that holds locks, or counts on a thread."""

    def after_fork(self) -> None:
        """Called in the child, before anything else runs there."""


_living: WeakSet[HasLocks] = WeakSet()


def renewed_after_fork(owner: HasLocks) -> None:
    """Call `owner.after_fork` in every child that is forked while it lives."""
    _living.add(owner)


def _renew() -> None:
    for owner in list(_living):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
