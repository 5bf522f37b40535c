"""Killed, out of room, or not allowed to write: what was acknowledged is there, nothing is half written."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import Memories, StoreError, StoreFull, StoreReadOnly
from recollect.store.sqlite.connections import Connections

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
KILLS = 25
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")

HEAD = """
import os, resource, signal, sys
from datetime import UTC, datetime
import recollect
from recollect import Draft
from recollect.errors import RecollectError
path, argument = sys.argv[1], sys.argv[2]
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
def opened():
    return recollect.open(path, namespace="crash", embedder="hash", clock=lambda: NOW)
def say(*words):
    print(*words, flush=True)
def word(number):
    return "zq" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:07d}") + "x"
"""


def opened(path: Path | str) -> Memories:
    return recollect.open(path, namespace="crash", embedder="hash", clock=lambda: NOW)


class Child:
    """A process that runs a script and says what it has done, line by line."""

    def __init__(self, script: str, path: Path | str, argument: object = "") -> None:
        command = [sys.executable, "-c", HEAD + script, str(path), str(argument)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/")

    def lines(self) -> Iterator[str]:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.endswith("\n"):
                yield line.rstrip("\n")

    def wait_for(self, wanted: str) -> list[str]:
        """What it said up to and with this line."""
        said = []
        for line in self.lines():
            said.append(line)
            if line == wanted:
                return said
        raise AssertionError(f"the child ended without saying {wanted!r}: {said}")

    def kill(self) -> list[str]:
        """Kill it where it stands, and read what it had still said."""
        self.process.send_signal(signal.SIGKILL)
        said = list(self.lines())
        self.process.wait(60)
        assert self.process.stdout
        self.process.stdout.close()
        return said

    def finish(self) -> list[str]:
        said = list(self.lines())
        assert self.process.wait(120) == 0
        assert self.process.stdout
        self.process.stdout.close()
        return said


def assert_complete(memories: Memories, acknowledged: dict[str, str]) -> None:
    """Every id is there with its word, found by that word, and has a vector."""
    kept = {memory.id: memory.content for memory in memories.get(list(acknowledged))}
    assert all(word in kept[id] for id, word in acknowledged.items())
    for id, word in acknowledged.items():
        found = memories.recall(word, mode="keyword", include_superseded=True, reinforce=False)
        assert [hit.memory.id for hit in found] == [id]
        near = memories.recall(
            kept[id],
            mode="semantic",
            fusion="fallback",
            threshold=0.999,
            limit=1000,
            include_superseded=True,
            reinforce=False,
        )
        assert id in [hit.memory.id for hit in near]


# killed while writing

WRITE = """
start = int(argument)
with opened() as memories:
    for number in range(start, start + 100_000):
        id = memories.remember(f"Note {word(number)} about the harbour", session=f"s{number % 3}").id
        say("kept", id, word(number))
        if number % 5 == 0:
            memories.recall("harbour", limit=3)
        if number % 7 == 0:
            memories.update(id, tags=["harbour"])
            say("tagged", id)
        if number % 11 == 0:
            other = memories.remember(f"Note {word(5_000_000 + number)} instead").id
            say("kept", other, word(5_000_000 + number))
            memories.supersede(id, other)
            say("superseded", id, other)
        if number % 13 == 0:
            say("forgetting", id)
            memories.forget(id)
            say("forgotten", id)
        if number == start:
            say("ready")
