"""Vectors of questions that were asked before: in memory, and on disk where the embedder keeps them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.embed.kept import Kept
from recollect.forks import mind_forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IN_MEMORY = 1_000


class Asked:
    """By the embedder's fingerprint and the question; safe in threads and across forks."""

    def __init__(self, path: Path | None = None) -> None:
        self._kept = Kept(path)
        self._recent: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody changes the memory while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Parent and child go on, each with its copy."""
        self._lock.release()

    def get(self, fingerprint: str, text: str, *, on_disk: bool) -> NDArray[np.float32] | None:
        """The vector of a question, if it is known."""
        asked = fingerprint, text
        with self._lock:
            if asked in self._recent:
                self._recent.move_to_end(asked)
                return self._recent[asked]
        vector = self._kept.vector(fingerprint, text) if on_disk else None
        if vector is not None:
            self._remember(fingerprint, text, vector)
        return vector

    def put(self, fingerprint: str, text: str, vector: NDArray[np.float32], *, on_disk: bool) -> None:
        """Know it from now on."""
        self._remember(fingerprint, text, vector)
        if on_disk:
            self._kept.keep_vector(fingerprint, text, vector)

    def _remember(self, fingerprint: str, text: str, vector: NDArray[np.float32]) -> None:
        with self._lock:
            self._recent[fingerprint, text] = vector
            if len(self._recent) > _IN_MEMORY:
                self._recent.popitem(last=False)
