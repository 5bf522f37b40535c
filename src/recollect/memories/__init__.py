"""The one front: remember, recall, get, timeline, supersede, relate, forget.

Every door goes through here. A `Memories` is bound to one namespace, and whatever it writes or finds lies
in that namespace unless a caller names others.
"""

from __future__ import annotations

from recollect.memories.exploring import Exploring
from recollect.memories.sessions import Sessions
from recollect.memories.upkeep import Upkeep
from recollect.memories.weights import Weights
from recollect.memories.writing import Writing


class Memories(Writing, Exploring, Sessions, Upkeep, Weights):
    """The memories of one namespace. Safe to use from several threads; a context manager.

    Get one from `recollect.open()`.
    """


__all__ = ["Memories"]
