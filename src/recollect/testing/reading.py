"""What is read back: by key, by id, by time, by session; relations and numbers."""

from __future__ import annotations

import pytest

from recollect.store.base import Key, Store
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    at,
    found,
    keep,
    keep_document,
    record,
    scope,
    vector,
    words,
)
from recollect.types import Place, Relation, Session, Successor


def keys_by_id(store: Store, question: str) -> dict[str, Key]:
    """The keys of what the words find, by id."""
    candidates = found(store, scope(include_superseded=True), words(question), None).by_words
    loaded = store.load([candidate.key for candidate in candidates], NOW)
    return {one.id: key for key, one in loaded.items()}


class ReadingContract:
    """`load`, `neighbours`, `get`, `around`, `in_scope`, `sessions`, `relations`, `stats` and the like."""

    def test_a_winner_comes_with_its_session_successor_and_relations(self, store: Store) -> None:
        store.save_session(Session("s", HERE, at(-9), at(-1), "cli", "Ports"), NOW)
        keep(store, record("Walrus 8080", "a", session="s"), record("Walrus 9090", "b", created_at=at(-1)))
        keep(store, record("Gone", "c"), record("Walrus apart", "d"))
        store.supersede(HERE, "a", "b", at(-1), NOW)
        store.relate(HERE, Relation("c", "a", "mentions", "user", NOW))
        store.relate(HERE, Relation("d", "a", "mentions", "user", NOW))
        store.set_deleted(HERE, ["c"], NOW, NOW)
        keys = keys_by_id(store, "walrus")
        loaded = {one.id: one.complete() for one in store.load(list(keys.values()), NOW).values()}
        assert set(loaded) == {"a", "b", "d"}
        assert loaded["a"].memory == store.get(HERE, ["a"], NOW)[0]
        assert loaded["a"].session == Session("s", HERE, at(-9), at(-1), "cli", "Ports")
        assert loaded["a"].successor == Successor("b", "Walrus 9090", at(-1))
        assert loaded["a"].related_count == 2, "an edge to what was deleted does not count"
        assert (loaded["b"].session, loaded["b"].successor) == (None, None)

    def test_a_winner_that_was_forgotten_meanwhile_is_left_out(self, store: Store) -> None:
        keep(store, record("Walrus one", "a"), record("Walrus two", "b"))
        keys = keys_by_id(store, "walrus")
        store.forget(HERE, ["a"], NOW)
        assert set(store.load(list(keys.values()), NOW)) == {keys["b"]}
        assert store.load([], NOW) == {}

    def test_neighbours_stand_within_reach_in_the_same_session(self, store: Store) -> None:
        for n in range(7):
            keep(
                store,
                record(f"Walrus turn {n}", f"t{n}", session="s"),
                record(f"Other {n}", f"o{n}", session="o"),
            )
        keep(store, record("Walrus alone", "alone"))
        store.set_deleted(HERE, ["t2"], NOW, NOW)
        keys = keys_by_id(store, "walrus")
        around = store.neighbours([keys["t3"], keys["t0"], keys["alone"]], 2, NOW)
        assert [memory.id for memory in around[keys["t3"]]] == ["t1", "t4", "t5"]
        assert [memory.id for memory in around[keys["t0"]]] == ["t1"]
        assert around.get(keys["alone"], ()) == ()

    def test_neighbours_that_have_expired_are_left_out(self, store: Store) -> None:
        keep(store, record("Walrus", "a", session="s"), record("Brief", "b", session="s", expires_at=at(1)))
        keys = keys_by_id(store, "walrus")
        assert store.neighbours([keys["a"]], 1, at(0.5)) != {}
        assert store.neighbours([keys["a"]], 1, at(1)) == {}

    def test_memories_come_in_the_order_asked_for_deleted_ones_too(self, store: Store) -> None:
        keep(store, *(record(f"Text {id}", id) for id in "abc"))
        store.set_deleted(HERE, ["b"], at(1), at(1))
        got = store.get(HERE, ["c", "nowhere", "b", "c", "a"], at(1))
        assert [memory.id for memory in got] == ["c", "b", "a"]
        assert got[1].deleted_at == at(1)
        assert store.get(HERE, [], NOW) == []

    def test_salience_is_what_is_left_of_it_at_the_moment_of_reading(self, store: Store) -> None:
        keep(store, record("Seen", "a", sector="episodic", importance=1.0))
        keep(store, record("Known", "b", sector="semantic", importance=1.0))
        later = [memory.salience for memory in store.get(HERE, ["a", "b"], at(24 * 10))]
        assert later == pytest.approx([2.718281828**-0.2, 2.718281828**-0.05], rel=1e-6)
        assert [memory.salience for memory in store.get(HERE, ["a", "b"], at(-24))] == [1.0, 1.0]

    def test_up_to_three_ids_end_so_the_shortest_first(self, store: Store) -> None:
        keep(
            store,
            *(record(f"Text {id}", id) for id in ("aaaa-x1", "a-x1", "aa-x1", "aaa-x1", "b%x2", "b_x3")),
        )
        assert store.ids_ending(HERE, "-x1") == ["a-x1", "aa-x1", "aaa-x1"]
        assert store.ids_ending(HERE, "%x2") == ["b%x2"]
        assert store.ids_ending(HERE, "_x3") == ["b_x3"]
        assert store.ids_ending(HERE, "_x1") == []

    def test_keys_of_ids_are_those_that_are_there(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b"))
        assert len(set(store.keys_of(HERE, ["a", "b", "nowhere"]))) == 2
        assert store.keys_of(HERE, ["b"]) != store.keys_of(HERE, ["a"])

    def test_what_was_remembered_around_a_memory_comes_oldest_first(self, store: Store) -> None:
        for n in range(8):
            keep(store, record(f"Text {n}", f"m{n}", created_at=at(n // 2)))  # two at a time
        keep_document(store, ("p", "A passage"))
        keep(store, record("Brief", "x", created_at=at(2), expires_at=at(3)))
        store.set_deleted(HERE, ["m2"], NOW, NOW)
        (anchor,) = store.get(HERE, ["m4"], NOW)
        before, after = store.around(HERE, anchor, 2, 2, at(9))
        assert [memory.id for memory in before] == ["m1", "m3"]
        assert [memory.id for memory in after] == ["m5", "m6"]
        before, after = store.around(HERE, anchor, 0, 99, at(9))
        assert (before, [memory.id for memory in after]) == ([], ["m5", "m6", "m7"])

    def test_the_newest_in_scope_come_oldest_first(self, store: Store) -> None:
        for n in (3, 1, 4, 2):
            keep(store, record(f"Text {n}", f"m{n}", created_at=at(n)))
        keep(store, record("At the same time", "m5", created_at=at(4)))
        where = scope(now=at(9))
        assert [memory.id for memory in store.in_scope(where, 3)] == ["m3", "m4", "m5"]
        assert [memory.id for memory in store.in_scope(where, 99)] == ["m1", "m2", "m3", "m4", "m5"]

    def test_the_next_page_begins_where_the_last_one_ended(self, store: Store) -> None:
        for n, moment in enumerate((1, 2, 2, 2, 3)):
            keep(store, record(f"Text {n}", f"m{n}", created_at=at(moment)))
            store.save_session(Session(f"s{n}", HERE, at(moment)), NOW)
        where = scope(now=at(9), older_than=Place(at(2), "m2"))
        assert [memory.id for memory in store.in_scope(where, 99)] == ["m0", "m1"]
        older = store.sessions(HERE, older_than=Place(at(2), "s2"))
        assert [session.id for session in older] == ["s1", "s0"]

    def test_sessions_come_newest_first(self, store: Store) -> None:
        for n, id in enumerate(["b", "a", "c"]):
            store.save_session(Session(id, HERE, at(n), at(n + 0.5) if id == "b" else None), NOW)
        keep(store, record("One", "m1", session="a", created_at=at(1)))
        keep(store, record("Two", "m2", session="a", created_at=at(1)))
        store.set_deleted(HERE, ["m2"], NOW, NOW)

        def ids(**asked: object) -> list[str]:
            return [session.id for session in store.sessions(HERE, **asked)]  # type: ignore[arg-type]

        assert ids() == ["c", "a", "b"]
        assert ids(limit=2) == ["c", "a"]
        assert ids(ids=["b", "c", "nowhere"]) == ["c", "b"]
        assert ids(ids=[]) == []
        assert ids(since=at(1)) == ["c", "a"], "what ended before is left out"
        assert ids(since=at(0.5)) == ["c", "a", "b"]
        assert ids(until=at(1)) == ["b"], "what began then is left out"
        assert store.sessions(HERE, ids=["a"]) == [Session("a", HERE, at(1), memories=1)]

    def test_the_last_use_of_a_memory(self, store: Store) -> None:
        keep(store, record("One", "a", session="s"), record("Two", "b", session="s"), record("Three", "c"))
        assert store.last_use(HERE, "a") == ("s", "created", 2)
        assert store.last_use(HERE, "c") is None
        assert store.last_use(HERE, "nowhere") is None
        keys = store.keys_of(HERE, ["a"])
        store.touch(HERE, keys, 0.1, at(1), session="t", usage="recalled")
        assert store.last_use(HERE, "a") == ("t", "recalled", 1)
        store.touch(HERE, keys, 0.1, at(2), session="u", usage="recalled")
        store.touch(HERE, keys, 0.1, at(3), session="t", usage="recalled")
        assert store.last_use(HERE, "a") == ("t", "recalled", 1)

    def test_edges_are_read_from_both_ends(self, store: Store) -> None:
        keep(store, *(record(f"Text {id}", id) for id in "abc"))
        edges = [Relation("a", "b", "mentions", "user", at(1)), Relation("c", "a", "Leads to", "ana", at(2))]
        for edge in edges:
            store.relate(HERE, edge)
        store.relate(HERE, Relation("a", "b", "mentions", "somebody else", at(3)))
        assert store.relations(HERE, ["a"], 99) == edges, "drawing one again changes nothing"
        assert store.relations(HERE, ["b"], 99) == edges[:1]
        assert store.relations(HERE, ["nowhere"], 99) == []

    def test_edges_are_removed_by_type_or_all(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b"))
        for type in ("x", "y", "z"):
            store.relate(HERE, Relation("a", "b", type, "user", NOW))
        assert store.unrelate(HERE, "b", "a", None, NOW) == 0
        assert store.unrelate(HERE, "a", "b", "y", NOW) == 1
        assert store.unrelate(HERE, "a", "b", None, NOW) == 2
        assert store.relations(HERE, ["a"], 99) == []

    def test_a_namespace_in_numbers(self, store: Store) -> None:
        empty = store.stats(HERE, NOW)
        assert (empty["memories"], empty["first"], empty["generations"]) == (0, None, ())
        keep(store, record("Old port", "a", created_at=at(-9), sector="semantic", vector=vector(1, 0, 0)))
        keep(store, record("New port", "b", sector="episodic", session="s", language="de"))
        keep(store, record("Brief", "c", expires_at=at(1), sector="episodic"), record("Gone", "d"))
        keep(store, record("Next", "e", sector="procedural"), generation=NEWER_MODEL)
        keep_document(store, ("p1", "One"), ("p2", "Two"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        store.set_deleted(HERE, ["d"], NOW, NOW)
        numbers = store.stats(HERE, at(2))
        wanted = {"memories": 4, "passages": 2, "documents": 1, "sessions": 1, "relations": 1,
                  "superseded": 1, "deleted": 1, "expired": 1, "vectors": 1, "first": at(-9),
                  "last": NOW}  # fmt: skip
        assert {name: numbers[name] for name in wanted} == wanted
        assert set(numbers["generations"]) == {MODEL.model, NEWER_MODEL.model}
        assert numbers["sectors"] == {"semantic": 1, "episodic": 2, "procedural": 1}
        assert numbers["languages"] == {"en": 3, "de": 1}
        assert numbers["bytes"] >= 0

    def test_every_namespace_and_its_live_memories(self, store: Store) -> None:
        assert store.namespaces() == {}
        keep(store, record("One", "a"), record("Two", "b"))
        keep_document(store, ("p", "A passage"))
        store.set_deleted(HERE, ["b"], NOW, NOW)
        keep(store, namespace="empty")
        assert store.namespaces() == {HERE: 1, "empty": 0}
