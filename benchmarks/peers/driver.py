"""One peer, run in its own environment: a line of JSON comes in, a line of JSON goes out.

python -m benchmarks.peers.driver ADAPTER STORE DATA

Every call is timed here, around the peer's own call, so that what pipes cost is not counted.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from benchmarks.peers.base import AT_ONCE, Peer, Row, part_of, wanted
from benchmarks.peers.data import Data

_QUIET, _LOOK, _PATIENCE = 0.04, 0.5, 300.0
"""Quiet is who uses less than this share of a core for so many seconds; it is waited no longer than this."""


def peer_class(name: str) -> type[Peer]:
    """What an adapter defines."""
    adapter: type[Peer] = import_module(f"benchmarks.peers.adapters.{wanted(name)[0]}").ADAPTER
    if unknown := wanted(name)[1].keys() - set(adapter.known_settings):
        known = ", ".join(adapter.known_settings) or "none"
        raise SystemExit(f"{name}: it has no setting {', '.join(sorted(unknown))} here, but {known}.")
    return adapter


class Driver:
    """What can be asked of a peer, by name."""

    def __init__(self, adapter: str, store: Path, data: Data) -> None:
        self._class, self._store, self._data = peer_class(adapter), store, data
        self._settings = wanted(adapter)[1]
        self._questions = data.questions()
        self._peer: Peer | None = None

    @property
    def peer(self) -> Peer:
        """The peer, once it is open."""
        if self._peer is None:
            self._store.mkdir(parents=True, exist_ok=True)
            self._peer = self._class(self._store, self._data.dimensions)
            self._peer.settings = self._settings
        return self._peer

    def open(self) -> dict[str, Any]:
        """How long it takes to open it, and its version."""
        start = perf_counter()
        _ = self.peer
        name = self._class.requirements[0].partition("==")[0]
        return {"seconds": perf_counter() - start, "version": metadata.version(name) if name else ""}

    def build(self) -> dict[str, Any]:
        """Keep all rows; reading them is not counted. A store that was begun is begun anew."""
        shutil.rmtree(self._store, ignore_errors=True)
        peer = self.peer
        reading = Stopwatch()
        start, cpu = perf_counter(), time.process_time()
        peer.build(reading.over(self._batches()))
        took = perf_counter() - start - reading.seconds + self.settle()["seconds"]
        cpu = time.process_time() - cpu - reading.cpu
        return {"seconds": took, "cpu": round(cpu, 2), "left_out": list(peer.left_out())}

    def _batches(self) -> Iterator[Sequence[Row]]:
        rows, vectors = self._data.rows(), self._data.vectors()
        for start in range(0, len(rows), AT_ONCE):
            yield [
                Row(n, rows[n][0], rows[n][1], part_of(n), vectors[n])
                for n in range(start, min(start + AT_ONCE, len(rows)))
            ]

    def settle(self) -> dict[str, Any]:
        """How long its own threads went on after the last call; half a second of silence is not counted."""
        begun = perf_counter()
        while perf_counter() - begun < _PATIENCE:
            before = time.process_time()
            time.sleep(_LOOK)
            if time.process_time() - before < _QUIET * _LOOK:
                break
        return {"seconds": perf_counter() - begun - _LOOK}

    def ask(self, mode: Any, question: int, part: str | None = None) -> dict[str, Any]:
        """The answer, how long it took, and how much CPU time all threads took meanwhile."""
        asked = self._questions[question]
        peer = self.peer
        start, cpu = perf_counter(), time.process_time()
        hits = peer.ask(mode, asked, part)
        took, cpu = perf_counter() - start, time.process_time() - cpu
        numbers, texts = [number for number, _ in hits], [text for _, text in hits]
        return {"seconds": took, "cpu": cpu, "numbers": numbers, "texts": texts}

    def leg(self, mode: Any, question: int) -> dict[str, Any]:
        """What one leg finds, for its quality."""
        return {"numbers": self.peer.leg(mode, self._questions[question])}

    def add(self, fresh: int) -> dict[str, Any]:
        """One of the texts that were not there when the store was built."""
        text, vector = self._data.fresh(fresh)
        number = self._data.memories + fresh
        row = Row(number, text, "2026-01-01T00:00:00+00:00", part_of(number), vector)
        peer = self.peer
        start = perf_counter()
        peer.add(row)
        return {"seconds": perf_counter() - start}

    def words(self, answers: list[list[int]], left_out: list[int]) -> dict[str, Any]:
        """The share of exact BM25's ten best, over this peer's own words, that each answer has."""
        from benchmarks.peers.exact import bm25, judged

        texts = (self.peer.words(text) for text, _ in self._data.rows())
        asked = [self.peer.asked(question.text) for question in self._questions[: len(answers)]]
        return {"shares": judged(bm25(texts, asked, self._class.idf, set(left_out)), answers)}

    def memory(self) -> dict[str, Any]:
        """What this process holds in memory."""
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return {"bytes": pages * os.sysconf("SC_PAGE_SIZE")}

    def close(self) -> dict[str, Any]:
        """So that its folder can be copied."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None
        return {}


class Stopwatch:
    """How long an iterator took to say what comes next."""

    seconds = cpu = 0.0

    def over(self, batches: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        """The same, timed."""
        while True:
            start, cpu = perf_counter(), time.process_time()
            batch = next(batches, None)
            self.seconds += perf_counter() - start
            self.cpu += time.process_time() - cpu
            if batch is None:
                return
            yield batch


def serve(driver: Driver, requests: TextIO, replies: TextIO) -> None:
    """Answer until nobody asks any more. `idle` is the CPU time that passed while nothing was asked."""
    ended = time.process_time()
    for line in requests:
        idle = time.process_time() - ended
        request = json.loads(line)
        try:
            reply = getattr(driver, request.pop("do"))(**request)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is told
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(reply | {"idle": idle}), file=replies, flush=True)
        ended = time.process_time()


def main() -> None:
    """What a peer prints goes to the standard error, so that answers stay readable."""
    adapter, store, data = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(Driver(adapter, Path(store), Data(Path(data))), sys.stdin, replies)


if __name__ == "__main__":
    main()
