"""A process that opens a store, asks what it was given on standard input, and says how much memory it holds.

`cold.py` starts it. It imports no more than a program would that uses Recollect.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.evaluate.timing import resident_bytes


class GivenVector:
    """An embedder that costs nothing: the vector of what is asked next was made beforehand."""

    query_prefix = ""

    def __init__(self, like: Mapping[str, Any]) -> None:
        self.name: str = like["name"]
        self.dimensions: int = like["dimensions"]
        self.fingerprint: str = like["fingerprint"]
        self.vector: Sequence[float] = ()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vector that is set."""
        return np.array([self.vector for _ in texts], np.float32)


def main() -> None:
    """Ask every question of the job that stands on standard input."""
    job = json.load(sys.stdin)
    embedder = GivenVector(job["embedder"])
    with recollect.open(job["url"], embedder=embedder, create=False) as memories:
        for namespace, question, vector in job["asked"]:
            embedder.vector = vector
            memories.in_namespace(namespace).recall(question, mode=job["mode"], reinforce=False)
        print(resident_bytes() or "")


if __name__ == "__main__":
    main()
