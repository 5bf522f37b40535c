"""What a recall over HTTP costs beside the same recall in Python: 10,000 memories, a warm store and server.

    python benchmarks/serving.py

The server is a process of its own (`recollect serve`), asked over one connection. The embedder is the hashing
one, which costs next to nothing: what is left is the recall and the door.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter

import recollect
from recollect.doors.plain import plain
from recollect.evaluate.texts import drafts, questions
from recollect.evaluate.timing import Latency

COUNT = 10_000
ASKED = 200
TOKEN = "a-token-for-the-benchmark"


def timed(ways: Mapping[str, Callable[[str], object]], asked: list[str]) -> dict[str, Latency]:
    """One call a question each way, by turns: whatever else the machine does, all ways suffer alike."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for question in asked:
        for name, way in ways.items():
            start = perf_counter()
            way(question)
            times[name].append(perf_counter() - start)
    return {name: Latency.of(each) for name, each in times.items()}


def over_http(connection: HTTPConnection, question: str) -> object:
    """Asked, answered and parsed."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/recall", json.dumps({"query": question, "reinforce": False}), headers)
    return json.loads(connection.getresponse().read())


def nothing(connection: HTTPConnection) -> object:
    """A request that is refused at once: what HTTP itself costs here."""
    connection.request("GET", "/v1/stats")
    return connection.getresponse().read()


def main() -> None:
    """Fill a store, then ask it both ways."""
    made = list(drafts(COUNT))
    asked = [question for _, question in questions([draft.text for draft in made], ASKED)]
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        settings = {"RECOLLECT_TOKEN": TOKEN, "RECOLLECT_EMBEDDER": "hash"}
        command = [sys.executable, "-m", "recollect.doors.cli", "-s", store, "serve", "--port", "0"]
        with recollect.open(store, embedder="hash") as memories:
            memories.remember_many(made)
            with subprocess.Popen(
                command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
            ) as server:
                assert server.stdout is not None
                connection = HTTPConnection("127.0.0.1", int(server.stdout.readline().rpartition(":")[2]))
                ways: dict[str, Callable[[str], object]] = {
                    "a recall in Python": lambda text: memories.recall(text, reinforce=False),
                    "and as JSON": lambda text: json.dumps(plain(memories.recall(text, reinforce=False))),
                    "a recall over HTTP": lambda text: over_http(connection, text),
                    "a refusal over HTTP": lambda _: nothing(connection),
                }
                print(f"{'':22} {'p50 ms':>8} {'p95 ms':>8}")
                timed(ways, asked[:20])
                for name, latency in timed(ways, asked).items():
                    print(f"{name:22} {latency.p50:8.2f} {latency.p95:8.2f}")
                server.terminate()


if __name__ == "__main__":
    main()
