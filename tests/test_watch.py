"""`recollect watch`: real processes, real files; every wait is for something that must come."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import folders, following
from recollect import open as open_store
from recollect.errors import ConfigError, StoreFull
from recollect.watching import Event, Watch
from tests.test_cli import Cli, start

PATIENCE = 60.0
"""After how many seconds an event that did not come has failed to."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    return Cli(tmp_path, monkeypatch)


class Watcher:
    """`recollect watch … --json` in a process of its own, and what it has told so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = start("watch", *arguments, "--json")
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.told: list[tuple[str, str]] = []

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)

    def until(self, *wanted: tuple[str, str]) -> dict[str, Any]:
        """Wait for these events, in any order; the last of them."""
        left = set(wanted)
        while True:
            event = self._events.get(timeout=PATIENCE)
            assert event is not None, f"it ended; told: {self.told}"
            self.told.append((event["event"], event["name"]))
            left.discard(self.told[-1])
            if not left:
                return event

    def until_told_of(self, name: str) -> None:
        """Wait for whatever it does with this document."""
        while True:
            event = self._events.get(timeout=PATIENCE)
            assert event is not None, f"it ended; told: {self.told}"
            if event["name"] == name:
                return

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        assert self.process.stderr
        return code, self.process.stderr.read().decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout and self.process.stderr
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def watcher(cli: Cli) -> Iterator[Callable[..., Watcher]]:
    started: list[Watcher] = []

    def begin(*arguments: str) -> Watcher:
        made = Watcher(*arguments)
        started.append(made)
        made.until(("watching", arguments[0]))
        return made

    yield begin
    for each in started:
        each.close()


def write(path: Path, text: str) -> None:
    """As careful editors do: beside it, then in its place."""
    partial = path.with_name(f".{path.name}.tmp")
    partial.write_text(text)
    partial.replace(path)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def documents(cli: Cli) -> set[str]:
    with open_store(cli.folder / "memory.db") as memories:
        return {document.name for document in memories.documents()}


@pytest.mark.parametrize("how", [(), ("--poll", "0.1")])
def test_documents_follow_their_files(
    cli: Cli, watcher: Callable[..., Watcher], how: tuple[str, ...]
) -> None:
    (cli.folder / "notes" / "a.md").write_text("# Alpha\n\nThe cache is warm.\n")
    watch = watcher("notes", *how)
    assert watch.told == [("added", "notes/a.md"), ("watching", "notes")]
    write(cli.folder / "notes" / "a.md", "# Alpha\n\nThe cache is cold now.\n")
    assert watch.until(("replaced", "notes/a.md"))["passages"] == 1
    write(cli.folder / "notes" / "deep" / "b.txt", "Helm charts")
    watch.until(("added", "notes/deep/b.txt"))
    assert "cold now" in cli.out("search", "cache", "--documents", "--no-reinforce")
    (cli.folder / "notes" / "a.md").rename(cli.folder / "notes" / "c.md")
    watch.until(("added", "notes/c.md"), ("forgotten", "notes/a.md"))
    (cli.folder / "notes" / "deep").rename(cli.folder / "notes" / "deeper")
    watch.until(("added", "notes/deeper/b.txt"), ("forgotten", "notes/deep/b.txt"))
    (cli.folder / "notes" / "c.md").write_text("")
    watch.until(("forgotten", "notes/c.md"))
    assert documents(cli) == {"notes/deeper/b.txt"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_stopped_with_a_signal_and_ends_well(
    cli: Cli, watcher: Callable[..., Watcher], number: signal.Signals
) -> None:
    watch = watcher("notes")
    code, said = watch.stop(number)
    assert code == 0
    assert said.splitlines() == ["Watching notes: 0 documents (none).", "Stopped."]
    assert cli.out("doctor") == "all is well\n"


def test_what_is_no_note_is_left_alone(cli: Cli, watcher: Callable[..., Watcher]) -> None:
    watch = watcher("notes")
    notes = cli.folder / "notes"
    (notes / ".git").mkdir()
    for name in (".git/x.md", ".hidden.md", "a.py", "a.md~", "#a.md#", "~$a.md"):
        (notes / name).write_text("nothing to see")
    os.mkfifo(notes / "pipe.md")
    (notes / "empty.md").write_text(" \n")
    (notes / "bad.txt").write_bytes(b"\xff\xfe")
    (notes / "binary.md").write_bytes(b"PNG\0\0")
    with (notes / "large.md").open("wb") as large:
        large.truncate(20_000_001)
    event = watch.until(
        ("skipped", "notes/bad.txt"), ("skipped", "notes/binary.md"), ("skipped", "notes/large.md")
    )
    assert event["reason"]
    write(notes / "good.md", "good")
    watch.until(("added", "notes/good.md"))
    write(notes / "bad.txt", "mended")
    watch.until(("added", "notes/bad.txt"))
    assert documents(cli) == {"notes/good.md", "notes/bad.txt"}
    assert {name for what, name in watch.told if what == "skipped"} == {
        "notes/bad.txt", "notes/binary.md", "notes/large.md"
    }  # fmt: skip


def test_a_folder_that_vanishes_takes_nothing_with_it(cli: Cli, watcher: Callable[..., Watcher]) -> None:
    notes = cli.folder / "notes"
    (notes / "a.md").write_text("one")
    watch = watcher("notes")
    notes.rename(cli.folder / "elsewhere")
    watch.until(("gone", "notes"))
    assert documents(cli) == {"notes/a.md"}
    (cli.folder / "elsewhere" / "b.md").write_text("two")
    (cli.folder / "elsewhere").rename(notes)
    watch.until(("back", "notes"), ("added", "notes/b.md"))
    (notes / "a.md").unlink()
    watch.until(("forgotten", "notes/a.md"))


def test_a_busy_store_is_waited_for(cli: Cli, watcher: Callable[..., Watcher]) -> None:
    watch = watcher("notes")
    other = apsw.Connection(str(cli.folder / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    write(cli.folder / "notes" / "a.md", "one")
    write(cli.folder / "notes" / "b.md", "two")
    with pytest.raises(queue.Empty):
        watch._events.get(timeout=1)  # nobody can write meanwhile
    other.execute("ROLLBACK")
    other.close()
    watch.until(("added", "notes/a.md"), ("added", "notes/b.md"))


def test_several_watchers_and_writers_share_a_store(cli: Cli, watcher: Callable[..., Watcher]) -> None:
    watchers = [watcher("notes"), watcher("notes")]
    for number in range(10):
        write(cli.folder / "notes" / f"{number}.md", f"# Note {number}\n\nFirst.\n")
        cli.add(f"Memory number {number}")
    (cli.folder / "notes" / "0.md").unlink()
    write(cli.folder / "notes" / "last.md", "The last one")
    for watch in watchers:
        watch.until_told_of("notes/last.md")
    wanted = {f"notes/{name}.md" for name in (*range(1, 10), "last")}
    wait_until(lambda: documents(cli) == wanted)
    assert [watch.stop()[0] for watch in watchers] == [0, 0]
    assert cli.json("stats")["memories"] == 10
    assert cli.json("stats")["passages"] == 10
    assert cli.out("doctor") == "all is well\n"


# one pass


def test_once_brings_up_to_date_and_says_what_has_no_file(cli: Cli) -> None:
    notes = cli.folder / "notes"
    for name in ("a.md", "b.md"):
        (notes / name).write_text(f"About {name}")
    cli.run("ingest", "-", "--name", "other.md", input="Not a file of notes\n")
    done = cli.run("watch", "--once", "notes", "--meta", "team=ops")
    assert done.stdout.splitlines() == ["notes/a.md  added, 1 passage", "notes/b.md  added, 1 passage"]
    assert done.stderr == "2 added.\n"
    (notes / "b.md").unlink()
    done = cli.run("watch", "--once", "notes", "--meta", "team=ops")
    assert done.stdout == ""
    assert done.stderr == ("1 document without a file (notes/b.md): --prune forgets such.\n1 unchanged.\n")
    assert documents(cli) == {"notes/a.md", "notes/b.md", "other.md"}
    assert cli.out("watch", "--once", "notes", "--prune") == (
        "notes/a.md  replaced, 1 passage\nnotes/b.md  forgotten, 1 passage\n"
    )
    assert documents(cli) == {"notes/a.md", "other.md"}
    assert cli.run("watch", "--once", "notes", "-q").output == ""


def test_once_names_documents_as_ingest_does(cli: Cli) -> None:
    for name in ("a.md", "deep/B.TXT", ".hidden.md"):
        (cli.folder / "notes" / name).write_text(f"About {name}")
    cli.run("ingest", "notes")
    events = [json.loads(line) for line in cli.out("watch", "notes", "--once", "--jsonl").splitlines()]
    assert [(each["event"], each["name"]) for each in events] == [
        ("unchanged", "notes/a.md"), ("unchanged", "notes/deep/B.TXT")
    ]  # fmt: skip


def test_once_ends_with_2_when_a_file_was_skipped(cli: Cli) -> None:
    (cli.folder / "notes" / "bad.md").write_bytes(b"\xff")
    done = cli.run("watch", "notes", "--once", code=2)
    assert done.stderr.splitlines()[0] == "notes/bad.md  skipped: is not UTF-8 text: convert it first."


def test_a_folder_must_be_there_and_watchfiles_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not exist" in cli.error("watch", "nowhere")
    (cli.folder / "file.md").write_text("x")
    assert "is a file" in cli.error("watch", "file.md")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert "pip install 'recollect[watch]'" in cli.error("watch", "notes")


# what a look makes of what it sees


def looked(watch: Watch) -> list[tuple[str, str]]:
    return [(event.event, event.name) for event in watch.look()]


def test_a_file_is_forgotten_when_it_is_missing_twice(cli: Cli) -> None:
    path = Path("notes/a.md")
    path.write_text("one")
    with open_store(cli.folder / "memory.db") as memories:
        watch = Watch(memories, [Path("notes")])
        assert looked(watch) == [("added", "notes/a.md")]
        path.unlink()
        assert (looked(watch), watch.is_unsettled) == ([], True)
        path.write_text("two")
        assert (looked(watch), watch.is_unsettled) == ([("replaced", "notes/a.md")], False)
        path.unlink()
        looked(watch)
        assert (looked(watch), watch.is_unsettled) == ([("forgotten", "notes/a.md")], False)


def test_a_folder_that_can_t_be_looked_into_keeps_its_documents(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli.folder / "notes" / "deep" / "a.md").write_text("one")
    with open_store(cli.folder / "memory.db") as memories:
        watch = Watch(memories, [Path("notes")])
        looked(watch)
        with monkeypatch.context() as patch:  # root may look into any
            real = os.scandir

            def refuse(path: Any) -> Any:
                if str(path).endswith("deep"):
                    raise PermissionError(13, "Permission denied", str(path))
                return real(path)

            patch.setattr(os, "scandir", refuse)
            assert looked(watch) == looked(watch) == []
        assert [document.name for document in memories.documents()] == ["notes/deep/a.md"]


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
def test_a_file_that_can_t_be_looked_at_keeps_its_document(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """As in a folder whose files may be listed but not entered, or on a network drive in trouble."""
    (cli.folder / "notes" / "a.md").write_text("one")
    with open_store(cli.folder / "memory.db") as memories:
        watch = Watch(memories, [Path("notes")])
        looked(watch)
        with monkeypatch.context() as patch:  # root may look at any
            real = Path.stat

            def refuse(path: Path, **how: Any) -> Any:
                if path.name == "a.md":
                    raise error
                return real(path, **how)

            patch.setattr(Path, "stat", refuse)
            assert looked(watch) == looked(watch) == []
            assert Watch(memories, [Path("notes")]).unaccounted() == []
        assert [document.name for document in memories.documents()] == ["notes/a.md"]


def test_a_store_that_can_t_be_written_for_a_while_is_told_of_once(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md"):
        (cli.folder / "notes" / name).write_text(name)
    with open_store(cli.folder / "memory.db") as memories:
        watch = Watch(memories, [Path("notes")])
        with monkeypatch.context() as patch:

            def full(*_: Any, **__: Any) -> Any:
                raise StoreFull("The disk is full.")

            patch.setattr(memories, "ingest", full)
            assert list(watch.look()) == [Event("waiting", "notes/a.md", reason="The disk is full.")]
            assert (looked(watch), watch.is_unsettled) == ([], True)
        assert looked(watch) == [("added", "notes/a.md"), ("added", "notes/b.md")]


def test_another_disk_in_the_same_place_removes_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "notes" / "a.md").write_text("one")
    with open_store(cli.folder / "memory.db") as memories:
        watch = Watch(memories, [Path("notes")])
        looked(watch)
        (cli.folder / "notes" / "a.md").unlink()
        watch._folders[0].device = -1
        assert looked(watch) == looked(watch) == looked(watch) == []
        assert len(memories.documents()) == 1


def test_hidden_is_what_lies_below_the_folder_itself(tmp_path: Path) -> None:
    root = tmp_path / ".vault"
    assert not following._is_hidden(root / "a.md", [root])
    assert following._is_hidden(root / ".git" / "index", [root])
    assert folders.lies_in("notes/.x/a.md", Path("notes")) is False


def test_it_looks_again_when_a_folder_was_gone_before_it_listened(tmp_path: Path) -> None:
    stop = threading.Event()
    told = following.moments([tmp_path / "gone"], stop)
    assert [next(told), next(told)] == [True, True]
    (tmp_path / "gone").mkdir()
    assert next(told) is True
    stop.set()
    assert list(told) == []


def test_a_system_that_can_t_tell_is_looked_at_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import watchfiles

    def exhausted(*_: Any, **__: Any) -> Any:
        raise OSError(28, "inotify watch limit reached")

    caplog.set_level("WARNING", logger="recollect")
    monkeypatch.setattr(watchfiles, "watch", exhausted)
    monkeypatch.setattr(following, "WHERE_NOT_TOLD", 0.01)
    stop = threading.Event()
    told = following.moments([tmp_path], stop)
    assert [next(told), next(told)] == [True, True]
    assert "looking every" in caplog.text
    stop.set()
    assert list(told) == []


def test_without_watchfiles_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConfigError, match="--poll 2"):
        next(following.moments([Path()], threading.Event()))


def test_it_ends_when_its_reader_goes_away(cli: Cli, watcher: Callable[..., Watcher]) -> None:
    process = start("watch", "notes", "--json", "--poll", "0.1", stderr=subprocess.DEVNULL)
    assert process.stdout
    assert json.loads(process.stdout.readline())["event"] == "watching"
    process.stdout.close()
    write(cli.folder / "notes" / "a.md", "one")
    assert process.wait(PATIENCE) == 141