"""


def test_killed_again_and_again_while_writing(tmp_path: Path) -> None:
    assert_killing_loses_nothing(tmp_path / "memory.db", KILLS)


def assert_killing_loses_nothing(path: Path | str, kills: int) -> None:
    """Kill a process that writes so often; what it had said is there, and nothing is half there."""
    chance = random.Random(20_260_115)
    kept: dict[str, str] = {}
    tagged, forgotten, doubtful = set(), set(), set()
    superseded: dict[str, str] = {}
    for kill in range(kills):
        child = Child(WRITE, path, kill * 7 * 11 * 13 * 10)  # so that the first round does everything
        said = child.wait_for("ready") if kill % 10 else []  # some die before they have opened it
        time.sleep(chance.uniform(0.0, 0.3))
        said += child.kill()
        for line in said:
            match line.split():
                case ["kept", id, word]:
                    kept[id] = word
                case ["tagged", id]:
                    tagged.add(id)
                case ["superseded", old, new]:
                    superseded[old] = new
                case ["forgetting", id]:
                    doubtful.add(id)
                case ["forgotten", id]:
                    doubtful.discard(id)
                    forgotten.add(id)
        if kill % 10 == 9:
            with opened(path) as memories:
                assert memories.doctor() == []
    certain = {id: word for id, word in kept.items() if id not in doubtful | forgotten}
    assert len(certain) >= kills * 9 // 10
    assert tagged
    assert superseded
    assert forgotten
    with opened(path) as memories:
        assert memories.doctor() == []
        assert memories.stats().pending_vectors == 0, "remember writes the row and its vector together"
        assert_complete(memories, dict(chance.sample(sorted(certain.items()), min(len(certain), 150))))
        there = {memory.id: memory for memory in memories.get(list(certain))}
        assert set(there) == set(certain)
        assert all(there[id].tags == ("harbour",) for id in tagged & set(certain))
        assert all(there[old].superseded_by == superseded[old] for old in set(superseded) & set(certain))
        known = {record["id"] for record in memories.export_records() if record["type"] == "memory"}
        assert not known & forgotten
        assert len(known) <= len(certain) + len(doubtful) + 2 * kills, "at most what was under way"


MANY = """
with opened() as memories:
    def progress(what, done, total):
        say(what, done)
    drafts = [Draft(f"Note {word(number)} about the harbour") for number in range(1500)]
    memories.remember_many(drafts, progress=progress)
    say("done")
