"""Where each millisecond of a recall or of a write goes, on a store that `recollect bench` filled and kept.

    recollect bench --memories 100k --writes 1 --url bench.db --keep
    python benchmarks/stages.py recall bench.db [--mode hybrid] [--cold]
    python benchmarks/stages.py write bench.db [--writes 300]
    python benchmarks/stages.py fill new.db [--memories 100000]

`recall` and `write` say when each part of a call begins and how long it takes, by the clock. With --cold the
processor's caches are filled with something else before each question, as between others' work. `fill` says
what each part of a bulk write takes of the processor, for one memory. Indented parts belong to the one above.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import getattr_static
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from recollect import Draft, Memories, drafting, recalling, remembering, understanding
from recollect.evaluate import texts
from recollect.evaluate.dealing import namespace
from recollect.evaluate.vectors import WordVectors
from recollect.meaning import Meaning
from recollect.memories.finding import Finding
from recollect.store.sqlite import asking, near, store
from recollect.store.sqlite.derived import building, comparing, matching
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.statements import Keeper
from recollect.store.sqlite.store import SqliteStore, SqliteWriter

_BIG = 48_000_000
_AT_ONCE = 20_000


class Stage(NamedTuple):
    """A part of the work: what it is called, and the function that does it."""

    title: str
    owner: Any
    name: str


RECALL = (
    Stage("the scope", Finding, "scope"),
    Stage("understanding: time, options", recalling, "understand"),
    Stage("the question's vector, here given", recalling, "asking"),
    Stage("opening the transaction, beginning the vectors", store._Asking, "__enter__"),
    Stage("  what is known of the namespace", Namespaces, "read"),
    Stage("  segments, and what is newer", asking.Legs, "__init__"),
    Stage("both legs", recalling, "answered"),
    Stage("  the question's words", understanding, "parse_query"),
    Stage("  words: the best 125", matching, "search"),
    Stage("  who of both legs is in scope", matching, "told"),
    Stage("  how near those are that have the words", near.Near, "similarities"),
    Stage("  vectors: the nearest 125 (what is left to wait for)", comparing, "_finished"),
    Stage("fuse, lend, who may win", recalling, "fused"),
    Stage("load those", store._Asking, "load"),
    Stage("score and read again", recalling, "_ranked"),
    Stage("closing the transaction", store._Asking, "__exit__"),
    Stage("ten hits", recalling, "_hits"),
    Stage("noting what was used", Finding, "_note_use"),
)
WRITE = (
    Stage("who embeds", remembering, "writer_of"),
    Stage("check, sector, terms, near-duplicate keys", drafting, "record"),
    Stage("the vector, here given", remembering, "vector_of"),
    Stage("the transaction", store.SqliteStore, "_write"),
    Stage("  row, keyword entry, vector, near-duplicates", SqliteWriter, "add"),
    Stage("  what is left to write", SqliteWriter, "finish"),
    Stage("  statements, BEGIN and COMMIT, which syncs, included", Keeper, "execute"),
)
FILL = (
    Stage("vectors checked, at unit length", remembering, "_given_together"),
    Stage("values checked", drafting, "checked"),
    Stage("sector, language, terms, near-duplicate keys", drafting, "completed"),
    Stage("rows, keyword entries, vectors, near-duplicates", store.SqliteStore, "_write"),
    Stage("segments", building.Building, "_make"),
)


class Times:
    """When each part of the calls began, and how long it took."""

    def __init__(self, stages: Sequence[Stage], clock: Callable[[], float]) -> None:
        self._stages, self._clock = stages, clock
        self._noted: list[tuple[str, float, float]] = []
        self.begun: defaultdict[str, list[float]] = defaultdict(list)
        self.took: defaultdict[str, list[float]] = defaultdict(list)
        self.whole: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """As long as this goes on, every call of a part is timed."""
        patches = [patch.object(stage.owner, stage.name, self._timed(stage)) for stage in self._stages]
        for each in patches:
            each.start()
        try:
            yield
        finally:
            for each in patches:
                each.stop()

    def _timed(self, stage: Stage) -> Any:
        held = getattr_static(stage.owner, stage.name)
        function = held.__func__ if isinstance(held, classmethod) else held

        def timed(*given: Any, **named: Any) -> Any:
            begun = self._clock()
            try:
                return function(*given, **named)
            finally:
                self._noted.append((stage.title, begun, self._clock()))

        return classmethod(timed) if isinstance(held, classmethod) else timed

    def call(self, action: Callable[[], object]) -> None:
        """One call, taken apart."""
        self._noted.clear()
        start = self._clock()
        action()
        self.whole.append(self._clock() - start)
        first: dict[str, float] = {}
        total: defaultdict[str, float] = defaultdict(float)
        for title, begun, ended in self._noted:
            first.setdefault(title, begun - start)
            total[title] += ended - begun
        for title, took in total.items():
            self.begun[title].append(first[title])
            self.took[title].append(took)

    def table(self) -> str:
        """Medians, in milliseconds."""
        lines = ["| part | begins at, ms | takes, ms |", "|---|---|---|"]
        for title, *_ in self._stages:
            if self.took[title]:
                begun, took = (1000 * float(np.median(some[title])) for some in (self.begun, self.took))
                lines.append(f"| {_indented(title)} | {begun:.2f} | {took:.3f} |")
        return "\n".join([*lines, f"| **whole** | | **{1000 * float(np.median(self.whole)):.2f}** |"])


def _indented(title: str) -> str:
    return title.replace("  ", "– ", 1)


def opened(path: Path) -> Memories:
    """A store that `bench` filled."""
    return Memories(SqliteStore(path, create=False), namespace=namespace(0), meaning=Meaning(WordVectors()))


def recall(path: Path, mode: Any, *, is_cold: bool) -> str:
    """Two hundred questions, each of which was asked before."""
    with opened(path) as memories:
        held = [memory.content for memory in memories._store.in_scope(memories.scope(), 20_000)]
        asked = [question for _, question in texts.questions(held, 200)]
        big = np.ones(_BIG // 8)
        for question in asked:
            memories.recall(question, mode=mode, reinforce=False)
        times = Times(RECALL, time.perf_counter)
        with times.watching():
            for question in asked:
                if is_cold:
                    big += 1.0
                times.call(partial(memories.recall, question, mode=mode, reinforce=False))
    return times.table()


def write(path: Path, count: int) -> str:
    """So many memories, one by one. They stay in the store."""
    with opened(path) as memories:
        times = Times(WRITE, time.perf_counter)
        new = islice(texts.made(int(time.time())), count)
        with times.watching():
            for text in new:
                times.call(partial(memories.remember, text, on_duplicate="keep"))
    return times.table()


def fill(path: Path, count: int) -> str:
    """So many made memories into a new store, with vectors given."""
    chance = np.random.default_rng(1)
    spent: defaultdict[str, float] = defaultdict(float)
    stages = FILL
    start, processor = time.perf_counter(), time.process_time()
    left_out = 0.0
    with Memories(SqliteStore(path), namespace=namespace(0), meaning=Meaning(WordVectors())) as memories:
        times = Times(stages, time.thread_time)
        with times.watching():
            drafts = texts.drafts(count)
            while some := list(islice(drafts, _AT_ONCE)):
                begun, used = time.perf_counter(), time.process_time()
                vectors = chance.standard_normal((len(some), WordVectors().dimensions)).astype(np.float32)
                given = [
                    Draft(each.text, created_at=each.created_at, vector=vector)
                    for each, vector in zip(some, vectors, strict=True)
                ]
                left_out += time.process_time() - used
                start += time.perf_counter() - begun
                memories.remember_many(given, on_duplicate="keep")
            memories.settle()
        for title, begun, ended in times._noted:
            spent[title] += ended - begun
    seconds, used = time.perf_counter() - start, time.process_time() - processor - left_out
    rows = [f"| {_indented(stage.title)} | {1e6 * spent[stage.title] / count:.1f} |" for stage in stages]
    return "\n".join(
        [
            "| part | processor, µs a memory |",
            "|---|---|",
            *rows,
            f"| **whole** ({count / seconds:,.0f} memories a second) | **{1e6 * used / count:.1f}** |",
        ]
    )


def main() -> None:
    """One of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["recall", "write", "fill"])
    parser.add_argument("store", type=Path)
    parser.add_argument("--mode", default="hybrid", choices=["hybrid", "keyword", "semantic"])
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    if given.what == "recall":
        print(recall(given.store, given.mode, is_cold=given.cold))
    elif given.what == "write":
        print(write(given.store, given.writes))
    else:
        print(fill(given.store, given.memories))


if __name__ == "__main__":
    main()
