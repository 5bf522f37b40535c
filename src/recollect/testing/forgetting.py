"""What is forgotten is gone with everything derived from it, and counted to the last one."""

from __future__ import annotations

import pytest

from recollect.store.base import Store
from recollect.store.text import analyse
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    at,
    everything,
    find,
    find_near,
    ids_of,
    keep,
    keep_document,
    record,
    scope,
    vector,
)
from recollect.testing.writing import LONG
from recollect.types import Receipt, Relation, Session


class ForgettingContract:
    """`forget`, by ids, by scope, everything, and what has expired."""

    def test_a_session_that_is_named_and_left_empty_goes_too(self, store: Store) -> None:
        for id in ("s", "t"):
            store.save_session(Session(id, HERE, NOW, summary=f"What {id} was about"), NOW)
        keep(store, record("One", "a", session="s"), record("Two", "b", session="s"))
        keep(store, record("Three", "c", session="t"))
        store.touch(HERE, store.keys_of(HERE, ["c"]), 0.0, NOW, session="s", usage="recalled", uses=0)
        assert store.forget(HERE, scope(sessions=("s",), tags=("none",)), NOW).sessions == 0
        receipt = store.forget(HERE, scope(sessions=("s",), include_superseded=True), NOW)
        assert (receipt.memories, receipt.sessions) == (2, 1)
        assert [session.id for session in store.sessions(HERE)] == ["t"]
        assert store.get(HERE, ["c"], NOW)
        assert store.check(analyse) == []

    def test_the_receipt_counts_every_kind(self, store: Store) -> None:
        keep(store, record(LONG, "a", session="s", vector=vector(1, 0, 0)), record("Other", "b", session="s"))
        near_keys = len(record(LONG, "a").near_keys)
        assert near_keys > 0
        keys = store.keys_of(HERE, ["a"])
        store.touch(HERE, keys, 0.1, NOW, session="t", usage="recalled")
        store.touch(HERE, keys, 0.1, NOW, session="u", usage="recalled")
        store.relate(HERE, Relation("a", "b", "mentions", "user", NOW))
        store.relate(HERE, Relation("b", "a", "mentions", "user", NOW))
        assert store.forget(HERE, ["a"], NOW) == Receipt(
            memories=1, keyword_entries=1, vectors=1, session_links=3, relations=2, near_keys=near_keys
        )
        assert (find(store, "harbour"), find_near(store, 1, 0, 0)) == ([], [])
        assert store.relations(HERE, ["b"], 99) == []
        assert store.get(HERE, ["a"], NOW) == []
        assert [session.memories for session in store.sessions(HERE, ids=["s"])] == [1]
        assert store.check(analyse) == []

    def test_vectors_of_every_model_go(self, store: Store) -> None:
        keep(store, record("One", "a", vector=vector(1, 0, 0)))
        (waiting,) = store.pending(HERE, NEWER_MODEL, 0, 9)
        store.set_vectors(HERE, NEWER_MODEL, [(waiting, vector(1, 0))], NOW)
        assert store.forget(HERE, ["a"], NOW).vectors == 2

    def test_forgetting_nothing_removes_nothing(self, store: Store) -> None:
        keep(store, record("One", "a"))
        assert store.forget(HERE, [], NOW) == Receipt()
        assert store.forget(HERE, "expired", NOW) == Receipt()
        assert store.forget(HERE, scope(tags=("none",)), NOW) == Receipt()
        assert ids_of(store) == ["a"]

    def test_a_scope_takes_deleted_and_expired_ones_too(self, store: Store) -> None:
        keep(store, record("One", "a", tags=["x"]), record("Two", "b", tags=["x"], expires_at=at(-1)))
        keep(store, record("Three", "c", tags=["x"], deleted_at=at(-1)), record("Four", "d"))
        receipt = store.forget(HERE, scope(tags=("x",)), NOW)
        assert receipt == Receipt(memories=3, keyword_entries=3)
        assert ids_of(store) == ["d"]

    def test_what_has_expired(self, store: Store) -> None:
        keep(
            store, record("One", "a", expires_at=NOW), record("Two", "b", expires_at=at(1)), record("C", "c")
        )
        assert store.forget(HERE, "expired", NOW) == Receipt(memories=1, keyword_entries=1)
        assert ids_of(store) == ["b", "c"]

    def test_everything_takes_sessions_and_documents_along(self, store: Store) -> None:
        keep(store, record("One", "a", session="s"), record("Two", "b", deleted_at=at(-1)))
        store.save_session(Session("empty", HERE, NOW), NOW)
        keep_document(store, ("p1", "A passage"), ("p2", "Another"))
        receipt = store.forget(HERE, "all", NOW)
        assert receipt == Receipt(memories=4, keyword_entries=4, session_links=1, documents=1, sessions=2)
        assert [each for each in everything(store) if each["type"] != "generation"] == []
        assert store.sessions(HERE) == []

    def test_a_document_goes_with_its_last_passage(self, store: Store) -> None:
        keep_document(store, ("p1", "A passage"), ("p2", "Another"))
        assert store.forget(HERE, ["p1"], NOW).documents == 0
        assert [kept.passages for kept, _ in store.documents(HERE)] == [1]
        assert store.forget(HERE, ["p2"], NOW).documents == 1
        assert store.documents(HERE) == []

    @pytest.mark.parametrize("gone", [["b"], ["b", "c"], ["c", "b"]])
    def test_what_a_forgotten_memory_had_superseded_follows_the_next(
        self, store: Store, gone: list[str]
    ) -> None:
        keep(store, *(record(f"Port {id}", id) for id in "abcd"))
        for old, new in ("ab", "bc", "cd"):
            store.supersede(HERE, old, new, at(1), at(1))
        store.forget(HERE, gone, NOW)
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.superseded_by, kept.valid_until) == ("c" if "c" not in gone else "d", at(1))
        assert store.check(analyse) == []

    def test_or_holds_again(self, store: Store) -> None:
        keep(store, record("Port 8080", "a"), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        store.forget(HERE, ["b"], NOW)
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.superseded_by, kept.valid_until) == (None, None)
        assert find(store, "port") == ["a"]

    def test_a_summary_that_was_taken_from_a_memory_goes_with_it(self, store: Store) -> None:
        keep(store, record("One", "a", session="s"), record("Two", "b", session="t"))
        store.save_session(Session("s", HERE, NOW, summary="One"), NOW, extracted=True)
        store.save_session(Session("t", HERE, NOW, summary="Written by hand"), NOW)
        store.forget(HERE, ["a", "b"], NOW)
        summaries = {session.id: session.summary for session in store.sessions(HERE)}
        assert summaries == {"s": None, "t": "Written by hand"}

    def test_an_id_can_be_used_again_and_a_key_never_is(self, store: Store) -> None:
        keep(store, record("One", "a"))
        (before,) = store.keys_of(HERE, ["a"])
        store.forget(HERE, ["a"], NOW)
        keep(store, record("Two", "a", vector=vector(1, 0, 0)), generation=MODEL)
        (after,) = store.keys_of(HERE, ["a"])
        assert before != after, "whoever still holds the old key must not touch the new memory"
        assert find(store, "one") == []
        assert find(store, "two") == ["a"]
