"""Keys of near-duplicates that were written many at once lie in sorted runs, and are found as others are."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import Memories, Receipt
from recollect.query.duplicates import Said, alike, features, overlap
from recollect.store.sqlite import nearkeys
from recollect.store.sqlite.connections import Connections
from recollect.store.sqlite.nearkeys import NearKeys
from recollect.store.sqlite.statements import Keeper, SqliteStatements
from recollect.store.sqlite.store import SqliteStore

MOST = 20
TABLES = ("near_key", "near_kept", "near_piece", "near_run")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memories(path: Path) -> Iterator[Memories]:
    with recollect.open(path, namespace="many", embedder="none") as opened:
        yield opened


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few keys are many, and make many pieces, parts and steps."""
    monkeypatch.setattr(nearkeys, "MANY", 16)
    monkeypatch.setattr(nearkeys, "_PIECE", 4)
    monkeypatch.setattr(nearkeys, "_PART", 40)
    monkeypatch.setattr(nearkeys, "_PIECES_AT_ONCE", 2)


def value(path: Path, sql: str, *given: Any) -> Any:
    """Read past Recollect."""
    connection = apsw.Connection(str(path))
    found = connection.execute(sql, given).get
    connection.close()
    return found


def counts(path: Path) -> dict[str, int]:
    return {table: value(path, f"SELECT count(*) FROM {table}") for table in TABLES}


def essay(number: int) -> str:
    """A text that is like no other, but for that of the same number with a word more."""
    chance = random.Random(number)
    return " ".join(f"w{chance.randrange(100_000)}" for _ in range(24))


def test_many_at_once_make_a_run_and_few_do_not(memories: Memories, path: Path) -> None:
    memories.remember_many([essay(number) for number in range(10)])
    assert counts(path) == {"near_key": 80, "near_kept": 0, "near_piece": 0, "near_run": 0}
    memories.remember_many([essay(number) for number in range(10, 400)])
    assert counts(path) == {"near_key": 80, "near_kept": 390, "near_piece": 7, "near_run": 1}
    assert memories.doctor() == []


def test_near_duplicates_of_a_run_are_found_by_one_and_by_many(memories: Memories) -> None:
    first = memories.remember_many([essay(number) for number in range(400)])
    one = memories.remember(essay(7) + " again")
    assert one.near_duplicates == (first[7].id,)
    many = memories.remember_many([essay(number) + " anew" for number in range(400)])
    assert [each.near_duplicates[-1] for each in many] == [each.id for each in first]
    assert many[7].near_duplicates == (one.id, first[7].id)
    assert (
        memories.remember("Something else that nobody has said before in so many words").near_duplicates == ()
    )


def test_it_makes_no_difference_in_which_portions_they_come(small: None, tmp_path: Path) -> None:
    def linked(name: str, portions: list[int]) -> list[tuple[str, ...]]:
        chance = random.Random(5)
        texts = iter([f"{essay(chance.randrange(60))} {number}" for number in range(300)])
        ids = map(str, range(300))
        found: list[tuple[str, ...]] = []
        with recollect.open(tmp_path / name, embedder="none") as memories:
            for portion in portions:
                drafts = [recollect.Draft(next(texts), id=next(ids)) for _ in range(portion)]
                found += [each.near_duplicates for each in memories.remember_many(drafts)]
            assert memories.doctor() == []
        return found

    expected = linked("one by one", [1] * 300)
    assert sum(map(len, expected)) > 500
    for name, portions in {"all": [300], "tens": [10] * 30, "mixed": [100, 1, 1, 8, 40, 1, 49, 100]}.items():
        assert linked(name, portions) == expected


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_are_compared_wherever_they_could_matter(seed: int) -> None:
    chance = random.Random(seed)
    said = [chance.choices("abcdefgh"[: chance.randint(1, 8)], k=chance.randint(1, 12)) for _ in range(60)]
    said += [[*each[:-1], "z"] for each in said]
    pairs = [(one, other) for one in said for other in said]
    expected = [overlap(features(one), features(other)) for one, other in pairs]
    assert [Said(one).is_nearly(Said(other)) for one, other in pairs] == expected
    joined = [" ".join(each) for each in said]
    found = [(one, place) for one in joined for place in alike(one, joined)]
    told = zip(product(joined, range(len(said))), expected, strict=True)
    assert found == [pair for pair, is_alike in told if is_alike]
    assert 0 < sum(expected) < len(pairs)


@pytest.fixture
def writer(path: Path) -> Iterator[apsw.Connection]:
    """A connection on which keys need no memories."""
    Connections(path).close()
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


LOW, HIGH = range(20), range((1 << 35) - 20, 1 << 35)