"""


@pytest.mark.parametrize("moment", ["storing 512", "storing 1500", "embedding 64"])
def test_killed_in_the_middle_of_many(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "memory.db"
    child = Child(MANY, path)
    child.wait_for(moment)
    child.kill()
    with opened(path) as memories:
        assert memories.doctor() == []
        stats = memories.stats()
        assert stats.memories >= (int(moment.split()[1]) if "storing" in moment else 1500)
        assert stats.memories in (512, 1500), "whole batches"
        assert stats.pending_vectors + stats.vectors == stats.memories
        found = memories.recall("zqbbbbbbdx", mode="keyword")
        assert [hit.memory.content for hit in found] == ["Note zqbbbbbbdx about the harbour"]
        assert memories.reembed() == 0
        assert memories.stats().pending_vectors == 0
        assert memories.recall("Note zqbbbbbbdx about the harbour", mode="semantic")[0].score > 0.9
        assert memories.doctor() == []


def filled(path: Path, count: int = 600) -> list[str]:
    with opened(path) as memories:
        kept = memories.remember_many(
            f"Note {number} about harbour {number * 7919} and pier {number * 31}" for number in range(count)
        )
    return [item.id for item in kept]


REBUILD = """
with opened() as memories:
    say("ready")
    while True:
        memories.doctor(rebuild=True, progress=lambda what, done, total: say(what, done))
        say("rebuilt")
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05])
def test_killed_in_the_middle_of_a_rebuild(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "memory.db"
    ids = filled(path)
    child = Child(REBUILD, path)
    child.wait_for("ready")
    time.sleep(delay)
    child.kill()
    with opened(path) as memories:
        assert memories.doctor() == []
        assert len(memories.get(ids)) == len(ids)
        assert memories.stats().vectors == len(ids)
        assert len(memories.recall("harbour", mode="keyword", limit=1000)) == len(ids)


FORGET = """
with opened() as memories:
    say("ready")
    memories.forget(tags="old")
    say("forgotten")
    memories.forget(everything=True)
    say("all forgotten")
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_killed_in_the_middle_of_forgetting(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        memories.remember_many(
            recollect.Draft(
                f"Note {number} about harbour {number * 7919}", tags=["old"] if number % 2 else []
            )
            for number in range(1000)
        )
    child = Child(FORGET, path)
    child.wait_for("ready")
    time.sleep(delay)
    said = child.kill()
    with opened(path) as memories:
        assert memories.doctor() == []
        left = memories.stats().memories
        assert left in ((0,) if "all forgotten" in said else (500, 0) if "forgotten" in said else (1000, 500))
        assert memories.stats().vectors == left
        assert len(memories.recall("harbour", mode="keyword", limit=1000)) == left


CREATE = """
say("ready")
memories = opened()
say("made")
memories.remember("the first")
say("written")
"""


def test_killed_while_the_file_is_made(tmp_path: Path) -> None:
    chance = random.Random(7)
    for attempt in range(10):
        path = tmp_path / f"{attempt}.db"
        child = Child(CREATE, path)
        child.wait_for("ready")
        time.sleep(chance.uniform(0.0, 0.35))
        said = child.kill()
        with opened(path) as memories:
            assert memories.doctor() == []
            if "written" in said:
                assert memories.stats().memories == 1
            memories.remember("the second")


def test_a_store_is_readable_from_every_state_that_its_making_leaves_behind(tmp_path: Path) -> None:
    """The file and its log, cut off wherever a killed process may have left them."""
    source = tmp_path / "source.db"
    memories = opened(source)
    memories.remember("the first")
    log = Path(f"{source}-wal").read_bytes()
    head = source.read_bytes()
    memories.close()
    for number, length in enumerate(
        [0, 1, 31, 32, 100, 4000, 4152, 9000, len(log) // 2, len(log) - 1, len(log)]
    ):
        path = tmp_path / f"{number}.db"
        path.write_bytes(head)
        Path(f"{path}-wal").write_bytes(log[:length])
        with opened(path) as again:
            assert again.doctor() == []
            assert again.stats().memories in ((1,) if length == len(log) else (0, 1))
            again.remember("another")


# no room

FULL = """
import apsw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with opened() as memories:
    memories.remember("the first")
    room = int(argument)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    for number in range(10_000):
        try:
            if number % 10 == 9:
                memories.remember_many([f"Batch {word(number * 100 + i)} " + "text " * 50 for i in range(20)])
            id = memories.remember(f"Note {word(number)} " + "text " * 200).id
        except RecollectError as error:
            say("refused", type(error).__name__, str(error))
            break
        say("kept", id, word(number))
    found = memories.recall(word(0), mode="keyword", reinforce=False)
    say("still", len(found), found[0].memory.content.split()[1])
    try:
        memories.remember("once more " + "text " * 200_000)
        say("once more")
    except RecollectError as error:
        say("refused again", type(error).__name__)
    say("pending", memories.stats().memories)
"""


@pytest.mark.parametrize("room", [600_000, 1_000_000, 2_345_678])
def test_a_full_disk_is_said_so_and_loses_nothing(tmp_path: Path, room: int) -> None:
    path = tmp_path / "memory.db"
    said = Child(FULL, path, room).finish()
    refusals = [line for line in said if line.startswith("refused ")]
    assert refusals
    name, message = refusals[0].split(maxsplit=2)[1:]
    assert issubclass(getattr(recollect, name), StoreError)
    assert "disk" in message
    assert "full" in message
    assert any(line.startswith("still 1 ") for line in said), said
    kept = dict(line.split()[1:] for line in said if line.startswith("kept"))
    assert len(kept) > 5
    with opened(path) as memories:
        assert memories.doctor() == []
        assert_complete(memories, kept)
        batches = memories.recall("batch", mode="keyword", limit=1000, reinforce=False)
        assert len(batches) % 20 == 0, "a batch is there whole, or not at all"
        memories.reembed()
        memories.remember("There is room again")


FULL_AT_ONCE = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
room = int(argument)
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    opened()
    say("made")
except RecollectError as error:
    say("refused", type(error).__name__, str(error))
"""


@pytest.mark.parametrize("room", [0, 1000, 4096, 8192, 20_000, 50_000])
def test_no_room_to_make_a_store(tmp_path: Path, room: int) -> None:
    path = tmp_path / "memory.db"
    (said,) = Child(FULL_AT_ONCE, path, room).finish()
    assert said.startswith("refused Store"), said
    with opened(path) as memories:
        memories.remember("There is room now")
        assert memories.doctor() == []


def test_a_store_that_may_not_grow_says_that_the_disk_is_full(tmp_path: Path) -> None:
    """SQLite's own limit stands for a disk that answers ENOSPC."""
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        memories.remember("the first", id="first")
        writer = memories._store._connections._writer  # type: ignore[attr-defined]
        writer.execute("PRAGMA max_page_count = 60")
        with pytest.raises(StoreFull, match="is full: make room; nothing was changed"):
            for number in range(1000):
                kept = memories.remember(f"Note {number} " + "text " * 500)
        with pytest.raises(StoreFull):
            memories.remember_many(f"Note {number} " + "text " * 500 for number in range(1000, 1500))
        assert memories.get("first").content == "the first"
        assert memories.get(kept.id)
        assert memories.recall("first")[0].memory.id == "first"
        writer.execute("PRAGMA max_page_count = 1000000")
        memories.remember("room again")
        assert memories.doctor() == []


# not allowed to write

READ = """
import logging
logging.basicConfig(level=logging.ERROR)
if os.getuid() == 0:  # whom permissions do not bind: be nobody, after everything is imported
    with recollect.open(":memory:", namespace="crash", embedder="hash") as memories:
        memories.remember("The harbour opens at six", tags=["a"])
        memories.recall("harbour")
        memories.import_records(memories.export_records())
        memories.doctor(rebuild=True)
    import urllib.parse
    os.setgid(65534)
    os.setuid(65534)
try:
    memories = opened()
except RecollectError as error:
    say("refused", type(error).__name__, str(error))
    sys.exit()
say("found", *[hit.memory.id for hit in memories.recall("harbour", reinforce=argument == "reinforce")])
say("near", *[hit.memory.id for hit in memories.recall("harbour", mode="semantic", reinforce=False)])
say("got", memories.get("one").content)
say("exported", len(list(memories.export_records())))
say("findings", len(memories.doctor()))
for action in (
    lambda: memories.remember("x"), lambda: memories.forget("one"), lambda: memories.delete("one"),
    lambda: memories.update("one", tags=["a"]), lambda: memories.remember_many(["x"]),
    lambda: memories.start_session("s"), lambda: memories.doctor(rebuild=True),
    lambda: memories.import_records([]),
):
    try:
        action()
        say("written")
    except RecollectError as error:
        say("refused", type(error).__name__, str(error))
memories.close()
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody in particular can reach."""
    shelf = Path("/tmp") / f"recollect-shelf-{os.getpid()}-{random.randrange(10**9)}"
    shelf.mkdir(mode=0o777)
    shelf.chmod(0o777)
    yield shelf
    shelf.chmod(0o777)
    shutil.rmtree(shelf)


@pytest.mark.parametrize("folder", ["writable", "read-only"])
@pytest.mark.parametrize("recall", ["reinforce", "plain"])
def test_a_read_only_file_is_read_and_not_written(shelf: Path, folder: str, recall: str) -> None:
    path = shelf / "memory.db"
    with opened(path) as memories:
        memories.remember("The harbour opens at six", id="one")
    path.chmod(0o444)
    if folder == "read-only":
        shelf.chmod(0o555)
    before = path.read_bytes()
    said = Child(READ, path, recall).finish()
    assert said[:5] == ["found one", "near one", "got The harbour opens at six", "exported 2", "findings 0"]
    assert len(said) == 5 + 8
    for line in said[5:]:
        assert line.startswith("refused StoreReadOnly"), line
        assert "can't be written: change its permissions, or copy it elsewhere." in line
    assert path.read_bytes() == before
    assert issubclass(StoreReadOnly, StoreError)


def test_a_file_that_may_not_even_be_read(shelf: Path) -> None:
    path = shelf / "memory.db"
    with opened(path) as memories:
        memories.remember("The harbour opens at six", id="one")
    path.chmod(0o000)
    (said,) = Child(READ, path).finish()
    assert said.startswith("refused Store"), said
    assert f"{path} can't be opened: change its permissions or its folder's" in said


def test_a_folder_that_may_not_be_entered(shelf: Path) -> None:
    folder = shelf / "private"
    folder.mkdir(mode=0o700)
    path = folder / "memory.db"
    with opened(path) as memories:
        memories.remember("The harbour opens at six", id="one")
    (said,) = Child(READ, path).finish() if os.getuid() == 0 else ("refused StoreError",)
    assert said.startswith("refused Store"), said


def test_a_folder_that_may_not_be_written_to(shelf: Path) -> None:
    shelf.chmod(0o555)
    (said,) = Child(READ, shelf / "new.db").finish()
    assert said.startswith("refused Store"), said
    assert "new.db can't be opened: change its permissions or its folder's" in said


def test_an_empty_file_that_may_not_be_written(shelf: Path) -> None:
    path = shelf / "memory.db"
    path.touch(0o444)
    path.chmod(0o444)
    (said,) = Child(READ, path).finish()
    assert said.startswith("refused Store"), said


def test_a_log_left_behind_beside_a_read_only_file(shelf: Path) -> None:
    """Killed before its log was folded in, then made read-only: what was acknowledged is still read."""
    source, path = shelf / "source.db", shelf / "memory.db"
    memories = opened(source)
    memories.remember("The harbour opens at six", id="one")
    shutil.copy(source, path)
    shutil.copy(f"{source}-wal", f"{path}-wal")
    memories.close()
    for file in (path, Path(f"{path}-wal")):
        file.chmod(0o444)
    said = Child(READ, path, "plain").finish()
    assert said[0] == "found one", said


GONE: dict[str, Callable[[Path], object]] = {
    "moved": lambda path: path.rename(path.with_name("moved.db")),
    "removed": Path.unlink,
    "replaced": lambda path: Path(shutil.copy(path, path.with_name("copy.db"))).replace(path),
}


@pytest.mark.parametrize("how", GONE)
def test_a_file_that_is_taken_away_while_it_is_open_is_not_used_any_more(tmp_path: Path, how: str) -> None:
    path = tmp_path / "memory.db"
    memories = opened(path)
    memories.remember("The harbour opens at six", id="one")
    GONE[how](path)
    was_there = path.exists()
    for action in (
        lambda: memories.remember("The harbour closes at ten"),
        lambda: memories.recall("harbour"),
        lambda: memories.doctor(),
    ):
        with pytest.raises(
            StoreError, match=r"was moved, removed or replaced while it was open.* put it back"
        ):
            action()
    assert path.exists() == was_there, "no empty one was made in its place"
    memories.close()


def test_what_is_being_written_while_the_file_is_taken_away_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connections = Connections(path)
    with pytest.raises(StoreError, match="was moved, removed or replaced"), connections.writing() as writer:
        writer.execute("CREATE TABLE late (x)")
        path.rename(tmp_path / "moved.db")
    (tmp_path / "moved.db").rename(path)
    with connections.writing() as writer:  # it is back
        assert writer.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'late'").get == 0
    connections.close()


def test_the_log_is_gone_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        memories.remember("The harbour opens at six")
        assert {entry.name for entry in tmp_path.iterdir()} > {"memory.db", "memory.db-wal"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.db"]
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
