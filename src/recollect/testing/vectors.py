"""Which memories wait for a vector, how a namespace changes from one model to another, and its weights."""

from __future__ import annotations

from recollect.store.base import Store
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    find_near,
    keep,
    keep_document,
    record,
    vector,
)
from recollect.types import Tuned

EVEN = Tuned(0.5, 0.5, MODEL.fingerprint)
WORDS = Tuned(0.25, 0.75, MODEL.fingerprint, "foreign")


class VectorsContract:
    """`pending`, `count_pending`, `set_vectors`, `switch_generation` and `use_weights`."""

    def test_memories_wait_in_the_order_of_writing(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b", vector=vector(1, 0, 0)), record("Three", "c"))
        keep(store, record("Four", "d", speaker="Ana", deleted_at=NOW))
        assert store.count_pending(HERE, MODEL) == 3
        waiting = store.pending(HERE, MODEL, 0, 2)
        assert [each.text for each in waiting] == ["One", "Three"]
        rest = store.pending(HERE, MODEL, waiting[-1].key, 2)
        assert [each.text for each in rest] == ["Ana: Four"], "who said it is part of what it means"
        assert store.pending(HERE, MODEL, rest[-1].key, 2) == []
        assert store.count_pending(HERE, NEWER_MODEL) == 4
        assert (store.count_pending("nowhere", MODEL), store.pending("nowhere", MODEL, 0, 9)) == (0, [])

    def test_a_passage_is_embedded_with_the_title_of_its_document(self, store: Store) -> None:
        keep_document(store, ("p", "They eat clams"), title="Walruses")
        assert [each.text for each in store.pending(HERE, MODEL, 0, 9)] == ["Walruses\nThey eat clams"]

    def test_vectors_that_come_later_are_found_from_then_on(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b"))
        one, two = store.pending(HERE, MODEL, 0, 9)
        store.set_vectors(HERE, MODEL, [(two, vector(1, 0, 0)), (one, vector(0, 1, 0))], NOW)
        assert find_near(store, 1, 0, 0) == ["b", "a"]
        assert store.count_pending(HERE, MODEL) == 0
        store.set_vectors(HERE, MODEL, [(two, vector(0, 0, 1))], NOW)
        assert find_near(store, 0, 0, 1, limit=1) == ["b"], "and can be replaced"
        assert store.stats(HERE, NOW)["vectors"] == 2

    def test_how_many_wait_is_right_whatever_came_since_none_did(self, store: Store) -> None:
        def embed_all() -> None:
            waiting = store.pending(HERE, MODEL, 0, 9)
            store.set_vectors(HERE, MODEL, [(each, vector(1, 0, 0)) for each in waiting], NOW)
            assert store.count_pending(HERE, MODEL) == 0

        keep(store, record("One", "a"), record("Two", "b"))
        embed_all()
        keep(store, record("Three", "c"), record("Four", "d", vector=vector(0, 1, 0)))
        assert store.count_pending(HERE, MODEL) == 1
        keep(store, record("One", "a"), namespace="there")
        assert store.count_pending(HERE, MODEL) == 1
        embed_all()
        store.change(HERE, "a", lambda _: record("Uno", "a"), generation=None, now=NOW, session=None)
        assert store.count_pending(HERE, MODEL) == 1
        keep(store, record("Five", "e"))
        assert store.count_pending(HERE, MODEL) == 2
        embed_all()
        store.forget(HERE, ["b"], NOW)
        assert store.count_pending(HERE, MODEL) == 0
        store.switch_generation(HERE, NEWER_MODEL, NOW)
        assert (store.count_pending(HERE, MODEL), store.count_pending(HERE, NEWER_MODEL)) == (4, 4)

    def test_a_vector_of_a_text_that_has_changed_meanwhile_is_dropped(self, store: Store) -> None:
        keep(store, record("One", "a"), record("Two", "b"))
        one, two = store.pending(HERE, MODEL, 0, 9)
        store.change(HERE, "a", lambda _: record("Uno", "a"), generation=None, now=NOW, session=None)
        store.forget(HERE, ["b"], NOW)
        store.set_vectors(HERE, MODEL, [(one, vector(1, 0, 0)), (two, vector(1, 0, 0))], NOW)
        assert find_near(store, 1, 0, 0) == []
        assert [each.text for each in store.pending(HERE, MODEL, 0, 9)] == ["Uno"]

    def test_a_new_model_is_searched_when_it_is_complete_and_the_old_vectors_go(self, store: Store) -> None:
        keep(store, record("One", "a", vector=vector(1, 0, 0)), record("Two", "b", vector=vector(0, 1, 0)))
        waiting = store.pending(HERE, NEWER_MODEL, 0, 9)
        given = [(each, vector(1, n)) for n, each in enumerate(waiting)]
        store.set_vectors(HERE, NEWER_MODEL, given, NOW)
        assert store.facts([HERE])[HERE].next_generation == NEWER_MODEL
        assert find_near(store, 1, 0, 0) == ["a", "b"]
        assert find_near(store, 1, 0, generation=NEWER_MODEL) == []
        assert store.switch_generation(HERE, NEWER_MODEL, NOW) == 2
        facts = store.facts([HERE])[HERE]
        assert (facts.generation, facts.next_generation) == (NEWER_MODEL, None)
        assert find_near(store, 1, 0, generation=NEWER_MODEL) == ["a", "b"]
        assert find_near(store, 1, 0, 0) == []
        assert store.stats(HERE, NOW)["generations"] == (NEWER_MODEL.model,)

    def test_switching_to_the_model_that_is_searched_changes_nothing(self, store: Store) -> None:
        keep(store, record("One", "a", vector=vector(1, 0, 0)))
        assert store.switch_generation(HERE, MODEL, NOW) == 0
        assert find_near(store, 1, 0, 0) == ["a"]

    def test_weights_come_with_the_facts_and_those_before_are_kept(self, store: Store) -> None:
        keep(store, record("One", "a"))
        for now, before in ((EVEN, None), (WORDS, EVEN), (None, WORDS)):
            store.use_weights(HERE, now, NOW)
            facts = store.facts([HERE])[HERE]
            assert (facts.tuned, facts.tuned_before) == (now, before)

    def test_the_same_weights_again_change_nothing(self, store: Store) -> None:
        keep(store, record("One", "a"))
        store.use_weights(HERE, EVEN, NOW)
        for _ in range(2):
            store.use_weights(HERE, WORDS, NOW)
        assert store.facts([HERE])[HERE].tuned_before == EVEN

    def test_weights_are_those_of_one_namespace(self, store: Store) -> None:
        keep(store, record("One", "a"))
        keep(store, record("One", "a"), namespace="there")
        store.use_weights(HERE, EVEN, NOW)
        assert store.facts(["there"])["there"].tuned is None

    def test_a_change_of_model_leaves_the_weights_with_the_model_they_are_for(self, store: Store) -> None:
        keep(store, record("One", "a"))
        store.use_weights(HERE, EVEN, NOW)
        store.switch_generation(HERE, NEWER_MODEL, NOW)
        facts = store.facts([HERE])[HERE]
        assert (facts.generation, facts.tuned) == (NEWER_MODEL, EVEN)
