"""Segments are made by one, while everybody else goes on: threads, processes, forks, and who is killed."""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect import Memories
from recollect.store.sqlite.derived import background, building, files, locking, vectors, words

from .segmented import assert_same, by_words, folder_of, index, listed, opened, segments, store_of, texts
from .test_crash import Child, shelf  # noqa: F401  a fixture
from .test_forgetting import SECRET, assert_no_trace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, forks and permissions of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memories(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memories]:
    """A store with something to index, where nobody begins by himself."""
    monkeypatch.setattr(background, "NEWER", 10**9)
    with opened(path) as store:
        store.remember_many(f"The harbour number {number}" for number in range(200))
        yield store


class Gate:
    """Holds whoever calls a function, once, until it is opened."""

    def __init__(self, held: Callable[..., Any]) -> None:
        self._held = held
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.reached.set()
        assert self.opened.wait(60)
        return self._held(*arguments, **options)


@contextmanager
def in_the_middle(memories: Memories, module: Any, name: str) -> Iterator[None]:
    """Somebody settles, and has come as far as this function for the time of the block."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        gate = Gate(getattr(module, name))
        patch.setattr(module, name, gate)
        settled = pool.submit(memories.settle)
        try:
            assert gate.reached.wait(60)
            yield
        finally:
            gate.opened.set()
        settled.result(60)


STEPS = [(words, "build"), (words, "merge"), (files, "write"), (vectors, "write")]


@pytest.mark.parametrize(("module", "name"), STEPS)
def test_others_go_on_while_segments_are_made(memories: Memories, path: Path, module: Any, name: str) -> None:
    if name == "merge":  # a first segment is not merged
        memories.settle()
        memories.remember("The harbour once more")
    with in_the_middle(memories, module, name), opened(path) as another:
        for store in (memories, another):
            kept = store.remember("A lighthouse").id
            assert texts(store, "lighthouse", mode="keyword") == ["A lighthouse"]
            assert texts(store, "A lighthouse", mode="semantic")[0] == "A lighthouse"
            store.update(kept, text="A garden by the harbour")
            store.forget(kept)
        assert_same(memories, "harbour", 50)
    assert_same(memories, "harbour", 50)
    memories.settle()
    assert_same(memories, "harbour", 50)


@pytest.mark.parametrize("way", ["forget", "update", "at once"])
@pytest.mark.parametrize(("module", "name"), STEPS)
def test_what_is_forgotten_meanwhile_leaves_no_trace(
    memories: Memories, path: Path, module: Any, name: str, way: str
) -> None:
    if way != "at once" or name == "merge":
        memories.settle()
    secrets = [
        memories.remember(f"The {SECRET} of number {number}", speaker=f"Someone {SECRET}").id
        for number in range(3)
    ]
    with in_the_middle(memories, module, name):
        for id in secrets:
            if way == "update":
                memories.update(id, text="Nothing of that kind", speaker="Nobody")
            else:
                memories.forget(id)
    memories.settle()
    assert by_words(memories, SECRET) == []
    assert_same(memories, "harbour kind", 50)
    memories.close()
    assert_no_trace(path)


def killed_before_striking_out(path: Path, change: str, id: str) -> None:
    """A process that changes a memory, and ends once that is committed."""
    script = f"""
from recollect.store.sqlite.store import SqliteStore
SqliteStore._strike_out = lambda *_: (say("committed"), os.kill(os.getpid(), signal.SIGKILL))
with recollect.open(path, namespace="one", embedder="hash:64") as memories:
    memories.{change}