@pytest.mark.parametrize("seed", range(8))
def test_runs_agree_with_a_table(small: None, writer: apsw.Connection, seed: int) -> None:
    chance = random.Random(seed)
    having: dict[int, list[int]] = {}
    number = 0
    for _ in range(40):
        near = NearKeys(SqliteStatements(writer), 1)
        if not having or chance.random() < 0.6:
            for _ in range(chance.choice((1, 2, 5, 30))):
                number += chance.randint(1, 3)
                having[number] = chance.sample(chance.choice((LOW, HIGH)), 8)
                near.soon(number, having[number])
            near.flush()
        else:
            gone = chance.sample(sorted(having), chance.randint(1, min(len(having), 25)))
            assert near.remove([*gone, 999_999]) == 8 * len(gone)
            having = {memory: keys for memory, keys in having.items() if memory not in gone}
        asked = sorted(chance.sample([*LOW, *HIGH], chance.choice((3, 40))))
        expected = {key: [each for each in sorted(having)[::-1] if key in having[each]] for key in asked}
        assert near.sharing(asked, most=10_000) == {key: each for key, each in expected.items() if each}
        assert writer.execute("SELECT count(*) FROM near_run").get <= 8


@pytest.mark.parametrize("most_held", [1 << 24, 300])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_held_is_what_others_left_and_what_was_undone_is_not(
    small: None, path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most_held: int
) -> None:
    monkeypatch.setattr(nearkeys, "_MOST_HELD", most_held)
    Connections(path).close()
    writers = [Keeper(str(path)) for _ in range(2)]
    chance = random.Random(seed)
    having: dict[int, list[int]] = {}
    largest = number = 0
    for turn in range(60):
        writer = chance.choice(writers[: 1 + turn // 20])
        writer.execute("BEGIN IMMEDIATE")
        near, before = NearKeys(SqliteStatements(writer), 1), dict(having)
        for memory in range(number + 1, number + chance.choice((2, 30))):
            having[memory] = chance.sample(chance.choice((LOW, HIGH)), 8)
            near.soon(memory, having[memory])
        near.flush()
        if chance.random() < 0.2:
            gone = chance.sample(sorted(having), 1)
            near.remove(gone)
            having = {memory: keys for memory, keys in having.items() if memory not in gone}
        asked = sorted([*LOW, *HIGH])
        expected = {key: [each for each in sorted(having)[::-1] if key in having[each]] for key in asked}
        assert near.sharing(asked, most=10_000) == {key: each for key, each in expected.items() if each}
        largest = max(largest, sum(map(len, writer.held.values())))
        if chance.random() < 0.2:
            writer.let_go()
            writer.execute("ROLLBACK")
            having = before
        else:
            writer.execute("COMMIT")
            number = max([number, *having])
    assert 0 < largest <= most_held
    for writer in writers:
        writer.close()


def test_nothing_is_held_once_a_write_failed_or_was_small(memories: Memories, path: Path) -> None:
    store = SqliteStore(path)
    with store._connections.writing(adding=True) as writer:
        held = writer.held = {1: "entries"}
        writer.version = writer.execute("PRAGMA data_version").get
        writer.execute("UPDATE near_key SET memory = memory + 0")
    assert writer.held == {}
    with store._connections.writing() as writer:  # as segments are listed meanwhile
        writer.held = held
    assert writer.held is held
    with pytest.raises(ZeroDivisionError), store._connections.writing() as writer:
        writer.held = held
        _ = 1 / 0
    assert writer.held == {}
    store.close()


def test_a_run_whose_pieces_are_gone_holds_nobody_up(memories: Memories) -> None:
    memories.remember_many(map(essay, range(600)))
    with memories._store._connections.writing() as writer:  # type: ignore[attr-defined]
        writer.execute("DELETE FROM near_piece")
        writer.let_go()
    assert len(memories.remember_many(map(essay, range(600, 2_100)))) == 1_500


def test_in_memory_nothing_is_held_between_writes() -> None:
    with recollect.open(":memory:", embedder="none") as memories:
        memories.remember_many(map(essay, range(1_500)))
        assert not memories._store._connections._writer.held  # type: ignore[attr-defined]


def test_soon_after_a_bulk_write_nothing_is_held(memories: Memories) -> None:
    connections = memories._store._connections  # type: ignore[attr-defined]
    memories.remember_many(map(essay, range(1_500)))
    assert connections._writer.held
    until = time.monotonic() + 30
    while connections._writer.held and time.monotonic() < until:
        time.sleep(0.05)
    assert not connections._writer.held


def test_near_duplicates_are_found_that_another_process_wrote_meanwhile(path: Path) -> None:
    with (
        recollect.open(path, embedder="none") as memories,
        recollect.open(path, embedder="none") as others,
    ):
        ids = [each.id for each in memories.remember_many(map(essay, range(600)))]
        ids += [each.id for each in others.remember_many(map(essay, range(600, 1_200)))]
        again = memories.remember_many([f"{essay(number)} again" for number in range(1_200)])
        assert [each.near_duplicates for each in again] == [(id,) for id in ids]
        memories.doctor(rebuild=True)
        more = memories.remember_many([f"{essay(number)} anew" for number in range(1_200)])
        assert [each.near_duplicates[1:] for each in more] == [(id,) for id in ids]


def test_of_many_that_share_a_key_the_newest_live_ones_are_told(memories: Memories) -> None:
    copies = memories.remember_many([f"{essay(1)} {number}" for number in range(600)])
    newest = [each.id for each in reversed(copies)]
    assert memories.remember(essay(1)).near_duplicates == tuple(newest[:MOST])
    for id in newest[:5]:
        memories.delete(id)
    found = memories.remember(essay(1) + " again").near_duplicates
    assert found[1:] == tuple(newest[5 : 5 + MOST - 1])


def test_what_is_forgotten_leaves_a_run(memories: Memories, path: Path) -> None:
    ids = [each.id for each in memories.remember_many([essay(number) for number in range(400)])]
    number = value(path, "SELECT number FROM memory WHERE id = ?", ids[7])
    kept = value(path, "SELECT keys FROM near_kept WHERE memory = ?", number)
    keys = [int.from_bytes(kept[at : at + 8], "little") for at in range(0, 64, 8)]
    assert all(key in held_keys(path) for key in keys)
    receipt = memories.forget(ids[7])
    assert (receipt.memories, receipt.near_keys) == (1, 8)
    assert not any(key in held_keys(path) for key in keys)
    assert kept not in path.read_bytes()
    assert memories.remember(essay(7) + " again").near_duplicates == ()
    assert memories.remember(essay(8) + " again").near_duplicates == (ids[8],)
    assert memories.doctor() == []


def test_not_even_a_piece_is_called_by_what_was_forgotten(memories: Memories, path: Path) -> None:
    ids = [each.id for each in memories.remember_many([essay(number) for number in range(400)])]
    memories.forget(ids[:399])
    assert {number % (1 << 35) for number in column(path, "SELECT number FROM near_piece")} <= held_keys(path)
    assert len(held_keys(path)) == 8


def column(path: Path, sql: str) -> list[Any]:
    connection = apsw.Connection(str(path))
    found = [row[0] for row in connection.execute(sql)]
    connection.close()
    return found


def held_keys(path: Path) -> set[int]:
    """The keys that runs have."""
    written = b"".join(column(path, "SELECT entries FROM near_piece"))
    return {int.from_bytes(written[at : at + 8], "little") >> 27 for at in range(0, len(written), 8)}


def test_when_all_is_forgotten_no_run_is_left(memories: Memories, path: Path) -> None:
    memories.remember_many([essay(number) for number in range(1_000)])
    assert memories.forget(everything=True) == Receipt(memories=1_000, keyword_entries=1_000, near_keys=8_000)
    assert set(counts(path).values()) == {0}


def test_a_changed_text_has_other_keys(memories: Memories) -> None:
    ids = [each.id for each in memories.remember_many([essay(number) for number in range(400)])]
    memories.update(ids[3], text=essay(9_999))
    assert memories.remember(essay(3) + " again").near_duplicates == ()
    assert memories.remember(essay(9_999) + " again").near_duplicates == (ids[3],)
    assert memories.doctor() == []


def test_namespaces_have_runs_of_their_own(memories: Memories) -> None:
    memories.remember_many([essay(number) for number in range(400)])
    other = memories.in_namespace("other")
    assert other.remember(essay(3)).near_duplicates == ()
    assert all(not each.near_duplicates for each in other.remember_many(map(essay, range(10, 400))))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM near_piece",
        "DELETE FROM near_kept",
        "UPDATE near_kept SET memory = 9999 WHERE memory = 5",
    ],
)
def test_runs_that_do_not_agree_are_found_and_mended(memories: Memories, path: Path, damage: str) -> None:
    ids = [each.id for each in memories.remember_many([essay(number) for number in range(400)])]
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    connection.close()
    assert {finding.check for finding in memories.doctor()} == {"near_keys"}
    memories.doctor(rebuild=True)
    assert memories.doctor() == []
    assert memories.remember(essay(3) + " again").near_duplicates == (ids[3],)
