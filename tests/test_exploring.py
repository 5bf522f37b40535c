"""History, neighbourhood, growth, pages of lists; and taking a supersession back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files

import apsw
import pytest

from recollect import Draft, InvalidInput, Memories, NoSuchMemory, Place
from recollect.store.statements import statement

Open = Callable[..., Memories]


@pytest.fixture
def memories(open_memories: Open) -> Memories:
    return open_memories(embedder="none", clock=lambda: datetime(2026, 5, 20, 12, tzinfo=UTC))


def keep(memories: Memories, *texts: str, day: int = 1) -> list[str]:
    return [
        memories.remember(text, id=text, created_at=f"2026-05-{day + i:02}").id
        for i, text in enumerate(texts)
    ]


def test_history_tells_what_superseded_what(memories: Memories) -> None:
    keep(memories, "first", "second", "third", "unrelated")
    memories.supersede("first", "second")
    memories.supersede("second", "third")
    for id in ("first", "second", "third"):
        assert [memory.id for memory in memories.history(id)] == ["first", "second", "third"]
    assert [memory.id for memory in memories.history("unrelated")] == ["unrelated"]


def test_history_holds_when_a_link_was_forgotten(memories: Memories) -> None:
    keep(memories, "first", "second", "third")
    memories.supersede("first", "second")
    memories.supersede("second", "third")
    memories.forget("second")
    assert [memory.id for memory in memories.history("third")] == ["first", "third"]


def test_a_supersession_can_be_taken_back(memories: Memories) -> None:
    keep(memories, "we use MySQL", "we use PostgreSQL")
    memories.supersede("we use MySQL", "we use PostgreSQL")
    assert [hit.memory.id for hit in memories.recall("we use")] == ["we use PostgreSQL"]
    again = memories.unsupersede("we use MySQL")
    assert (again.superseded_by, again.valid_until) == (None, None)
    assert {hit.memory.id for hit in memories.recall("we use")} == {"we use MySQL", "we use PostgreSQL"}
    assert memories.relations("we use MySQL") == []
    assert memories.doctor() == []


def test_there_must_be_something_to_take_back(memories: Memories) -> None:
    keep(memories, "alone")
    with pytest.raises(InvalidInput, match="nothing to take back"):
        memories.unsupersede("alone")
    with pytest.raises(NoSuchMemory):
        memories.in_namespace("other").unsupersede("alone")


def test_a_validity_that_was_given_comes_back(memories: Memories) -> None:
    memories.remember("old", id="old", valid_until="2027-01-01")
    keep(memories, "new")
    memories.supersede("old", "new")
    memories.unsupersede("old")
    assert memories.get("old").valid_until == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_neighbourhood_reaches_two_edges(memories: Memories) -> None:
    keep(memories, "a", "b", "c", "d")
    for one, other in (("a", "b"), ("b", "c"), ("c", "d")):
        memories.relate(one, other, "leads_to")
    found = memories.neighbourhood("a")
    assert {preview.id for preview in found.memories} == {"a", "b", "c"}
    assert [(edge.source, edge.target) for edge in found.edges] == [("a", "b"), ("b", "c")]
    assert found.complete


def test_a_neighbourhood_knows_the_turns_beside_it(memories: Memories) -> None:
    for i in range(6):
        memories.remember(
            f"turn {i}", id=str(i), session="s", speaker="Ann", created_at=f"2026-05-01T10:0{i}"
        )
    memories.remember("elsewhere", id="x", session="t", created_at="2026-05-01T10:02:30")
    found = memories.neighbourhood("2")
    assert {preview.id for preview in found.memories} == {"0", "1", "2", "3", "4"}
    assert [(edge.source, edge.target) for edge in found.edges] == [
        ("0", "1"),
        ("1", "2"),
        ("2", "3"),
        ("3", "4"),
    ]


def test_a_neighbourhood_has_a_limit_and_says_so(memories: Memories) -> None:
    keep(memories, "hub", *(f"spoke {i}" for i in range(9)))
    for i in range(9):
        memories.relate("hub", f"spoke {i}")
    found = memories.neighbourhood("hub", limit=5)
    assert (len(found.memories), found.complete) == (5, False)
    shown = {preview.id for preview in found.memories}
    assert "hub" in shown
    assert all({edge.source, edge.target} <= shown for edge in found.edges)


def test_what_is_hidden_is_no_neighbour(memories: Memories) -> None:
    keep(memories, "here", "gone")
    memories.relate("here", "gone")
    memories.delete("gone")
    assert [preview.id for preview in memories.neighbourhood("here").memories] == ["here"]


def test_growth_counts_days_sectors_and_salience(memories: Memories) -> None:
    memories.remember("a", sector="semantic", created_at="2026-05-01T23:59:59.9", importance=1.0)
    memories.remember("b", sector="semantic", created_at="2026-05-01")
    memories.remember("c", sector="episodic", created_at="2026-05-02")
    memories.remember("d", sector="episodic", created_at="1969-12-31T23:00")
    grown = memories.growth()
    assert grown.days == {
        "1969-12-31": {"episodic": 1},
        "2026-05-01": {"semantic": 2},
        "2026-05-02": {"episodic": 1},
    }
    assert sum(grown.salience) == 4
    assert len(grown.salience) == 10
    assert memories.in_namespace("other").growth().days == {}


def test_pages_of_a_timeline_miss_nothing_and_repeat_nothing(memories: Memories) -> None:
    for i in range(23):
        memories.remember(f"note {i}", id=f"n{i}", created_at=f"2026-05-0{1 + i // 10}")  # many of one moment
    seen: list[str] = []
    last: Place | None = None
    while page := memories.timeline(limit=5, older_than=last):
        seen = [*(preview.id for preview in page), *seen]
        last = Place(page[0].created_at, page[0].id)
    assert seen == [f"n{i}" for i in range(23)]


def test_pages_of_several_namespaces_miss_nothing_and_repeat_nothing(memories: Memories) -> None:
    for i in range(12):
        other = memories.in_namespace(f"space {i % 3}")
        other.remember(f"note {i}", id=f"n{i}", created_at="2026-05-01")  # all of one moment
    spaces = ["space 0", "space 1", "space 2"]
    whole = [preview.id for preview in memories.timeline(namespace=spaces)]
    assert len(set(whole)) == 12
    seen: list[str] = []
    last: Place | None = None
    for _ in range(4):
        page = memories.timeline(limit=3, older_than=last, namespace=spaces)
        seen = [*(preview.id for preview in page), *seen]
        last = Place(page[0].created_at, page[0].id)
    assert seen == whole
    assert memories.timeline(older_than=last, namespace=spaces) == []


def test_pages_go_on_where_the_last_one_seen_was_forgotten(memories: Memories) -> None:
    keep(memories, "a", "b", "c")
    (last,) = memories.timeline(limit=1)
    memories.forget(last.id)
    assert [each.id for each in memories.timeline(older_than=Place(last.created_at, last.id))] == ["a", "b"]


def test_pages_of_sessions(memories: Memories) -> None:
    for i in range(7):
        memories.start_session(f"s{i}", started_at=f"2026-05-0{1 + i // 3}")
    seen: list[str] = []
    last: Place | None = None
    while page := memories.sessions(limit=2, older_than=last):
        seen += [session.id for session in page]
        last = Place(page[-1].started_at, page[-1].id)
    assert seen == [f"s{i}" for i in reversed(range(7))]


def test_pages_miss_nothing_of_the_moment_whose_last_was_forgotten(memories: Memories) -> None:
    for i in range(6):
        memories.remember(f"note {i}", id=f"n{i}", created_at="2026-05-01")
        memories.start_session(f"s{i}", started_at="2026-05-01")
    page = memories.timeline(limit=2)
    memories.forget(page[0].id)
    rest = memories.timeline(older_than=Place(page[0].created_at, page[0].id))
    assert {f"n{i}" for i in range(4)} <= {each.id for each in rest}
    gone = Place(datetime(2026, 5, 1, tzinfo=UTC), "a session that is gone")
    assert len(memories.sessions(older_than=gone)) == 6


def test_what_may_no_longer_be_found_is_not_found_beside_others(open_memories: Open) -> None:
    now = [datetime(2026, 5, 20, 12, tzinfo=UTC)]
    memories = open_memories(embedder="none", clock=lambda: now[0])
    keep(memories, "hidden", "middle", "last")
    memories.remember("expiring", id="expiring", expires_at="2026-05-21", created_at="2026-05-01T12:00")
    memories.supersede("hidden", "expiring")
    memories.supersede("expiring", "middle")
    memories.supersede("middle", "last")
    memories.delete("hidden")
    assert [each.id for each in memories.history("last")] == ["expiring", "middle", "last"]
    now[0] = datetime(2026, 5, 22, tzinfo=UTC)
    assert [each.id for each in memories.history("last")] == ["middle", "last"]
    assert [each.id for each in memories.history("hidden")] == ["hidden", "middle", "last"]
    assert {each.id for each in memories.neighbourhood("middle").memories} == {"middle", "last"}


def test_a_supersession_by_what_is_hidden_can_be_taken_back(memories: Memories) -> None:
    keep(memories, "old", "new")
    memories.supersede("old", "new")
    memories.delete("new")
    assert memories.unsupersede("old").superseded_by is None


def test_a_history_that_is_too_long_keeps_what_it_is_about(memories: Memories) -> None:
    memories.remember_many(
        [Draft(str(i), id=str(i), created_at=f"2026-01-01T{i // 60:02}:{i % 60:02}") for i in range(130)]
    )
    for i in range(129):
        memories.supersede(str(i), str(i + 1))
    found = [each.id for each in memories.history("120")]
    assert len(found) == 100
    assert "120" in found


@pytest.mark.parametrize("name", ["relations", "history"])
def test_on_sqlite_no_more_is_read_than_asked_for(name: str) -> None:
    package = "recollect.store.sqlite"
    connection = apsw.Connection("")
    connection.execute(files(package).joinpath("schema.sql").read_text("utf-8"))
    given = {"namespace": "n", "id": "a", "ids": "[]", "limit": 9, "now": 0}
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement(package, name)}", given)]
    assert not [step for step in plan if "memory_by_time" in step or step.startswith("SCAN r USING")]