"""
    child = Child(script, path, id)
    child.wait_for("committed")
    child.process.wait(60)
    assert child.process.stdout
    child.process.stdout.close()


def test_who_is_killed_before_striking_out_leaves_it_to_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large segment that stays has the word; the change is settled by whoever comes next."""
    with opened(path) as memories:
        id = memories.remember(f"The {SECRET} of the harbour").id
        memories.remember_many(f"The harbour number {number}" for number in range(200))
        memories.settle()
        (before,) = [file for file in segments(path) if file.name.startswith("words")]
    killed_before_striking_out(path, "forget(argument)", id)
    monkeypatch.setattr(building, "_SMALL", 0)
    with opened(path) as memories:
        index(memories)
        assert before in segments(path)
        assert by_words(memories, SECRET) == []
    assert_no_trace(path)


@pytest.mark.parametrize("others", [5, 500])
def test_who_is_killed_before_striking_out_leaves_no_old_meaning(path: Path, others: int) -> None:
    """Neither where both vectors are among the nearest, nor where many are nearer than the new one."""
    before, after = "The ferry leaves at noon", "Quarterly tax forms were sent to the accountant"
    with opened(path) as memories:
        memories.remember_many(f"The ferry leaves at noon, as number {each} does" for each in range(others))
        memories.remember_many(f"Gardens and roses {number}" for number in range(100))
        id = memories.remember(before).id
        memories.settle()
        assert texts(memories, before, mode="semantic")[0] == before
    killed_before_striking_out(path, f'update(argument, text="{after}")', id)
    with opened(path) as memories:
        assert after not in texts(memories, before, mode="semantic", limit=5)
        assert texts(memories, after, mode="semantic", limit=1) == [after]


