"""A namespace leaves as records and comes back as it was; a store looks after itself, and is closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recollect.errors import InvalidInput, StoreClosed
from recollect.store.base import Analysed, Store, Text
from recollect.store.text import analyse
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    at,
    document,
    everything,
    find,
    find_near,
    found,
    keep,
    keep_document,
    nearness,
    record,
    scope,
    vector,
    words,
)
from recollect.testing.writing import LONG
from recollect.types import Relation, Session, Tuned


def one_of_everything(store: Store, namespace: str = HERE) -> None:
    """A session, turns, a document, edges, links, vectors of two models, something superseded and deleted."""
    store.save_session(Session("s", namespace, at(-9), at(-1), "cli", "Ports"), NOW, extracted=True)
    turns = [record(f"Turn {n} about walruses", f"t{n}", session="s", speaker="Ana") for n in range(3)]
    keep(store, *turns, namespace=namespace)
    keep(
        store,
        record(
            "Port 8080", "old", created_at=at(-5), tags=["net"], files=["a.py"], metadata={"a": [1.5, None]}
        ),
        record(
            "Port 9090", "new", vector=vector(1, 2, 3), valid_from=at(-2), valid_until=at(7), expires_at=at(9)
        ),
        record(LONG, "long", vector=vector(3, 2, 1), language="en", source="diary", summary="Gates"),
        namespace=namespace,
    )
    keep(store, record(LONG + " again", "longer"), namespace=namespace)
    keep_document(store, ("p1", "Walruses eat clams"), namespace=namespace, hash=b"h" * 16)
    store.supersede(namespace, "old", "new", NOW, NOW)
    store.relate(namespace, Relation("t0", "p1", "mentions", "user", NOW))
    keys = store.keys_of(namespace, ["new", "old"])
    store.touch(namespace, keys, 0.1, at(1), session="later", usage="recalled")
    store.set_deleted(namespace, ["t1"], at(1), at(1))
    (first, *_) = store.pending(namespace, NEWER_MODEL, 0, 1)
    store.set_vectors(namespace, NEWER_MODEL, [(first, vector(1, 1))], NOW)
    for semantic in (0.3, 0.7):
        store.use_weights(namespace, Tuned(semantic, round(1 - semantic, 1), MODEL.fingerprint), NOW)


class MovingContract:
    """`dump`, `undump`, `check`, `rebuild`, `read_only` and `close`."""

    def test_what_was_dumped_comes_back_as_it_was(self, store: Store) -> None:
        one_of_everything(store)
        dumped = everything(store)
        kinds = ["generation", "session", "document", "memory", "relation", "link", "vector"]
        assert list(dict.fromkeys(each["type"] for each in dumped)) == kinds, "in this order"
        records = [json.loads(json.dumps(each)) for each in dumped]
        counts = store.undump("copy", records, analyse, NOW)
        assert counts == {"generations": 2, "sessions": 2, "documents": 1, "memories": 8, "relations": 3,
                          "links": 2, "vectors": 3}  # fmt: skip
        assert everything(store, "copy") == dumped
        assert store.check(analyse) == []
        assert find(store, "walrus", scope("copy")) == find(store, "walrus")
        assert find_near(store, 1, 2, 3, where=scope("copy")) == find_near(store, 1, 2, 3) == ["new", "long"]

    def test_vectors_are_left_out_unless_asked_for(self, store: Store) -> None:
        one_of_everything(store)
        bare = list(store.dump(HERE, vectors=False))
        assert bare == [each for each in everything(store) if each["type"] != "vector"]

    def test_what_is_there_already_is_left_alone_and_counted(self, store: Store) -> None:
        one_of_everything(store)
        dumped = everything(store)
        counts = store.undump(HERE, dumped, analyse, NOW)
        assert counts == {
            "generations already there": 2, "sessions already there": 2, "documents already there": 1,
            "memories already there": 8, "relations already there": 3, "links already there": 2,
            "vectors already there": 3,
        }  # fmt: skip
        assert everything(store) == dumped

    def test_a_copy_can_be_gone_on_with(self, store: Store) -> None:
        keep(store, *(record(f"Turn {n}", f"t{n}", session="s") for n in range(4)))
        dumped = everything(store)
        memories = [each for each in dumped if each["type"] == "memory"]
        others = [each for each in dumped if each["type"] != "memory"]
        for as_it_was, places in ((True, [0, 1, 2, 3]), (False, [0, 1, 2, 3])):
            target = f"copy {as_it_was}"
            store.undump(target, [*others, *memories[:2]], analyse, NOW, as_it_was=as_it_was)
            store.undump(target, [*others, *memories[2:]], analyse, NOW, as_it_was=as_it_was)
            kept = [each for each in everything(store, target) if each["type"] == "memory"]
            assert [each["position"] for each in kept] == places

    def test_weights_come_along_with_the_model_that_they_are_for(self, store: Store) -> None:
        one_of_everything(store)
        for as_it_was in (False, True):
            store.undump(f"copy {as_it_was}", everything(store), analyse, NOW, as_it_was=as_it_was)
            facts = store.facts([f"copy {as_it_was}"])[f"copy {as_it_was}"]
            assert facts.tuned == Tuned(0.7, 0.3, MODEL.fingerprint)
            assert facts.tuned_before == Tuned(0.3, 0.7, MODEL.fingerprint)

    def test_weights_that_come_leave_alone_those_of_memories_that_are_there(self, store: Store) -> None:
        one_of_everything(store)
        keep(store, record("Theirs", "theirs"), namespace="there")
        store.undump("there", everything(store), analyse, NOW)
        assert store.facts(["there"])["there"].tuned is None

    def test_memories_that_come_to_a_session_that_is_there_go_to_its_end(self, store: Store) -> None:
        keep(store, record("Theirs", "theirs", session="s"))
        dumped = everything(store)
        keep(store, record("Ours", "ours", session="s"), namespace="copy")
        store.undump("copy", dumped, analyse, NOW)
        assert {each["id"]: each["position"] for each in everything(store, "copy") if "content" in each} == {
            "ours": 0,
            "theirs": 1,
        }

    def test_nothing_is_written_when_a_record_is_no_good(self, store: Store) -> None:
        one_of_everything(store)
        dumped = everything(store)
        with pytest.raises(InvalidInput):
            store.undump("copy", [*dumped, {"type": "memory", "id": "x"}], analyse, NOW)
        with pytest.raises(InvalidInput, match="superseded by one that is missing"):
            store.undump("copy", [each for each in dumped if each.get("id") != "new"][:9], analyse, NOW)
        assert everything(store, "copy") == []

    def test_one_may_write_while_a_dump_is_being_read(self, store: Store) -> None:
        keep(store, *(record(f"Text {n}", f"m{n}") for n in range(5)), generation=None)
        reading = store.dump(HERE, vectors=False)
        first = next(reading)
        keep(store, record("Written meanwhile", "late"), generation=None)
        assert [each["id"] for each in (first, *reading)] == [f"m{n}" for n in range(5)], "one moment's state"

    def test_a_namespace_that_is_not_there_has_nothing_to_dump(self, store: Store) -> None:
        assert everything(store, "nowhere") == []

    # health

    def test_a_sound_store_has_no_findings_and_a_rebuild_changes_nothing(self, store: Store) -> None:
        assert store.check(analyse) == []
        one_of_everything(store)
        one_of_everything(store, "there")
        before = [everything(store, namespace) for namespace in (HERE, "there")]
        questions = [find(store, question) for question in ("walrus", "port", "harbour")]
        assert store.check(analyse) == []
        seen: list[tuple[int, int | None]] = []
        store.rebuild(analyse, lambda _, done, total: seen.append((done, total)))
        assert store.check(analyse) == []
        assert [everything(store, namespace) for namespace in (HERE, "there")] == before
        assert [find(store, question) for question in ("walrus", "port", "harbour")] == questions
        assert keep(store, record(LONG + " thrice", "x"))[0].near_duplicates != ()
        assert seen[-1][0] == 16, "it says how far it is"
        assert sorted(seen) == seen

    def test_texts_that_are_analysed_differently_now_are_found_and_mended(self, store: Store) -> None:
        def otherwise(text: Text) -> Analysed:
            analysed = analyse(text)
            return Analysed(f"{analysed.terms} extra", analysed.hash, analysed.near_keys)

        keep(store, record("Walrus", "a"), record("Seal", "b"))
        (finding,) = store.check(otherwise)
        assert (finding.check, finding.count, finding.mendable) == ("terms", 2, True)
        store.rebuild(otherwise)
        assert store.check(otherwise) == []
        assert sorted(find(store, "extra")) == ["a", "b"]

    # the end

    def test_an_open_store_can_be_written(self, store: Store) -> None:
        assert store.read_only is False

    def test_a_closed_store_says_so_whatever_is_asked(self, store: Store) -> None:
        keep(store, record("Walrus", "a"))
        (anchor,) = store.get(HERE, ["a"], NOW)
        (candidate,) = found(store, scope(), words("walrus"), None).by_words
        store.close()
        store.close()  # closing twice is fine
        for name, action in CALLS.items():
            with pytest.raises(StoreClosed):
                result = action(store, anchor)
                if isinstance(result, Iterator):
                    list(result)
                pytest.fail(f"{name} answered")
        for reading in (store.load, lambda keys, now: store.neighbours(keys, 1, now)):
            with pytest.raises(StoreClosed):
                reading([candidate.key], NOW)


CALLS: dict[str, Any] = {
    "facts": lambda store, _: store.facts([HERE]),
    "search": lambda store, _: store.search([scope()], words("walrus"), nearness(1, 0, 0)),
    "containing": lambda store, _: store.containing(scope(), "walrus", 9),
    "get": lambda store, _: store.get(HERE, ["a"], NOW),
    "ids_ending": lambda store, _: store.ids_ending(HERE, "a"),
    "around": lambda store, anchor: store.around(HERE, anchor, 1, 1, NOW),
    "in_scope": lambda store, _: store.in_scope(scope(), 9),
    "sessions": lambda store, _: store.sessions(HERE),
    "last_use": lambda store, _: store.last_use(HERE, "a"),
    "relations": lambda store, _: store.relations(HERE, ["a"], 99),
    "history": lambda store, _: store.history(HERE, "a", 99, NOW),
    "growth": lambda store, _: store.growth(HERE, NOW),
    "documents": lambda store, _: store.documents(HERE),
    "add": lambda store, _: keep(store, record("Seal", "b")),
    "replace_document": lambda store, _: store.replace_document(
        HERE, document(), bytes(16), [], generation=None, now=NOW
    ),
    "change": lambda store, _: store.change(
        HERE, "a", lambda _: record("Seal", "a"), generation=None, now=NOW, session=None
    ),
    "supersede": lambda store, _: store.supersede(HERE, "a", "a", NOW, NOW),
    "unsupersede": lambda store, _: store.unsupersede(HERE, "a", NOW),
    "relate": lambda store, _: store.relate(HERE, Relation("a", "a", "x", "user", NOW)),
    "unrelate": lambda store, _: store.unrelate(HERE, "a", "a", None, NOW),
    "touch": lambda store, _: store.touch(HERE, [1], 0.1, NOW, session=None, usage="recalled"),
    "keys_of": lambda store, _: store.keys_of(HERE, ["a"]),
    "set_deleted": lambda store, _: store.set_deleted(HERE, ["a"], NOW, NOW),
    "forget": lambda store, _: store.forget(HERE, "all", NOW),
    "forget_document": lambda store, _: store.forget_document(HERE, "guide.md", NOW),
    "save_session": lambda store, _: store.save_session(Session("s", HERE, NOW), NOW),
    "pending": lambda store, _: store.pending(HERE, MODEL, 0, 9),
    "count_pending": lambda store, _: store.count_pending(HERE, MODEL),
    "set_vectors": lambda store, _: store.set_vectors(HERE, MODEL, [], NOW),
    "switch_generation": lambda store, _: store.switch_generation(HERE, MODEL, NOW),
    "stats": lambda store, _: store.stats(HERE, NOW),
    "namespaces": lambda store, _: store.namespaces(),
    "check": lambda store, _: store.check(analyse),
    "rebuild": lambda store, _: store.rebuild(analyse),
    "dump": lambda store, _: store.dump(HERE, vectors=True),
    "undump": lambda store, _: store.undump(HERE, [], analyse, NOW),
}
"""Every method but those that need a key, which is whatever a store says it is."""
