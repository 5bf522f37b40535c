"""One file, many at once: threads, processes, forks. Nothing acknowledged is lost, no error is shown."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import apsw
import pytest

import recollect
from recollect import Draft, Memories, NoSuchMemory, StoreError
from recollect.embed.hashing import HashingEmbedder
from recollect.memories import front
from recollect.store.sqlite import connections
from recollect.store.sqlite.store import _Asking

from .servers import wait_until

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECONDS = float(os.environ.get("RECOLLECT_TEST_SECONDS", "6"))
PROCESSES = 8
SPAWN = multiprocessing.get_context("spawn")


def opened(path: Path | str) -> Memories:
    return recollect.open(path, namespace="crowd", embedder="hash", clock=lambda: NOW)


def rare_word(worker: int, number: int) -> str:
    """A word that no other memory has, of letters only, so that it stays whole."""
    digits = f"{worker:02d}{number:06d}"
    return "zq" + "".join("bcdfghjklm"[int(digit)] for digit in digits) + "x"


# eight processes at once


class Worker:
    """Writes and reads at random, and keeps book of what was acknowledged: id and rare word."""

    def __init__(self, memories: Memories, number: int) -> None:
        self.memories = memories
        self.number = number
        self.random = random.Random(number)
        self.count = 0
        self.alive: dict[str, str] = {}
        self.forgotten: list[str] = []

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.act()

    def act(self) -> None:
        actions: list[Callable[[], None]] = [
            self.remember, self.remember, self.remember, self.remember_many, self.recall, self.recall,
            self.supersede, self.forget, self.timeline, self.update, self.session, self.relate, self.document,
        ]  # fmt: skip
        self.random.choice(actions)()

    def new_word(self) -> str:
        self.count += 1
        return rare_word(self.number, self.count)

    def remember(self) -> None:
        word = self.new_word()
        kept = self.memories.remember(f"Worker {self.number} saw {word} in the harbour at noon")
        assert kept.outcome == "added"
        assert kept.embedded
        self.alive[kept.id] = word

    def remember_many(self) -> None:
        words = [self.new_word() for _ in range(5)]
        drafts = [Draft(f"{word} was said aloud", speaker="Ana", session=f"s{self.number}") for word in words]
        kept = self.memories.remember_many(drafts)
        assert all(item.embedded for item in kept)
        self.alive |= {item.id: word for item, word in zip(kept, words, strict=True)}

    def some_id(self) -> str:
        if not self.alive:
            self.remember()
        return self.random.choice(list(self.alive))

    def recall(self) -> None:
        id = self.some_id()
        found = self.memories.recall(self.alive[id], mode="keyword", include_superseded=True)
        assert [hit.memory.id for hit in found] == [id], "a worker sees its own writes at once"
        assert self.memories.recall(f"harbour {self.alive[id]}", include_superseded=True)

    def supersede(self) -> None:
        old = self.some_id()
        self.remember()
        new = list(self.alive)[-1]
        if old != new and self.memories.get(old).superseded_by is None:
            self.memories.supersede(old, new)

    def forget(self) -> None:
        id = self.some_id()
        del self.alive[id]
        self.forgotten.append(id)
        assert self.memories.forget(id).memories == 1

    def timeline(self) -> None:
        assert self.memories.timeline(limit=20)
        self.memories.timeline(self.some_id(), 3, 3)

    def update(self) -> None:
        id = self.some_id()
        word = self.new_word()
        self.memories.update(id, text=f"Worker {self.number} saw {word} instead", tags=[f"by{self.number}"])
        self.alive[id] = word

    def session(self) -> None:
        with self.memories.in_session(f"own{self.number}") as session:
            word = self.new_word()
            self.alive[session.remember(f"In a session: {word}").id] = word
            session.recall(word)

    def relate(self) -> None:
        one, other = self.some_id(), self.some_id()
        if one != other:
            self.memories.relate(one, other, "mentions")

    def document(self) -> None:
        text = f"# Shared\n\nWorker {self.number} wrote {self.new_word()} here."
        self.memories.ingest(text, name="shared.md")


def work(path: Path, number: int, seconds: float, results: Any) -> None:
    try:
        with opened(path) as memories:
            worker = Worker(memories, number)
            worker.run(seconds)
        results.put((number, None, worker.alive, worker.forgotten))
    except BaseException:  # noqa: BLE001  whatever it is, the test must see it
        results.put((number, traceback.format_exc(), {}, []))


def test_eight_processes_write_and_read_one_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    results = SPAWN.Queue()
    processes = [
        SPAWN.Process(target=work, args=(path, number, SECONDS, results)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    reports = [results.get(timeout=SECONDS + 120) for _ in processes]
    for process in processes:
        process.join(60)
    errors = [error for _, error, _, _ in reports if error]
    assert not errors, errors[0]
    alive = {id: word for _, _, words, _ in reports for id, word in words.items()}
    forgotten = {id for _, _, _, ids in reports for id in ids}
    assert len(alive) > 100
    with opened(path) as memories:
        assert memories.doctor() == []
        stats = memories.stats()
        assert (stats.memories, stats.documents, stats.passages) == (len(alive), 1, 1)
        assert stats.pending_vectors == 0
        kept = {memory.id: memory for memory in memories.get(list(alive))}
        for id, word in alive.items():
            assert word in kept[id].content
        with_entry, with_vector = indexed(path, alive)
        assert with_entry == set(alive)
        assert with_vector == set(alive)
        for id in random.Random(1).sample(sorted(alive), 100):
            found = memories.recall(alive[id], mode="keyword", include_superseded=True, reinforce=False)
            assert [hit.memory.id for hit in found] == [id]
        for id in forgotten:
            with pytest.raises(NoSuchMemory):
                memories.get(id)


def indexed(path: Path, words: dict[str, str]) -> tuple[set[str], set[str]]:
    """Read past Recollect: whose rare word is in the keyword index, and who has the vector of its text."""
    connection = apsw.Connection(str(path))
    entries = {
        id
        for id, word in words.items()
        for (found,) in connection.execute(
            "SELECT m.id FROM memory_words w JOIN memory m ON m.number = w.rowid WHERE memory_words MATCH ?",
            (f'"{word}"',),
        )
        if found == id
    }
    embedder = HashingEmbedder()
    vectors = {
        id
        for id, content, speaker, embedding in connection.execute(
            "SELECT m.id, m.content, m.speaker, v.embedding FROM vector v, memory m WHERE v.memory = m.number"
        )
        if embedder.embed([f"{speaker}: {content}" if speaker else content])[0].tobytes() == embedding
    }
    connection.close()
    return entries, vectors & set(words)


# making


def make(path: Path, number: int, gate: Any, results: Any) -> None:
    try:
        gate.wait(60)
        with opened(path) as memories:
            results.put((None, memories.remember(f"made by {rare_word(number, 1)}").id))
    except BaseException:  # noqa: BLE001  whatever it is, the test must see it
        results.put((traceback.format_exc(), None))


def test_eight_processes_make_the_same_new_file_at_once(tmp_path: Path) -> None:
    path, results, gate = tmp_path / "memory.db", SPAWN.Queue(), SPAWN.Barrier(PROCESSES)
    processes = [SPAWN.Process(target=make, args=(path, n, gate, results)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    reports = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    assert [error for error, _ in reports if error] == []
    with opened(path) as memories:
        assert len(memories.get([id for _, id in reports])) == PROCESSES
        assert memories.doctor() == []


def test_threads_make_the_same_new_file_at_once(tmp_path: Path) -> None:
    for round in range(10):
        path = tmp_path / f"round{round}.db"
        gate = threading.Barrier(PROCESSES)

        def make_one(number: int, path: Path = path, gate: threading.Barrier = gate) -> str:
            gate.wait(60)
            with opened(path) as memories:
                return memories.remember(f"made by {rare_word(number, 1)}").id

        with ThreadPoolExecutor(PROCESSES) as pool:
            ids = list(pool.map(make_one, range(PROCESSES)))
        with opened(path) as memories:
            assert len(memories.get(ids)) == PROCESSES


# threads


@pytest.mark.parametrize("place", ["file", "memory"])
def test_eight_threads_share_one_memories(tmp_path: Path, place: str) -> None:
    with opened(tmp_path / "memory.db" if place == "file" else ":memory:") as memories:

        def run(number: int) -> Worker:
            worker = Worker(memories, number)
            for _ in range(12):
                worker.remember()
                worker.recall()
            worker.remember_many()
            worker.update()
            worker.supersede()
            worker.forget()
            worker.timeline()
            worker.session()
            worker.relate()
            worker.document()
            return worker

        with ThreadPoolExecutor(8) as pool:
            workers = list(pool.map(run, range(8)))
        alive = {id: word for worker in workers for id, word in worker.alive.items()}
        assert memories.doctor() == []
        assert memories.stats().memories == len(alive)
        for id, word in alive.items():
            found = memories.recall(word, mode="keyword", include_superseded=True, reinforce=False)
            assert [hit.memory.id for hit in found] == [id]


def test_a_recall_waits_for_no_lock(tmp_path: Path) -> None:
    """Neither for another process that writes, nor for our own note that the last recall was useful."""
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        memories.remember("The harbour opens at six")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        answers: Queue[int] = Queue()

        def ask() -> None:
            for _ in range(5):
                answers.put(len(memories.recall("harbour")))

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        assert [answers.get(timeout=30) for _ in range(5)] == [1] * 5
        other.execute("ROLLBACK")
        other.close()
        thread.join(30)
    with opened(path) as memories:
        assert memories.timeline(limit=1)
        kept = memories.get(memories.timeline(limit=1)[0].id)
        assert kept.access_count == 5, "and the notes are made when the lock is free"


def test_closing_does_not_wait_for_whoever_writes_on_and_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A search has its answer: it may not take as long as the import of somebody else."""
    monkeypatch.setattr(connections, "PATIENCE", 3600.0)
    monkeypatch.setattr(front, "PATIENCE_AT_THE_END", 0.2)
    path = tmp_path / "memory.db"
    memories = opened(path)
    kept = memories.remember("The harbour opens at six").id
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    assert len(memories.recall("harbour")) == 1
    closing = threading.Thread(target=memories.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert wait_until(lambda: "held" in caplog.text and "until it was closed" in caplog.text)
    other.execute("ROLLBACK")
    other.close()
    with opened(path) as memories:
        assert memories.get(kept).access_count == 0


def test_a_reader_that_is_in_use_forgets_when_it_is_given_back(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memories:
        memories.remember("the harbour")
        connections = memories._store._connections  # type: ignore[attr-defined]
        with connections.reading() as busy, connections.reading() as other:
            for each in (busy, other):
                each.known = {"ground": "files that are gone"}
            connections.forget()
            assert busy.known
        assert not busy.known
        assert not other.known


class Interrupted:
    """A connection that is interrupted as soon as it has begun to write."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, *given: Any) -> Any:
        found = self._connection.execute(sql, *given)
        if sql.startswith("BEGIN"):
            raise KeyboardInterrupt
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_an_interrupt_as_a_write_begins_keeps_nobody_from_writing(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memories, opened(tmp_path / "memory.db") as another:
        connections = memories._store._connections  # type: ignore[attr-defined]
        writer = connections._writer
        connections._writer = Interrupted(writer)
        with pytest.raises(KeyboardInterrupt):
            memories.remember("interrupted")
        connections._writer = writer
        memories.remember("the first")
        another.remember("the second")
        assert memories.stats().memories == 2


def test_an_interrupt_while_a_lock_is_taken_leaves_it_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come between the moment that a Condition has its lock and the block that would let go of it."""
    enter = threading.Condition.__enter__
    found: list[Any] = []

    def interrupted(condition: threading.Condition) -> bool:
        enter(condition)
        if condition in (connections._taking, memories._later._changed):
            raise KeyboardInterrupt
        return True

    with opened(tmp_path / "memory.db") as memories:
        connections = memories._store._connections  # type: ignore[attr-defined]
        memories.remember("the first")
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(threading.Condition, "__enter__", interrupted)
            memories.recall("first")
        other = threading.Thread(target=lambda: found.append(memories.recall("first")), daemon=True)
        other.start()
        other.join(30)
        assert found


def test_closing_while_others_read_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memories = opened(path)
    memories.remember("one")
    begun = memories.export_records()
    next(begun)
    memories.close()
    del begun
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.db"], "no log is left behind"


# forks

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def forked(action: Callable[[], None]) -> Callable[[], None]:
    """Run the action in a forked child; call the result to wait for it and see that it went well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: forking beside threads is risky
        child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:  # noqa: BLE001  a child must never come back
            traceback.print_exc()
        finally:
            os._exit(code)

    def wait() -> None:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0

    return wait


@needs_fork
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a thread of the parent writes"])
def test_a_forked_child_uses_what_it_inherited(tmp_path: Path, busy: bool) -> None:
    with opened(tmp_path / "memory.db") as memories:
        before = memories.remember("The parent remembered zqbeforex").id
        memories.recall("zqbeforex")
        let_go = threading.Event()
        if busy:
            holding = threading.Event()

            def write() -> None:
                with memories._store._connections.writing():  # type: ignore[attr-defined]
                    holding.set()
                    let_go.wait(60)

            threading.Thread(target=write).start()
            holding.wait(60)
            threading.Timer(0.1, let_go.set).start()

        def use() -> None:
            assert memories.recall("zqbeforex")[0].memory.id == before
            memories.remember("The child remembered zqchildx", id="child")
            assert memories.recall("zqchildx", mode="semantic")[0].memory.id == "child"
            memories.close()

        forked(use)()
        after = memories.remember("The parent remembered zqafterx").id
        for word, id in {"zqbeforex": before, "zqchildx": "child", "zqafterx": after}.items():
            assert memories.recall(word, mode="keyword")[0].memory.id == id
            assert memories.recall(word, mode="semantic")[0].memory.id == id
        assert memories.doctor() == []


@needs_fork
def test_what_a_forked_child_writes_outlives_its_parent(tmp_path: Path) -> None:
    """SQLite clears the log away when it thinks that the last one leaves; the child must count as one."""
    path = tmp_path / "memory.db"
    memories = opened(path)
    memories.remember("The parent remembered zqbeforex", id="before")
    reading, closed = os.pipe()

    def go_on() -> None:
        memories.remember("The child remembered zqearlyx", id="early")
        os.read(reading, 1)
        memories.remember("The child remembered zqlatex", id="late")
        memories.close()

    wait = forked(go_on)
    memories.close()
    os.write(closed, b"!")
    wait()
    os.close(reading)
    os.close(closed)
    with opened(path) as again:
        assert {preview.id for preview in again.timeline()} == {"before", "early", "late"}
        assert again.doctor() == []


@needs_fork
def test_a_child_forked_in_the_middle_of_reading_is_told_so(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memories:
        memories.remember("The parent remembered zqbeforex")
        begun = memories.export_records()
        next(begun)

        def refuse() -> None:
            with pytest.raises(StoreError, match="forked: fork before that"):
                memories.remember("lost")
            with pytest.raises(StoreError, match="forked: fork before that"):
                memories.recall("zqbeforex")

        forked(refuse)()
        assert list(begun)
        assert memories.stats().memories == 1


@needs_fork
def test_a_store_in_memory_is_copied_by_a_fork() -> None:
    with opened(":memory:") as memories:
        memories.remember("The parent remembered zqbeforex")

        def use() -> None:
            memories.remember("The child remembered zqchildx")
            assert memories.stats().memories == 2

        forked(use)()
        assert memories.stats().memories == 1


# what another process wrote

CHILD = """
import sys, recollect
from datetime import UTC, datetime
now = datetime(2026, 1, 15, 12, tzinfo=UTC)
memories = recollect.open(sys.argv[1], namespace="crowd", embedder="hash", clock=lambda: now)
for line in sys.stdin:
    verb, _, rest = line.rstrip("\\n").partition(" ")
    id, _, text = rest.partition(" ")
    if verb == "remember": memories.remember(text, id=id)
    if verb == "update": memories.update(id, text=text)
    if verb == "forget": memories.forget(id)
    if verb == "forget_all": memories.forget(everything=True)
    if verb == "rebuild": memories.doctor(rebuild=True)
    if verb == "many": memories.remember_many([f"filler number {n} {n * 7919}" for n in range(int(id))])
    print("done", flush=True)
memories.close()
"""


class Other:
    """Another process with the same file; every call returns when it is done."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", CHILD, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words: str) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def close(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


def test_a_reader_sees_what_another_process_wrote_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        memories.remember("The lighthouse keeper sleeps at noon", id="ours")
        other = Other(path)

        def nearest(query: str) -> list[tuple[str, float]]:
            found = memories.recall(query, mode="semantic", fusion="fallback", threshold=0.5, reinforce=False)
            return [(hit.memory.id, round(hit.score, 3)) for hit in found]

        def by_word(word: str) -> list[str]:
            found = memories.recall(word, mode="keyword", reinforce=False)
            return [hit.memory.id for hit in found]

        assert nearest("The lighthouse keeper sleeps at noon") == [("ours", 1.0)]

        other("remember", "theirs", "A purple submarine dived under the ice")
        assert nearest("A purple submarine dived under the ice") == [("theirs", 1.0)]
        assert by_word("submarine") == ["theirs"]

        other("update", "theirs", "Seven green parrots learned to whistle")
        assert nearest("Seven green parrots learned to whistle") == [("theirs", 1.0)]
        assert nearest("A purple submarine dived under the ice") == []
        assert by_word("submarine") == []
        assert by_word("parrots") == ["theirs"]

        other("update", "ours", "Nobody keeps the lighthouse any more")
        assert nearest("Nobody keeps the lighthouse any more") == [("ours", 1.0)]

        other("many", "400")
        assert by_word("395") == [hit.memory.id for hit in memories.recall("filler number 395", limit=1)]
        assert nearest("filler number 395 " + str(395 * 7919))[0][1] == 1.0

        other("forget", "theirs")
        assert nearest("Seven green parrots learned to whistle") == []
        assert by_word("parrots") == []

        other("rebuild")
        assert nearest("Nobody keeps the lighthouse any more")[0] == ("ours", 1.0)

        other("forget_all")
        assert nearest("Nobody keeps the lighthouse any more") == []
        other("remember", "again", "Nobody keeps the lighthouse any more")
        assert nearest("Nobody keeps the lighthouse any more") == [("again", 1.0)]
        other.close()
        assert memories.doctor() == []


def test_forgetting_between_finding_and_loading_shows_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may forget a winner after it was found and before its text is read: a recall answers
    from one state of the store, and the next one from a later state."""
    path = tmp_path / "memory.db"
    with opened(path) as memories, opened(path) as other:
        ids = [memories.remember(f"Harbour note {rare_word(0, number)}").id for number in range(5)]
        load = _Asking.load

        def load_late(asking: _Asking, keys: Any, now: datetime) -> Any:
            other.forget(ids[2])
            return load(asking, keys, now)

        with monkeypatch.context() as patched:
            patched.setattr(_Asking, "load", load_late)
            found = memories.recall("harbour note")
        assert {hit.memory.id for hit in found} == set(ids)
        later = memories.recall("harbour note", reinforce=False)
        assert {hit.memory.id for hit in later} == set(ids) - {ids[2]}
        memories.stats()  # waits for the notes of use
        assert [memory.access_count for memory in memories.get([ids[0], ids[1], ids[3], ids[4]])] == [1] * 4