def test_a_change_that_is_settled_meanwhile_is_not_struck_out_any_more(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the commit of a change and its striking out, another indexes what the memory says now."""
    id = memories.remember("A lighthouse").id
    memories.settle()
    store = store_of(memories)
    strike = type(store)._strike_out

    def late(self: Any, change: int) -> None:
        monkeypatch.undo()
        memories.settle()
        strike(self, change)

    monkeypatch.setattr(type(store), "_strike_out", late)
    memories.update(id, text="A garden of the neighbours")
    assert texts(memories, "garden neighbours", mode="keyword") == ["A garden of the neighbours"]
    assert texts(memories, "A garden of the neighbours", mode="semantic")[0] == "A garden of the neighbours"


SETTLE = """
with recollect.open(path, namespace="one", embedder="hash:64") as memories:
    memories.settle()
    say("settled")
"""


def test_two_settle_at_once(memories: Memories, path: Path) -> None:
    children = [Child(SETTLE, path) for _ in range(3)]
    assert all(child.finish()[-1] == "settled" for child in children)
    assert sorted(size for _, size in listed(memories)) == [200, 200]
    assert len(segments(path)) == 2
    assert_same(memories, "harbour", 50)


KILLED = """
from recollect.store.sqlite.derived import building, files
left = int(argument)
def step(name, module):
    original = getattr(module, name)
    def counted(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    setattr(module, name, counted)
for name in ("build", "merge"):
    step(name, building.words)
for name in ("_read", "_publish", "_strike_out"):
    step(name, building.Building)
step("_view", files)
step("fsync", os)
with recollect.open(path, namespace="one", embedder="hash:64") as memories:
    memories.settle()
"""


def test_a_builder_that_is_killed_anywhere(memories: Memories, path: Path) -> None:
    """Another one takes over, and tidies up what was left."""
    chance = random.Random(7)
    for turn in range(8):
        memories.remember_many(f"Turn {turn} in the harbour, {number}" for number in range(20))
        child = Child(KILLED, path, chance.randrange(45))
        child.process.wait(60)
        assert child.process.stdout
        child.process.stdout.close()
        assert_same(memories, "harbour turn", 30)
    (folder_of(path) / "words-0.unfinished").write_bytes(b"left behind")
    (folder_of(path) / "words-0.segment").write_bytes(b"nobody lists it")
    memories.settle()
    assert len(segments(path)) == len(listed(memories))
    assert not list(folder_of(path).glob("*.unfinished"))
    assert_same(memories, "harbour turn", 300)
    assert memories.doctor() == []


@pytest.mark.parametrize("name", ["words-0.unfinished", "words-0.segment"])
def test_what_is_forgotten_is_not_left_by_who_was_killed(memories: Memories, path: Path, name: str) -> None:
    """A builder may be killed before it lists what it made, or before it removes what it merged."""
    id = memories.remember(f"The {SECRET} of the harbour").id
    memories.settle()
    (words_of,) = [file for file in segments(path) if file.name.startswith("words")]
    stray = words_of.with_name(name)
    shutil.copy(words_of, stray)
    with locking.held(folder_of(path) / "lock") as mine:
        assert mine
        memories.update(id, importance=0.9)
        assert stray.exists(), "somebody is at work on it"
    memories.forget(id)
    memories.close()
    assert_no_trace(path)
    assert words_of.exists()


def test_who_has_segments_open_reads_on_after_they_were_merged(memories: Memories, path: Path) -> None:
    memories.settle()
    assert_same(memories, "harbour", 20)
    with opened(path) as another:
        for turn in range(4):
            another.remember_many(f"Turn {turn} in the harbour, {number}" for number in range(150))
            another.settle()
            assert_same(memories, "harbour turn", 20)
            assert memories.recall("harbour turn", reinforce=False)


def test_threads_recall_while_segments_are_replaced(memories: Memories) -> None:
    done = threading.Event()

    def ask() -> int:
        asked = 0
        while not done.is_set() or not asked:
            assert len(memories.recall("harbour number 7", reinforce=False)) == 10
            assert len(by_words(memories, "harbour", 50)) == 50
            asked += 1
        return asked

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        try:
            for turn in range(6):
                memories.remember_many(f"Turn {turn} in the harbour, {number}" for number in range(60))
                memories.settle()
        finally:
            done.set()
        assert all(each.result(60) for each in asking)
    assert_same(memories, "harbour", 50)


def in_a_child(action: Callable[[], None]) -> int:
    """How a forked child ends that does this."""
    child = os.fork()
    if not child:
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_fork_after_segments_were_opened(memories: Memories) -> None:
    memories.settle()
    expected = texts(memories, "harbour number 7")

    def child() -> None:
        assert texts(memories, "harbour number 7") == expected
        memories.remember("A lighthouse")
        memories.settle()

    assert in_a_child(child) == 0
    assert texts(memories, "lighthouse", mode="keyword") == ["A lighthouse"]
    assert_same(memories, "harbour", 50)


def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    reading, writing = os.pipe()
    with locking.held(lock) as mine:
        assert mine
        with locking.held(lock) as again:
            assert not again
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)  # lives until the parent lets it go
            os._exit(0)
    try:
        with locking.held(lock) as free:
            assert free
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


# in the background


def test_enough_writes_are_indexed_in_the_background(path: Path) -> None:
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(background.NEWER + 100))
    assert {file.name.split("-")[0] for file in segments(path)} == {"words", "vectors"}
    with opened(path) as memories:
        assert_same(memories, "harbour", 50)


def test_segments_wait_while_many_are_written_but_not_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "QUIET", 3600.0)
    monkeypatch.setattr(background, "MOST_WAITING", 1_500)
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(1_000))
        assert segments(path) == []
        memories.remember_many(f"The tower number {number}" for number in range(1_000))
        deadline = time.monotonic() + 60
        while not segments(path) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert segments(path) != []
        assert_same(memories, "harbour", 50)


def test_what_comes_while_segments_are_made_of_many_waits_as_well(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "QUIET", 3600.0)
    monkeypatch.setattr(background, "MOST_WAITING", 1_000)
    gate = Gate(words.build)
    monkeypatch.setattr(words, "build", gate)
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(1_000))
        assert gate.reached.wait(60)
        memories.remember_many(f"The tower number {number}" for number in range(300))
        gate.opened.set()
        deadline = time.monotonic() + 60
        while "vectors" not in dict(listed(memories)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert listed(memories) == [("words", 1_000), ("vectors", 1_300)]
        assert_same(memories, "harbour tower", 50)
    with opened(path) as memories:
        assert sum(size for kind, size in listed(memories) if kind == "words") == 1_300


def test_segments_of_many_are_merged_when_there_are_too_many_or_it_is_over(
    path: Path, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sizes() -> list[int]:
        return [size for kind, size in listed(memories) if kind == "words"]

    def write(count: int) -> None:
        texts = [f"The tower number {number} of {count}" for number in range(count)]
        memories.remember_many(texts, on_duplicate="keep")
        index(memories)

    monkeypatch.setattr(building, "_MANY", 100)
    monkeypatch.setattr(building, "_SMALL", 0)
    memories.settle()
    for _ in range(7):
        write(100)
    assert sizes() == [200, *[100] * 7]
    write(100)
    assert sizes() == [1_000]
    for _ in range(7):
        write(100)
    write(10)
    assert sizes() == [1_710]
    assert_same(memories, "harbour tower", 50)


def test_segments_that_wait_for_quiet_are_made_when_the_store_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "QUIET", 1.0)
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(1_000))
        assert segments(path) == []
    assert {file.name.split("-")[0] for file in segments(path)} == {"words", "vectors"}


def test_closing_while_others_hold_the_lock_does_not_wait(path: Path) -> None:
    folder_of(path).mkdir()
    with locking.held(folder_of(path) / "lock") as mine, opened(path) as memories:
        assert mine
        memories.remember_many(f"The harbour number {number}" for number in range(600))
        assert memories.recall("harbour", reinforce=False)
    assert segments(path) == []


def test_a_fault_in_the_background_is_said_once_and_hurts_nobody(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "recollect")  # whatever a quiet command left
    folder_of(path).write_text("in the way")
    with opened(path) as memories:
        for turn in range(3):
            memories.remember_many(f"The harbour number {number}, {turn}" for number in range(300))
            assert len(by_words(memories, "harbour", 50)) == 50
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "The indexes beside the store could not be made, so it stays slower"
    ]


LEFT_OPEN = """
memories = recollect.open(path, namespace="one", embedder="hash:64")
memories.remember_many(f"The harbour number {number}" for number in range(700))
say("written")
"""


def test_a_process_that_ends_without_closing(path: Path) -> None:
    assert Child(LEFT_OPEN, path).finish() == ["written"]
    with opened(path) as memories:
        assert_same(memories, "harbour", 50)
        memories.settle()
        assert len(segments(path)) == len(listed(memories))
        assert memories.doctor() == []


READ_ONLY = """
import logging
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
from recollect.store.sqlite.derived import background
background.READERS_WAIT = 0.0
if os.getuid() == 0:  # whom permissions do not bind: be nobody, after everything is imported
    with recollect.open(":memory:", namespace="one", embedder="hash:64") as memories:
        memories.remember("The harbour opens at six")
        memories.recall("harbour")
    import recollect.store.sqlite.derived.building
    os.setgid(65534)
    os.setuid(65534)
with recollect.open(path, namespace="one", embedder="hash:64") as memories:
    for _ in range(3):
        say("found", len(memories.recall("harbour", reinforce=False)))
    memories.settle()
    say("settled")
"""


@pytest.mark.parametrize("had", ["segments", "none"])
def test_a_store_that_may_not_be_written_is_not_written_beside(shelf: Path, had: str) -> None:  # noqa: F811
    path = shelf / "memory.db"
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(600))
    if had == "none":
        for file in folder_of(path).iterdir():
            file.unlink()
        folder_of(path).rmdir()
    path.chmod(0o444)
    shelf.chmod(0o555)
    before = sorted((file, file.stat().st_mtime_ns) for file in shelf.rglob("*"))
    assert Child(READ_ONLY, path).finish() == ["found 10", "found 10", "found 10", "settled"]
    assert sorted((file, file.stat().st_mtime_ns) for file in shelf.rglob("*")) == before
