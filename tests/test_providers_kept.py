"""The file that vectors of questions are kept in: private, bounded, shared by processes, never in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from recollect.embed.asked import Asked
from recollect.embed.kept import Kept

ROW = np.array([0.6, 0.8], np.float32)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    Kept(tmp_path / "q.db").keep_vector("model", "where?", ROW)
    found = Kept(tmp_path / "q.db").vector("model", "where?")
    assert found is not None
    assert np.array_equal(found, ROW)
    assert found.dtype == np.float32
    assert Kept(tmp_path / "q.db").vector("another", "where?") is None
    assert Kept(tmp_path / "q.db").vector("model", "when?") is None


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_it_is_private_and_holds_no_question(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Kept(tmp_path / "folder" / "q.db").keep_vector("model", "my secret question", ROW)
    finally:
        os.umask(before)
    path = tmp_path / "folder" / "q.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert b"secret" not in path.read_bytes()


def test_without_a_path_nothing_is_kept() -> None:
    Kept(None).keep_vector("model", "where?", ROW)
    Kept(None).keep_number("model", 3)
    assert Kept(None).vector("model", "where?") is None
    assert Kept(None).number("model") is None


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert Kept(tmp_path / "q.db").vector("model", "where?") is None
    assert list(tmp_path.iterdir()) == []


def test_those_not_used_for_the_longest_time_make_room(tmp_path: Path) -> None:
    day = [0.0]
    kept = Kept(tmp_path / "q.db", most=3, now=lambda: day[0])
    for number in range(3):
        kept.keep_vector("model", f"question {number}", ROW)
    day[0] += 100_000
    assert kept.vector("model", "question 0") is not None
    kept.keep_vector("model", "question 3", ROW)
    there = [number for number in range(4) if kept.vector("model", f"question {number}") is not None]
    assert there == [0, 2, 3]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"this is no database at all, but long enough to look at" * 50),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 20_000),
        lambda path: path.write_bytes(path.read_bytes()[:100]),
    ],
    ids=["another file", "torn pages", "cut"],
)
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "q.db"
    for number in range(200):
        Kept(path).keep_vector("model", f"question {number}", ROW)
    damage(path)
    for number in range(200):
        Kept(path).vector("model", f"question {number}")
    for _ in range(2):
        Kept(path).keep_vector("model", "where?", ROW)
    found = Kept(path).vector("model", "where?")
    assert found is not None
    assert np.array_equal(found, ROW)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_a_vector_without_a_direction_is_not_believed(tmp_path: Path, value: float) -> None:
    """A damaged page is not always noticed by SQLite."""
    kept = Kept(tmp_path / "queries.db")
    kept.keep_vector("model", "question", np.full(8, value, np.float32))
    assert kept.vector("model", "question") is None


def test_a_file_of_another_make_is_made_anew(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "q.db"))
    connection.execute("CREATE TABLE query (something INTEGER)")
    connection.close()
    for _ in range(2):
        Kept(tmp_path / "q.db").keep_vector("model", "where?", ROW)
    assert Kept(tmp_path / "q.db").vector("model", "where?") is not None


def test_a_place_that_can_not_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    Kept(tmp_path / "file" / "q.db").keep_vector("model", "where?", ROW)
    assert Kept(tmp_path / "file" / "q.db").vector("model", "where?") is None


def test_nobody_waits_for_another_process(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    Kept(path).keep_vector("model", "where?", ROW)
    other = apsw.Connection(str(path))
    other.execute("BEGIN EXCLUSIVE")
    Kept(path).keep_vector("model", "when?", ROW)
    assert Kept(path).vector("model", "where?") is None
    other.execute("ROLLBACK")
    other.close()
    assert Kept(path).vector("model", "where?") is not None
    assert Kept(path).vector("model", "when?") is None


WRITER = """
import sys
import numpy as np
from pathlib import Path
from recollect.embed.kept import Kept
for number in range(60):
    Kept(Path(sys.argv[1])).keep_vector("model", f"{sys.argv[2]} {number}", np.array([0.6, 0.8], np.float32))
"""


def test_several_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n)]) for n in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    number = len(list(connection.execute("SELECT key FROM query")))
    connection.close()
    assert 60 <= number <= 240, "one that found it busy may have kept nothing"


def test_in_memory_first_then_on_disk(tmp_path: Path) -> None:
    asked = Asked(tmp_path / "q.db")
    asked.put("model", "only here", ROW, on_disk=False)
    asked.put("model", "on disk", ROW, on_disk=True)
    assert asked.get("model", "only here", on_disk=False) is not None
    other = Asked(tmp_path / "q.db")
    assert other.get("model", "only here", on_disk=True) is None
    assert other.get("model", "on disk", on_disk=False) is None
    assert other.get("model", "on disk", on_disk=True) is not None
    assert other.get("model", "on disk", on_disk=False) is not None, "now it is in memory"
