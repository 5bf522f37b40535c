"""What does a process take that was just started? Until its first answer, and in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from recollect.errors import StoreError
from recollect.evaluate.vectors import WordVectors
from recollect.types import Mode


@dataclass(frozen=True, slots=True)
class Processes:
    """Starts processes that ask a store. Its URL may hold a password, and never stands in their arguments."""

    url: str
    embedder: WordVectors

    def search(self, namespace: str, question: str) -> float:
        """How many seconds `recollect search` takes by keyword, from its start to its end."""
        how = ("--namespace", namespace, "--mode", "keyword", "--no-reinforce", "--quiet")
        start = perf_counter()
        _run("recollect.doors.cli", "search", *how, "--", question, environment={"RECOLLECT_URL": self.url})
        return perf_counter() - start

    def ask(self, asked: Sequence[tuple[str, str]], mode: Mode) -> tuple[float, int | None]:
        """How many seconds a program takes that asks these questions, and the bytes that it holds then."""
        vectors = self.embedder.embed([question for _, question in asked]).tolist()
        job = {
            "url": self.url,
            "mode": mode,
            "asked": [(*each, vector) for each, vector in zip(asked, vectors, strict=True)],
            "embedder": {
                "name": self.embedder.name,
                "dimensions": self.embedder.dimensions,
                "fingerprint": self.embedder.fingerprint,
            },
        }
        start = perf_counter()
        said = _run("recollect.evaluate.fresh", given=json.dumps(job))
        return perf_counter() - start, int(said) if said.strip() else None


def _run(module: str, *arguments: str, given: str = "", environment: Mapping[str, str] | None = None) -> str:
    """What a module says on standard output; StoreError if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if done.stderr and done.returncode:
        raise StoreError(f"A process that asked the store failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout
