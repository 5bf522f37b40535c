"""Weights that a namespace is tuned to: who uses them, for what, and how they are taken back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import EmbedderMissing, InvalidInput, Memories, Recall, weighing
from recollect.embed.hashing import HashingEmbedder
from recollect.store.base import Generation, NamespaceFacts
from recollect.types import Tuned
from tests.conftest import OpenMemories

MODEL = Generation("hash", 256, "hash-256-v1")
OTHER = Generation("hash", 64, "hash-64-v1")
DEFAULT = {"semantic": 0.6, "keyword": 0.4}


class English(HashingEmbedder):
    """Reads English, so that other languages are foreign to it."""

    languages = ("en",)


@pytest.fixture
def harbour(memories: Memories) -> Memories:
    memories.remember("The harbour crane lifts containers", id="crane")
    memories.remember("Containers wait at the northern quay", id="quay")
    return memories


def shares(found: Recall) -> dict[str, object]:
    """How much each leg gave the best hit, as parts of both: its weights, for it is the best in both."""
    why = found[0].why
    assert why.keyword
    assert why.semantic
    total = why.keyword.share + why.semantic.share
    return {
        "semantic": pytest.approx(why.semantic.share / total),
        "keyword": pytest.approx(why.keyword.share / total),
    }


def ask(memories: Memories, query: str = "the harbour crane", **options: object) -> Recall:
    return memories.recall(query, reinforce=False, **options)  # type: ignore[arg-type]


class TestRecalling:
    def test_every_recall_uses_them_from_then_on_and_says_so(
        self, harbour: Memories, open_memories: OpenMemories
    ) -> None:
        assert shares(ask(harbour)) == DEFAULT
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        for memories in (harbour, open_memories()):
            found = ask(memories)
            assert shares(found) == {"semantic": 0.2, "keyword": 0.8}
            assert found[0].why.notes == ("weights tuned to these memories: semantic 0.20, keyword 0.80",)
            assert found.notes == (), "nothing that each caller must be told"

    def test_weights_that_the_caller_gives_win(self, harbour: Memories) -> None:
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        found = ask(harbour, weights={"semantic": 0.5, "keyword": 0.5})
        assert shares(found) == {"semantic": 0.5, "keyword": 0.5}
        assert found[0].why.notes == ()

    def test_other_fusions_and_single_legs_have_nothing_to_do_with_them(self, harbour: Memories) -> None:
        asked = [{"mode": "keyword"}, {"mode": "semantic"}, {"fusion": "rrf"}, {"fusion": "weighted"}]

        def answers() -> list[object]:
            hits = [hit for each in asked for hit in ask(harbour, **each)]
            return [(hit.memory.id, hit.why.keyword, hit.why.semantic, hit.why.notes) for hit in hits]

        before = answers()
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        assert answers() == before

    def test_a_change_of_model_ends_them_with_a_note(
        self, harbour: Memories, open_memories: OpenMemories
    ) -> None:
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        newer = open_memories(embedder="hash:64")
        newer.reembed()
        found = ask(newer)
        assert shares(found) == DEFAULT
        assert found.notes == (weighing.OUTDATED,)
        assert newer.stats().notes == (
            "The weights were tuned for another model and do not hold: run recollect tune.",
        )

    def test_namespaces_that_are_tuned_differently_are_searched_with_the_default(
        self, harbour: Memories
    ) -> None:
        town = harbour.in_namespace("town")
        town.remember("The market opens at dawn")
        both = ("proj1", "town")
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        found = ask(harbour, namespace=both)
        assert shares(found) == DEFAULT
        assert found.notes == ("these namespaces are tuned differently, so the default weights held",)
        town.use_weights({"semantic": 0.2, "keyword": 0.8})
        found = ask(harbour, namespace=both)
        assert shares(found) == {"semantic": 0.2, "keyword": 0.8}
        assert found.notes == ()

    def test_a_namespace_that_is_not_there_has_no_say(self, harbour: Memories) -> None:
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        found = ask(harbour, namespace=("proj1", "nowhere"))
        assert shares(found) == {"semantic": 0.2, "keyword": 0.8}

    def test_questions_in_a_language_that_is_read_less_well_keep_their_default(
        self, open_memories: OpenMemories
    ) -> None:
        memories = open_memories(embedder=English())
        memories.remember("The harbour crane lifts containers")
        memories.remember("Der Kran am Hafen hebt die Container aus dem Schiff", language="de")
        german = "Was hebt der Kran am Hafen und wohin mit dem Container aus dem Schiff?"
        before = shares(ask(memories, german))
        memories.use_weights({"semantic": 0.5, "keyword": 0.5})
        assert shares(ask(memories)) == {"semantic": 0.5, "keyword": 0.5}
        assert shares(ask(memories, german)) == before
        memories.use_weights({"semantic": 0.5, "keyword": 0.5}, reading="foreign")
        assert shares(ask(memories)) == DEFAULT
        assert shares(ask(memories, german)) == {"semantic": 0.5, "keyword": 0.5}

    def test_where_keywords_answer_alone_nothing_is_said_of_weights(
        self, harbour: Memories, open_memories: OpenMemories
    ) -> None:
        harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        found = ask(open_memories(embedder="none"))
        assert found[0].why.notes == ("vectors are switched off, so keywords answered alone",)


class TestSetting:
    def test_numbers_show_them(self, harbour: Memories) -> None:
        assert harbour.stats().tuned is None
        tuned = harbour.use_weights({"semantic": 1, "keyword": 3})
        assert tuned == Tuned(0.25, 0.75, MODEL.fingerprint)
        assert harbour.tuned() == harbour.stats().tuned == tuned
        assert harbour.stats().notes == ()

    def test_undoing_goes_back_to_what_was_and_can_be_undone(self, harbour: Memories) -> None:
        first = harbour.use_weights({"semantic": 0.5, "keyword": 0.5})
        second = harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        assert harbour.undo_weights() == harbour.tuned() == first
        assert harbour.undo_weights() == harbour.tuned() == second

    def test_the_default_can_be_undone_too(self, harbour: Memories) -> None:
        tuned = harbour.use_weights({"semantic": 0.5, "keyword": 0.5})
        assert harbour.use_weights(None) is None
        assert harbour.tuned() is None
        assert harbour.undo_weights() == harbour.tuned() == tuned
        assert harbour.undo_weights() is None
        assert harbour.tuned() is None

    def test_the_same_again_is_no_change_that_could_be_undone(self, harbour: Memories) -> None:
        first = harbour.use_weights({"semantic": 0.5, "keyword": 0.5})
        for _ in range(2):
            harbour.use_weights({"semantic": 0.2, "keyword": 0.8})
        assert harbour.undo_weights() == first

    def test_where_nothing_was_changed_there_is_nothing_to_undo(self, harbour: Memories) -> None:
        harbour.use_weights(None)
        with pytest.raises(InvalidInput, match="never changed"):
            harbour.undo_weights()

    def test_a_namespace_does_not_come_to_be_by_resetting_it(self, harbour: Memories) -> None:
        harbour.in_namespace("nowhere").use_weights(None)
        assert list(harbour.namespaces()) == ["proj1"]

    def test_without_vectors_there_is_nothing_to_weigh(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="none")
        memories.remember("Found by its words alone")
        for where in (memories, memories.in_namespace("nowhere")):
            with pytest.raises(EmbedderMissing, match="recollect reembed"):
                where.use_weights({"semantic": 0.5, "keyword": 0.5})
            with pytest.raises(EmbedderMissing, match="recollect reembed"):
                where.tune()

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ({"semantic": 1.0}, "at least 10%"),
            ({"semantic": 0.05, "keyword": 0.95}, "at least 10%"),
            ({"semantic": 0.0, "keyword": 0.0}, "All weights are 0"),
            ({"semantic": -1, "keyword": 1}, "from 0 to 1000"),
            ({"salience": 1}, "'salience' is no weight here"),
            ({"semantic": float("nan"), "keyword": 1}, "must be a number"),
            ("semantic", "must be a mapping"),
        ],
    )
    def test_weights_that_can_not_be_meant(self, harbour: Memories, weights: object, said: str) -> None:
        with pytest.raises(InvalidInput, match=said):
            harbour.use_weights(weights)  # type: ignore[arg-type]
        assert harbour.tuned() is None


NUMBERS = st.floats(0.001, 1000)


class TestWeighing:
    @given(NUMBERS, NUMBERS)
    def test_parts_of_one_stay_as_they_are_however_often_they_are_written(
        self, semantic: float, keyword: float
    ) -> None:
        try:
            found = weighing.shares({"semantic": semantic, "keyword": keyword})
        except InvalidInput:
            assert not 0.1 <= semantic / (semantic + keyword) <= 0.9
        else:
            assert sum(found.values()) == pytest.approx(1)
            assert min(found.values()) >= 0.1
            assert weighing.shares(found) == found

    def test_all_namespaces_must_agree(self) -> None:
        even = Tuned(0.5, 0.5, MODEL.fingerprint)
        tuned, plain = NamespaceFacts(generation=MODEL, tuned=even), NamespaceFacts(generation=MODEL)
        for facts, weights in (
            ([], DEFAULT),
            ([plain], DEFAULT),
            ([tuned], even.weights),
            ([tuned, tuned], even.weights),
            ([tuned, plain], DEFAULT),
            ([tuned, NamespaceFacts()], even.weights),
            ([NamespaceFacts(generation=OTHER, tuned=even)], DEFAULT),
        ):
            assert weighing.of(facts, DEFAULT, "known")[0] == weights
            assert weighing.of(facts, DEFAULT, "unread")[0] == DEFAULT
