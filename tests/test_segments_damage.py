"""Segments deleted, cut off, overwritten, or of another time: answers are right, and they are made anew."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect import Memories, StoreError
from recollect.store.sqlite.derived import background, building, files

from .segmented import assert_same, by_words, folder_of, index, listed, opened, segments, store_of, texts

SEGMENTS_ARE_DAMAGED = True

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files that are open are changed")


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are made when a test says so."""
    monkeypatch.setattr(background, "NEWER", 10**9)
    monkeypatch.setattr(building, "_SMALL", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with several segments of words and of vectors."""
    path = tmp_path / "memory.db"
    with opened(path) as memories:
        for part, size in enumerate((100, 12, 2)):
            memories.remember_many(f"The harbour, part {part}, number {number}" for number in range(size))
            index(memories)
        assert len(listed(memories)) == 6
        memories.remember("The newest harbour")
    return path


def assert_sound(memories: Memories) -> None:
    """It finds what is there, is written to, and has nothing to complain of."""
    for query in ("harbour", "part 1", "number 7"):
        assert_same(memories, query, 50)
        assert memories.recall(query, reinforce=False)
    kept = memories.remember("A lighthouse")
    assert texts(memories, "lighthouse", mode="keyword") == ["A lighthouse"]
    assert texts(memories, "A lighthouse", mode="semantic")[0] == "A lighthouse"
    memories.update(kept.id, text="A garden")
    memories.forget(kept.id)
    assert texts(memories, "lighthouse", mode="keyword") == []
    assert memories.doctor() == []


def assert_made_anew(memories: Memories, path: Path) -> None:
    memories.settle()
    assert len(segments(path)) == len(listed(memories)) >= 2
    now = store_of(memories)._read(store_of(memories)._shelf.newest)
    assert not now.is_broken
    assert now.words_upto == now.listed[-1].upto or now.words
    assert_same(memories, "harbour", 50)


def head_of(file: Path) -> int:
    content = file.read_bytes()
    return 20 + int.from_bytes(content[8:12], "little")


def cut(position: Callable[[Path], int]) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, position(file))


def garbage(file: Path, start: int = 0) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:start] + random.Random(1).randbytes(len(content) - start))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "empty": cut(lambda file: 0),
    "cut in the head": cut(lambda file: 30),
    "cut at the head's end": cut(head_of),
    "cut at the first array": cut(lambda file: 4096),
    "cut in the middle": cut(lambda file: file.stat().st_size // 2),
    "one byte short": cut(lambda file: file.stat().st_size - 1),
    "one byte too long": cut(lambda file: file.stat().st_size + 1),
}


@pytest.mark.parametrize("when", ["closed", "open"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_segment(path: Path, damage: str, when: str) -> None:
    for kind in ("words", "vectors"):
        file = next(file for file in segments(path) if file.name.startswith(kind))
        if when == "closed":
            DAMAGE[damage](file)
        with opened(path) as memories:
            if when == "open":
                memories.recall("harbour", reinforce=False)
                DAMAGE[damage](file)
            assert_sound(memories)
            assert_made_anew(memories, path)


@pytest.mark.parametrize("damage", ["deleted", "cut in the middle"])
def test_what_is_forgotten_leaves_no_trace_beside_a_damaged_segment(path: Path, damage: str) -> None:
    """None of them can be struck out then."""
    with opened(path) as memories:
        id = memories.remember("The lighthouse").id
        index(memories)
    DAMAGE[damage](next(file for file in segments(path) if file.name.startswith("vectors")))
    assert any(b"lighthous" in file.read_bytes() for file in segments(path))
    with opened(path) as memories:
        memories.forget(id)
        assert not any(b"lighthous" in file.read_bytes() for file in segments(path))
        assert_sound(memories)
        assert_made_anew(memories, path)


@pytest.mark.parametrize("number", range(6))
def test_a_file_of_something_else(path: Path, number: int) -> None:
    garbage(segments(path)[number])
    with opened(path) as memories:
        assert_sound(memories)
        assert_made_anew(memories, path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["words", "vectors"])
def test_numbers_that_lie_fail_neither_a_search_nor_a_write_nor_a_build(path: Path, name: str) -> None:
    """The head is whole, the arrays are not: what can be noticed is done without, and nothing is raised."""
    with opened(path) as memories:
        memories.recall("harbour", reinforce=False)
        for file in (file for file in segments(path) if file.name.startswith(name)):
            garbage(file, 4096)
        for query in ("harbour", "number 7", "har"):
            memories.recall(query, reinforce=False)
            memories.recall(query, tags="none", reinforce=False)
        kept = memories.remember("A lighthouse")
        memories.forget(kept.id)
        memories.settle()
        memories.doctor(rebuild=True)
        assert_sound(memories)
        assert_made_anew(memories, path)


@pytest.mark.parametrize("first", ["recall", "settle"])
@pytest.mark.parametrize("name", ["words", "vectors"])
def test_one_bit_makes_no_segment_endless(path: Path, name: str, first: str) -> None:
    """A namespace that would have billions of rows there is not believed, whoever comes upon it first."""
    for file in (file for file in segments(path) if file.name.startswith(name)):
        with files.changing(file) as arrays:
            arrays["starts"][-1] += 1 << 36
    with opened(path) as memories:
        if first == "settle":
            memories.settle()
        assert texts(memories, "harbour")
        assert_sound(memories)
        assert_made_anew(memories, path)


@pytest.mark.parametrize("when", ["closed", "open"])
@pytest.mark.parametrize("damage", ["deleted", "a file", "a dead link"])
def test_a_damaged_folder(path: Path, damage: str, when: str) -> None:
    folder = folder_of(path)
    with opened(path) as memories:
        if when == "open":
            memories.recall("harbour", reinforce=False)
        shutil.rmtree(folder)
        if damage == "a file":
            folder.write_text("in the way")
        elif damage == "a dead link":
            folder.symlink_to(folder.parent / "nowhere" / "at all")
        assert_sound(memories)
        if damage != "deleted":
            with pytest.raises(StoreError, match="can't be read or written"):
                memories.settle()
            assert memories.stats().bytes >= path.stat().st_size
            folder.unlink()
        assert_made_anew(memories, path)


def test_an_older_database_beside_a_newer_folder(path: Path, tmp_path: Path) -> None:
    """What was struck out of the files since is in the older rows, and found."""
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with opened(path) as memories:
        hit = memories.recall("part 0 number 7", reinforce=False)[0].memory
        other = memories.recall("part 0 number 8", reinforce=False)[0].memory
        memories.forget(hit.id)
        memories.update(other.id, text="Something about gardens")
        memories.remember("A lighthouse")
    shutil.copy(copy, path)
    with opened(path) as memories:
        assert_same(memories, "harbour", 200)
        assert hit.content in texts(memories, hit.content, mode="keyword")
        assert hit.content in texts(memories, hit.content, mode="semantic")
        assert other.content in texts(memories, other.content, mode="semantic")
        assert_sound(memories)
        assert_made_anew(memories, path)
        assert hit.content in texts(memories, hit.content, mode="semantic")


def test_an_older_database_that_is_changed_before_it_is_searched(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with opened(path) as memories:
        ids = [hit.memory.id for hit in memories.recall("part 0", limit=4, reinforce=False)]
        memories.forget(ids[:2])
    shutil.copy(copy, path)
    with opened(path) as memories:
        memories.forget(ids[2:])
        for id in ids[:2]:
            content = memories.get(id).content
            assert content in texts(memories, content, mode="keyword")
            assert content in texts(memories, content, mode="semantic")
        assert_same(memories, "harbour", 200)
        assert_made_anew(memories, path)


def test_an_older_folder_beside_a_newer_database(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder_of(path), copy)
    with opened(path) as memories:
        gone = memories.recall("part 0 number 7", reinforce=False)[0].memory
        memories.forget(gone.id)
        memories.settle()
        memories.remember("A lighthouse")
    shutil.rmtree(folder_of(path))
    shutil.copytree(copy, folder_of(path))
    with opened(path) as memories:
        assert gone.content not in texts(memories, gone.content)
        assert_same(memories, "harbour", 200)
        assert_sound(memories)
        assert_made_anew(memories, path)


def test_a_copy_without_its_folder_and_one_with_anothers(path: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.db", tmp_path / "other.db"
    shutil.copy(path, copy)
    with opened(copy) as memories:
        assert_sound(memories)
        assert_made_anew(memories, copy)
    with opened(other) as memories:
        memories.remember_many(f"Other things, number {number}" for number in range(50))
        memories.settle()
    shutil.rmtree(folder_of(other))
    shutil.copytree(folder_of(path), folder_of(other))
    with opened(other) as memories:
        assert by_words(memories, "harbour") == []
        assert_sound(memories)
        assert_made_anew(memories, other)
        assert not {file.name for file in segments(other)} & {file.name for file in segments(path)}


def test_a_store_that_is_opened_by_a_link_has_one_folder(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with opened(link) as memories:
        memories.settle()
        assert_same(memories, "harbour", 50)
    assert not folder_of(link).exists()


def test_the_folder_stays_with_the_file_when_the_process_goes_elsewhere(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(path.parent)
    with recollect.open(path.name, namespace="one", embedder="hash:64") as memories:
        monkeypatch.chdir(elsewhere)
        memories.settle()
    assert list(elsewhere.iterdir()) == []


def test_no_room_for_a_segment(path: Path) -> None:
    """The store is as it was, and nothing half made is left."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(path) as memories:
        before = listed(memories)
        memories.remember_many(f"More of the harbour {number}" for number in range(1500))
        largest = max(file.stat().st_size for file in segments(path))
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, limits[1]))
            with pytest.raises(StoreError):
                memories.settle()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert listed(memories) == before
        assert not list(folder_of(path).glob("*.unfinished"))
        assert_sound(memories)
        assert_made_anew(memories, path)
