"""What is changed: texts, validity, salience, deletion. All that is derived follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.errors import InvalidInput, NoSuchMemory
from recollect.store.base import Record, Store
from recollect.store.text import analyse
from recollect.testing.making import (
    HERE,
    MODEL,
    NOW,
    at,
    everything,
    find,
    find_near,
    keep,
    record,
    scope,
    vector,
)
from recollect.testing.writing import LONG
from recollect.types import Memory, Relation


class ChangingContract:
    """`change`, `supersede`, `relate`, `touch` and `set_deleted`."""

    def test_a_memory_is_written_anew_with_all_that_is_derived_from_it(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", vector=vector(1, 0, 0), session="s", tags=["net"]))
        seen: list[Memory] = []

        def rewrite(memory: Memory) -> Record:
            seen.append(memory)
            return record("Walrus", "a", tags=["x"], updated_at=at(1), vector=vector(0, 1, 0), session="s")

        store.change(HERE, "a", rewrite, generation=MODEL, now=at(1), session="t")
        assert (seen[0].content, seen[0].tags, seen[0].session) == ("Port 8080", ("net",), "s")
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.content, kept.tags, kept.updated_at, kept.session) == ("Walrus", ("x",), at(1), "s")
        assert find(store, "port") == []
        assert find(store, "net") == []
        assert find(store, "walrus") == ["a"]
        assert find_near(store, 0, 1, 0, limit=1) == ["a"]
        assert store.stats(HERE, NOW)["vectors"] == 1
        assert store.last_use(HERE, "a") == ("t", "updated", 1)
        assert store.check(analyse) == []

    def test_a_new_text_without_a_vector_waits_for_one(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", vector=vector(1, 0, 0)))
        store.change(HERE, "a", lambda _: record("Walrus", "a"), generation=None, now=NOW, session=None)
        assert find_near(store, 1, 0, 0) == []
        assert [waiting.text for waiting in store.pending(HERE, MODEL, 0, 9)] == ["Walrus"]

    def test_the_same_text_keeps_its_vector(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", vector=vector(1, 0, 0)))
        tagged = record("Port 8080", "a", tags=["net"])
        store.change(HERE, "a", lambda _: tagged, generation=None, now=NOW, session=None)
        assert find_near(store, 1, 0, 0) == ["a"]
        assert find(store, "net") == ["a"]

    def test_near_duplicates_are_looked_for_anew(self, store: Store) -> None:
        keep(store, record(LONG, "a"), record(LONG + " again", "b"), record("Something else", "c"))
        store.relate(HERE, Relation("b", "a", "mentions", "user", NOW))
        store.change(HERE, "b", lambda _: record("Short now", "b"), generation=None, now=NOW, session=None)
        assert [edge.type for edge in store.relations(HERE, ["a"], 99)] == ["mentions"]
        store.change(HERE, "c", lambda _: record(LONG + " too", "c"), generation=None, now=NOW, session=None)
        assert [(edge.source, edge.target) for edge in store.relations(HERE, ["c"], 99)] == [("c", "a")]

    def test_a_memory_can_move_to_the_end_of_another_session(self, store: Store) -> None:
        keep(store, record("One", "a", session="s"), record("Two", "b", session="t"))
        moved = record("One", "a", session="t")
        store.change(HERE, "a", lambda _: moved, generation=None, now=NOW, session=None)
        places = {
            each["id"]: (each["session"], each["position"]) for each in everything(store) if "content" in each
        }
        assert places == {"a": ("t", 1), "b": ("t", 0)}

    def test_nothing_is_changed_when_the_rewriting_fails(self, store: Store) -> None:
        keep(store, record("Port 8080", "a"))
        before = everything(store)

        def fail(_: Memory) -> Record:
            raise InvalidInput("not like that")

        with pytest.raises(InvalidInput, match="not like that"):
            store.change(HERE, "a", fail, generation=MODEL, now=NOW, session="s")
        with pytest.raises(NoSuchMemory):
            store.change(HERE, "nowhere", fail, generation=None, now=NOW, session=None)
        assert everything(store) == before

    def test_superseding_closes_validity_and_links_both(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", created_at=at(-9)), record("Port 9090", "b", created_at=at(-3)))
        store.supersede(HERE, "a", "b", at(-3), NOW)
        old, new = store.get(HERE, ["a", "b"], NOW)
        assert (old.superseded_by, old.valid_until, old.updated_at) == ("b", at(-3), NOW)
        assert (new.superseded_by, new.valid_until) == (None, None)
        assert store.relations(HERE, ["a"], 99) == [Relation("b", "a", "supersedes", "recollect", NOW)]

    def test_a_supersession_can_be_taken_back(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", created_at=at(-9), valid_until=at(5)), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", at(-3), NOW)
        assert [memory.id for memory in store.history(HERE, "a", 9, NOW)] == ["a", "b"]
        assert store.unsupersede(HERE, "a", NOW) == "b"
        (old,) = store.get(HERE, ["a"], NOW)
        assert (old.superseded_by, old.valid_until) == (None, at(5))
        assert (store.relations(HERE, ["a"], 99), store.unsupersede(HERE, "a", NOW)) == ([], None)
        assert [memory.id for memory in store.history(HERE, "a", 9, NOW)] == ["a"]

    def test_a_validity_that_ended_earlier_stays_as_it_was(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", created_at=at(-9), valid_until=at(-5)), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        assert store.get(HERE, ["a"], NOW)[0].valid_until == at(-5)

    def test_nothing_is_superseded_before_it_was_known(self, store: Store) -> None:
        keep(store, record("Port 8080", "a", created_at=at(-1)), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", at(-9), NOW)
        assert store.get(HERE, ["a"], NOW)[0].valid_until == at(-1)

    def test_superseding_in_a_circle_is_refused(self, store: Store) -> None:
        keep(store, *(record(f"Port {id}", id) for id in "abc"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        store.supersede(HERE, "b", "c", NOW, NOW)
        for old, new in (("c", "a"), ("b", "a"), ("a", "a")):
            with pytest.raises(InvalidInput, match="circle"):
                store.supersede(HERE, old, new, NOW, NOW)

    def test_what_is_not_there_is_said(self, store: Store) -> None:
        keep(store, record("One", "a"))
        before = everything(store)
        for action in (
            lambda: store.supersede(HERE, "a", "nowhere", NOW, NOW),
            lambda: store.relate(HERE, Relation("nowhere", "a", "x", "user", NOW)),
            lambda: store.unrelate(HERE, "a", "nowhere", None, NOW),
            lambda: store.set_deleted(HERE, ["a", "nowhere"], NOW, NOW),
            lambda: store.forget(HERE, ["a", "nowhere"], NOW),
        ):
            with pytest.raises(NoSuchMemory, match="nowhere"):
                action()
        assert everything(store) == before

    def test_use_settles_decay_and_raises_salience_never_above_one(self, store: Store) -> None:
        keep(
            store, record("One", "a", importance=0.5, sector="episodic"), record("Two", "b", importance=0.95)
        )
        store.touch(
            HERE, store.keys_of(HERE, ["a", "b"]), 0.2, at(240), session=None, usage="recalled", uses=3
        )
        one, two = store.get(HERE, ["a", "b"], at(240))
        assert one.salience == pytest.approx(0.5 * 2.718281828**-0.2 + 0.2, rel=1e-6)
        assert two.salience == 1.0
        assert (one.access_count, one.accessed_at) == (3, at(240))
        store.touch(HERE, store.keys_of(HERE, ["a"]), -5.0, at(240), session=None, usage="recalled", uses=0)
        assert store.get(HERE, ["a"], at(240))[0].salience == 0.0

    def test_a_note_of_use_that_comes_late_turns_back_no_clock(self, store: Store) -> None:
        keep(store, record("One", "a"))
        keys = store.keys_of(HERE, ["a"])
        store.touch(HERE, keys, 0.1, at(5), session=None, usage="recalled")
        store.touch(HERE, keys, 0.1, at(3), session=None, usage="recalled")
        assert store.get(HERE, ["a"], at(5))[0].accessed_at == at(5)

    def test_a_session_can_be_noted_without_any_raise(self, store: Store) -> None:
        keep(store, record("One", "a"))
        store.touch(HERE, store.keys_of(HERE, ["a"]), 0.0, at(1), session="s", usage="recalled", uses=0)
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.access_count, kept.accessed_at) == (0, None)
        assert store.last_use(HERE, "a") == ("s", "recalled", 1)

    def test_what_was_forgotten_meanwhile_is_passed_over(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b"))
        keys = store.keys_of(HERE, ["a", "b"])
        store.forget(HERE, ["a"], NOW)
        store.touch(HERE, keys, 0.1, NOW, session="s", usage="recalled")
        assert store.last_use(HERE, "b") == ("s", "recalled", 1)
        assert store.check(analyse) == []

    def test_deleting_is_soft_and_can_be_undone(self, store: Store) -> None:
        keep(store, record("Walrus", "a", vector=vector(1, 0, 0)), record("Seal", "b"))
        assert store.set_deleted(HERE, ["a"], at(1), at(1)) == 1
        assert store.set_deleted(HERE, ["a", "b"], at(2), at(2)) == 1, "one was deleted already"
        assert store.get(HERE, ["a"], NOW)[0].deleted_at == at(1)
        assert (find(store, "walrus"), find_near(store, 1, 0, 0), store.in_scope(scope(), 9)) == ([], [], [])
        assert store.set_deleted(HERE, ["a"], None, at(3)) == 1
        assert store.set_deleted(HERE, ["a"], None, at(3)) == 0
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.deleted_at, kept.updated_at) == (None, at(3))
        assert (find(store, "walrus"), find_near(store, 1, 0, 0)) == (["a"], ["a"])

    def test_a_change_keeps_what_superseded_it(self, store: Store) -> None:
        keep(store, record("Port 8080", "a"), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        store.change(
            HERE,
            "a",
            lambda memory: replace(record("Port 80", "a"), valid_until=memory.valid_until),
            generation=None,
            now=NOW,
            session=None,
        )
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.content, kept.superseded_by, kept.valid_until) == ("Port 80", "b", NOW)
