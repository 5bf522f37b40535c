"""No namespace sees, counts or changes what is another's, even where ids, sessions and names are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recollect.errors import NoSuchMemory
from recollect.store.base import Store
from recollect.store.text import analyse
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    at,
    document,
    everything,
    found,
    keep,
    nearness,
    passage,
    record,
    scope,
    vector,
    words,
)
from recollect.testing.moving import one_of_everything
from recollect.types import Receipt, Relation, Session

THERE = "there"


def _embed(store: Store) -> None:
    waiting = store.pending(HERE, MODEL, 0, 99)
    store.set_vectors(HERE, MODEL, [(each, vector(1, 1, 1)) for each in waiting], NOW)


WRITES: dict[str, Callable[[Store], Any]] = {
    "add": lambda store: keep(store, record("Walrus", "x", session="s", vector=vector(1, 1, 1))),
    "add the same": lambda store: keep(store, record("Port 9090", "y", session="s", tags=["again"])),
    "change": lambda store: store.change(
        HERE, "new", lambda _: record("Port 7070", "new"), generation=MODEL, now=NOW, session="s"
    ),
    "supersede": lambda store: store.supersede(HERE, "t0", "t2", NOW, NOW),
    "relate": lambda store: store.relate(HERE, Relation("t0", "t2", "x", "user", NOW)),
    "unsupersede": lambda store: store.unsupersede(HERE, "old", NOW),
    "unrelate": lambda store: store.unrelate(HERE, "t0", "p1", None, NOW),
    "touch": lambda store: store.touch(
        HERE, store.keys_of(HERE, ["t0", "new"]), 0.2, at(2), session="later", usage="recalled"
    ),
    "set_deleted": lambda store: store.set_deleted(HERE, ["t0", "new"], NOW, NOW),
    "restore": lambda store: store.set_deleted(HERE, ["t1"], None, NOW),
    "save_session": lambda store: store.save_session(Session("s", HERE, NOW, summary="Else"), NOW),
    "replace_document": lambda store: store.replace_document(
        HERE, document(), b"x" * 16, [passage("Else", "z")], generation=None, now=NOW
    ),
    "forget_document": lambda store: store.forget_document(HERE, "guide.md", NOW),
    "forget by id": lambda store: store.forget(HERE, ["new", "t0"], NOW),
    "forget by scope": lambda store: store.forget(HERE, scope(speakers=("Ana",)), NOW),
    "forget what expired": lambda store: store.forget(HERE, "expired", at(99)),
    "forget everything": lambda store: store.forget(HERE, "all", NOW),
    "set_vectors": _embed,
    "switch_generation": lambda store: store.switch_generation(HERE, NEWER_MODEL, NOW),
    "undump": lambda store: store.undump(HERE, everything(store, THERE), analyse, NOW),
}


class SeparatingContract:
    """Every method, with a namespace beside it that holds the very same."""

    @pytest.mark.parametrize("name", WRITES)
    def test_no_write_changes_another_namespace(self, store: Store, name: str) -> None:
        for namespace in (HERE, THERE):
            one_of_everything(store, namespace)
        before, facts = everything(store, THERE), store.facts([THERE])
        numbers, own = store.stats(THERE, NOW), everything(store)
        WRITES[name](store)
        assert name == "undump" or everything(store) != own, "it does something"
        assert everything(store, THERE) == before
        assert store.facts([THERE]) == facts
        assert {**store.stats(THERE, NOW), "bytes": 0} == {**numbers, "bytes": 0}
        assert store.check(analyse) == []

    def test_no_reading_sees_another_namespace(self, store: Store) -> None:
        one_of_everything(store, THERE)
        keep(store, record("Nothing of the kind", "here", vector=vector(-1, 0, 0)))
        (theirs,) = store.get(THERE, ["new"], NOW)
        answer = found(store, scope(include_superseded=True), words("port walrus harbour"), nearness(1, 2, 3))
        assert answer.by_words == []
        assert len(answer.by_meaning) == 1
        assert store.containing(scope(), "port", 9) == []
        assert [memory.id for memory in store.in_scope(scope(kinds=("memory", "passage")), 99)] == ["here"]
        assert store.get(HERE, ["old", "new", "p1", "t0"], NOW) == []
        assert store.keys_of(HERE, ["old", "new"]) == []
        assert store.ids_ending(HERE, "ew") == []
        assert (store.sessions(HERE), store.documents(HERE)) == ([], [])
        assert (store.relations(HERE, ["old"], 99), store.last_use(HERE, "old")) == ([], None)
        assert (store.history(HERE, "old", 99, NOW), sum(store.growth(HERE, NOW)[1].values())) == ([], 1)
        assert (store.count_pending(HERE, MODEL), store.pending(HERE, MODEL, 0, 99)) == (0, [])
        assert store.stats(HERE, NOW)["memories"] == 1
        assert store.facts([HERE])[HERE].next_generation is None
        assert [each["type"] for each in everything(store)] == ["generation", "memory", "vector"]
        (ours,) = store.get(HERE, ["here"], NOW)
        assert store.around(HERE, ours, 99, 99, NOW) == ([], [])
        assert theirs.namespace == THERE

    def test_no_write_reaches_a_memory_of_another_namespace(self, store: Store) -> None:
        one_of_everything(store, THERE)
        keep(store, record("Ours", "ours"))
        before = everything(store, THERE)
        for action in (
            lambda: store.forget(HERE, ["new"], NOW),
            lambda: store.set_deleted(HERE, ["new"], NOW, NOW),
            lambda: store.supersede(HERE, "ours", "new", NOW, NOW),
            lambda: store.unsupersede(HERE, "old", NOW),
            lambda: store.relate(HERE, Relation("ours", "new", "x", "user", NOW)),
            lambda: store.change(
                HERE, "new", lambda _: record("Else", "new"), generation=None, now=NOW, session=None
            ),
        ):
            with pytest.raises(NoSuchMemory):
                action()
        assert store.forget(HERE, scope(THERE, speakers=("Ana",)), NOW) == Receipt()
        assert keep(store, record("Port 9090", "again"))[0].outcome == "added", "the same text, elsewhere"
        assert everything(store, THERE) == before

    @pytest.mark.parametrize("name", ["Здесь", "a'b\"c", "a%b_", " x", "HERE", "n" * 200])
    def test_a_namespace_may_have_any_name(self, store: Store, name: str) -> None:
        keep(store, record("Walrus here", "a"))
        keep(store, record("Walrus there", "b", session="s"), namespace=name)
        assert [memory.id for memory in store.in_scope(scope(name), 9)] == ["b"]
        assert len(found(store, scope(name), words("walrus"), None).by_words) == 1
        assert store.namespaces() == {HERE: 1, name: 1}
