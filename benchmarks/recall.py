"""Where each millisecond of a hybrid recall goes, on a store that `recollect bench` filled and kept.

    recollect bench --url bench.db --keep
    python benchmarks/recall.py bench.db

`recollect bench` says what a whole recall costs, and `benchmarks/embedding.py` what a query's vector does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from recollect import Memories, recalling, understanding
from recollect.evaluate.dealing import namespace
from recollect.evaluate.texts import questions
from recollect.evaluate.timing import Latency
from recollect.evaluate.vectors import WordVectors
from recollect.meaning import Meaning, generation_of
from recollect.ranking.score import Rules
from recollect.store.base import Nearness, Words
from recollect.store.sqlite.store import SqliteStore
from recollect.understanding import Options


def parts(memories: Memories, store: SqliteStore, meaning: Meaning) -> dict[str, Callable[[str], object]]:
    """Each step of a hybrid recall by itself."""
    options, scope = Options(), memories.scope()
    facts = store.facts(scope.namespaces)
    generation = generation_of(WordVectors())
    kept: dict[Any, Any] = {}

    def understand(text: str) -> understanding.Question:
        return understanding.understand(text, scope, options, facts, None)

    def vector(text: str) -> Any:
        return meaning.query(text, facts.values()).vector

    def ask(text: str) -> object:
        question = understand(text)
        vector, begun = recalling.asking(store, meaning, scope, question, options, facts)
        with begun as asking:
            kept[text] = recalling.answered(asking, vector, question, options, facts)
        return kept[text]

    def rank(text: str) -> object:
        rules = Rules("mix", scope.now, superseded=False)
        _, kept[text, "may win"] = recalling.fused(kept[text], understand(text), options, rules, 10)
        return kept[text, "may win"]

    return {
        "understand the question": understand,
        "match: words": lambda text: store.search([scope], Words(understand(text).keywords, 100), None),
        "near: vectors": lambda text: store.search([scope], None, Nearness(generation, vector(text), 100)),
        "both legs": ask,
        "fuse, lend, who may win": rank,
        "load those": lambda text: store.load(
            [item.candidate.key for item in kept[text, "may win"]], scope.now
        ),
        "the whole recall": lambda text: memories.recall(text, reinforce=False),
        "marking what is used too": memories.recall,
    }


def timed(action: Callable[[str], object], asked: list[str]) -> Latency:
    """One call a question."""
    times = []
    for question in asked:
        start = perf_counter()
        action(question)
        times.append(perf_counter() - start)
    return Latency.of(times)


def main() -> None:
    """Ask about what is in the store, and time each step."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("store", type=Path)
    given = arguments.parse_args()
    store, meaning = SqliteStore(given.store, create=False), Meaning(WordVectors())
    with Memories(store, namespace=namespace(0), meaning=meaning) as memories:
        texts = [memory.content for memory in store.in_scope(memories.scope(), 20_000)]
        asked = [question for _, question in questions(texts, 200)]
        timed(memories.recall, asked)
        print(f"{'':26} {'p50 ms':>8} {'p95 ms':>8}")
        for name, action in parts(memories, store, meaning).items():
            latency = timed(action, asked)
            print(f"{name:26} {latency.p50:8.2f} {latency.p95:8.2f}")


if __name__ == "__main__":
    main()
