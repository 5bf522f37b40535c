"""Situations that arise in real life: embedders that fail, edits that cross, chains that are cut."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, Memories, remembering

from .conftest import NOON, Clock, OpenMemories


def contents(memories: Memories, query: str, **options: Any) -> list[str]:
    return [hit.memory.content for hit in memories.recall(query, **options)]


class Picky:
    """An embedder that somebody else wrote: fails on what it dislikes, with an error of its own."""

    name, dimensions, fingerprint, query_prefix = "picky", 4, "picky-1", ""

    class ServerSaidNo(Exception):
        pass

    def __init__(self, dislikes: str) -> None:
        self.dislikes = dislikes

    def embed(self, texts: list[str]) -> list[list[float]]:
        if any(self.dislikes in text for text in texts):
            raise self.ServerSaidNo("no")
        return [[3.0, float(len(text) % 5), 1.0, 0.0] for text in texts]


class TestEmbeddersOfOthers:
    def test_whatever_an_embedder_raises_the_row_is_kept(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder=Picky("walrus"))
        result = memories.remember("The mascot is a walrus")
        assert not result.embedded
        assert contents(memories, "walrus") == ["The mascot is a walrus"]

    def test_plain_lists_are_vectors_and_are_made_unit_length(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder=Picky("never"))
        memories.remember("The mascot is a heron")
        leg = memories.recall("The mascot is a heron", mode="semantic")[0].why.semantic
        assert leg is not None
        assert leg.score == pytest.approx(1.0, abs=1e-5)

    def test_one_text_that_fails_holds_up_no_other(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder=Picky("poison"))
        texts = [f"fact number {n}" for n in range(150)]
        texts[70] = "poison"
        memories.remember_many(texts)
        assert memories.stats().pending_vectors == 1
        assert memories.reembed() == 1

    @pytest.mark.parametrize("vectors", [[[0.0] * 4], [[float("nan")] * 4], [[1.0] * 3], "nonsense"])
    def test_vectors_that_make_no_sense_are_not_kept(
        self, open_memories: OpenMemories, monkeypatch: pytest.MonkeyPatch, vectors: Any
    ) -> None:
        embedder = Picky("never")
        monkeypatch.setattr(embedder, "embed", lambda texts: vectors)
        memories = open_memories(embedder=embedder)
        assert not memories.remember("The mascot is a heron").embedded
        assert memories.stats().vectors == 0

    def test_while_the_model_changes_a_recall_says_so(self, open_memories: OpenMemories) -> None:
        open_memories(embedder="hash:64").remember("The mascot is a heron")
        memories = open_memories(embedder="hash:32")
        memories.remember("The mascot was a walrus")
        assert any("reembed" in note for note in memories.recall("mascot").notes)


class TestCrossingEdits:
    def test_an_update_keeps_what_others_changed_meanwhile(
        self, memories: Memories, open_memories: OpenMemories, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = memories.remember("Port 8080").id
        new = memories.remember("Port 9090").id
        other = open_memories()

        def meanwhile(*_: Any) -> None:
            other.supersede(old, new)
            other.update(old, importance=0.9)
            monkeypatch.undo()

        monkeypatch.setattr(remembering, "vector_of", meanwhile)
        memories.update(old, text="Port 8080, for the API")
        memory = memories.get(old)
        assert (memory.superseded_by, memory.importance) == (new, 0.9)
        assert memory.valid_until is not None
        assert contents(memories, "port") == ["Port 9090"]


class TestChains:
    @pytest.fixture
    def chain(self, memories: Memories) -> list[str]:
        ids = [memories.remember(f"The port is {port}").id for port in (8080, 9090, 7070)]
        memories.supersede(ids[0], ids[1])
        memories.supersede(ids[1], ids[2])
        return ids

    def test_forgetting_the_middle_does_not_bring_back_the_beginning(
        self, memories: Memories, chain: list[str]
    ) -> None:
        memories.forget(chain[1])
        assert contents(memories, "port") == ["The port is 7070"]
        assert memories.get(chain[0]).superseded_by == chain[2]

    def test_forgetting_the_end_lets_the_one_before_hold_again(
        self, memories: Memories, chain: list[str]
    ) -> None:
        memories.forget(chain[2])
        assert contents(memories, "port") == ["The port is 9090"]
        memories.forget(chain[1])
        assert contents(memories, "port") == ["The port is 8080"]

    def test_forgetting_several_links_at_once(self, memories: Memories, chain: list[str]) -> None:
        memories.forget(chain[1:])
        assert contents(memories, "port") == ["The port is 8080"]
        assert memories.doctor() == []

    def test_an_end_that_was_given_outlives_supersession(self, memories: Memories) -> None:
        offer = memories.remember("The offer is ten percent", valid_until=NOON - timedelta(days=1)).id
        newer = memories.remember("The offer is over").id
        memories.supersede(offer, newer)
        memories.forget(newer)
        assert contents(memories, "percent") == []
        assert memories.get(offer).valid_until == NOON - timedelta(days=1)

    def test_a_memory_that_was_to_hold_later_can_still_be_updated(self, memories: Memories) -> None:
        later = memories.remember("The price will be 12", valid_from="2030-01-01").id
        memories.supersede(later, memories.remember("The price stays").id)
        assert memories.update(later, tags=["price"]).tags == ("price",)


class TestSayingItAgain:
    def test_the_later_end_wins_and_for_good_wins_over_any(self, memories: Memories, clock: Clock) -> None:
        memories.remember("The lease runs", expires_at=NOON + timedelta(days=1))
        memories.remember("The lease runs")
        clock.pass_time(days=30)
        assert contents(memories, "lease") == ["The lease runs"]

    def test_what_is_said_anew_counts(self, memories: Memories) -> None:
        id = memories.remember("The lease runs", metadata={"by": "Ana", "page": 1}).id
        memories.remember("The lease runs", metadata={"by": "Ben"}, summary="lease", source="mail")
        memory = memories.get(id)
        assert dict(memory.metadata) == {"by": "Ben", "page": 1}
        assert (memory.summary, memory.source) == ("lease", "mail")

    def test_a_memory_that_waited_gets_its_vector(self, open_memories: OpenMemories) -> None:
        open_memories(embedder="none").remember("The lease runs")
        memories = open_memories()
        assert memories.remember("The lease runs").embedded
        stats = memories.stats()
        assert (stats.vectors, stats.pending_vectors) == (1, 0)

    def test_it_belongs_to_the_session_it_was_said_again_in(self, memories: Memories) -> None:
        memories.remember("The lease runs", session="s1")
        memories.remember("The lease runs", session="s2")
        assert contents(memories, "lease", session="s2") == ["The lease runs"]

    def test_tags_do_not_hide_a_near_duplicate(self, memories: Memories) -> None:
        text = "The nightly backup copies the billing database to the vault"
        first = memories.remember(text, tags=["a", "b", "c", "d"])
        second = memories.remember(text, tags=["e", "f", "g", "h"], on_duplicate="keep")
        assert second.near_duplicates == (first.id,)


class TestUse:
    def test_only_what_a_context_holds_counts_as_recalled(self, memories: Memories) -> None:
        short = memories.remember("walrus").id
        long = memories.remember("walrus " * 400).id
        memories.context("walrus", max_tokens=120)
        memories.stats()
        assert (memories.get(short).access_count, memories.get(long).access_count) == (1, 0)

    def test_a_context_across_namespaces_counts_in_each(self, memories: Memories) -> None:
        other = memories.in_namespace("other")
        ids = [space.remember(f"walrus {space.namespace}").id for space in (memories, other)]
        memories.context("walrus", namespace=["proj1", "other"])
        memories.stats()
        assert [memories.get(ids[0]).access_count, other.get(ids[1]).access_count] == [1, 1]

    def test_a_recall_in_a_session_is_linked_even_if_nothing_is_raised(self, memories: Memories) -> None:
        id = memories.remember("The lease runs", importance=0.5).id
        memories.in_session("s9").recall("lease", reinforce=False)
        context = memories.session_context(id)
        assert context is not None
        assert (context.session.id, context.usage) == ("s9", "recalled")
        assert memories.get(id).salience == pytest.approx(0.5, abs=1e-6)

    def test_many_recalls_at_once_are_all_counted(self, memories: Memories) -> None:
        id = memories.remember("The lease runs", importance=0.1).id
        for _ in range(10):
            memories.recall("lease")
        memories.stats()
        assert memories.get(id).access_count == 10
        assert memories.get(id).salience == pytest.approx(0.3, abs=1e-4)

    def test_a_summary_drawn_from_memories_goes_with_them(self, memories: Memories) -> None:
        id = memories.remember("The password is hunter2", session="s1").id
        memories.summarise_session("s1")
        memories.forget(id)
        assert memories.session("s1").summary is None
        memories.summarise_session("s1", "Given by hand")
        id = memories.remember("Something else", session="s1").id
        memories.forget(id)
        assert memories.session("s1").summary == "Given by hand"
        memories.remember("And more", session="s1")
        assert memories.forget(session="s1").sessions == 1
        assert memories.sessions() == []
        memories.start_session("s2")
        assert memories.forget(everything=True).sessions == 1


class TestHandiness:
    def test_what_remember_returned_will_do_for_an_id(self, memories: Memories) -> None:
        old, new = memories.remember("Port 8080"), memories.remember("Port 9090")
        memories.supersede(old, new)
        memories.relate(memories.get(new), old, "replaces")
        assert memories.forget([old]).memories == 1

    def test_a_scope_can_be_forgotten(self, memories: Memories) -> None:
        memories.remember("Port 8080", tags=["ops"])
        memories.remember("Port 9090")
        assert memories.forget(memories.scope(tags="ops")).memories == 1
        with pytest.raises(InvalidInput, match="namespace"):
            memories.forget(memories.scope(namespace="other"))

    def test_dates_are_moments(self, memories: Memories) -> None:
        memories.remember("Port 8080", created_at=date(2026, 3, 1))
        assert contents(memories, "port", as_of=date(2026, 3, 1)) == ["Port 8080"]
        assert contents(memories, "port", since=date(2026, 3, 2)) == []

    def test_what_does_not_hold_yet_is_left_out(self, memories: Memories) -> None:
        memories.remember("The price will be 12", valid_from="2030-01-01")
        assert contents(memories, "price") == []
        assert contents(memories, "price", as_of="2030-06-01") == ["The price will be 12"]

    @pytest.mark.parametrize(
        "call",
        [
            lambda m: m.recall("x", bogus=1),
            lambda m: m.timeline(bogus=1),
            lambda m: m.recall("x", kind="dream"),
            lambda m: m.recall("x", weights=[1, 2]),
            lambda m: m.recall("x", expand=5),
            lambda m: m.recall("x", timeframe=5),
            lambda m: m.recall("x", timeframe=("2026-01-01",)),
            lambda m: m.recall("x", include_superseded="yes"),
            lambda m: m.remember("x", bogus=1),
            lambda m: m.relate(5, 6),
            lambda m: m.session(b"x"),
            lambda m: m.import_records(["x"]),
            lambda m: m.remember_many([5]),
        ],
    )
    def test_a_slip_gets_a_sentence_of_ours(self, memories: Memories, call: Any) -> None:
        with pytest.raises(InvalidInput):
            call(memories)

    def test_weighted_scores_add_up(self, memories: Memories) -> None:
        memories.remember("Port 8080", created_at=NOON - timedelta(days=9), sector="reflective")
        hit = memories.recall("port 8080", fusion="weighted")[0]
        why = hit.why
        assert why.keyword is not None
        assert why.semantic is not None
        parts = why.keyword.share + why.semantic.share + sum(part.value for part in why.added)
        assert why.base == pytest.approx(parts)
        assert [part.name for part in why.added] == ["salience", "recency"]
        assert hit.score == pytest.approx(why.base * np.prod([each.value for each in why.multipliers]))


class TestOrder:
    """What saturates must not turn the order round."""

    @pytest.fixture
    def memories(self, open_memories: OpenMemories) -> Memories:
        memories = open_memories()
        filler = [f"filler number {n} about nothing at all" for n in range(200)]
        memories.remember_many(filler)
        memories.remember("pool pool timeout timeout 503", created_at=NOON - timedelta(days=9))
        memories.remember("pool timeout, then something else entirely", created_at=NOON - timedelta(days=5))
        memories.remember("a pool in the garden of the hotel", created_at=NOON - timedelta(days=1))
        return memories

    @pytest.mark.parametrize(
        "options",
        [
            {"fusion": "fallback", "threshold": 1.0},
            {"fusion": "rerank", "mode": "keyword"},
            {"fusion": "weighted", "weights": {"keyword": 50, "salience": 0, "recency": 0}},
            {"fusion": "rrf", "mode": "keyword"},
        ],
    )
    def test_the_best_by_words_comes_first(self, memories: Memories, options: dict[str, Any]) -> None:
        found = contents(memories, "pool timeout 503", **options)
        assert found[0] == "pool pool timeout timeout 503"
        assert found.index("pool timeout, then something else entirely") < found.index(
            "a pool in the garden of the hotel"
        )

    def test_factors_reorder_only_what_answers(self, memories: Memories) -> None:
        plain = set(contents(memories, "pool timeout 503", limit=3))
        assert set(contents(memories, "pool timeout 503", limit=3, rerank="recency")) == plain

    def test_a_word_that_nobody_used_is_said_to_be_unknown(self, memories: Memories) -> None:
        assert "any of these words" in memories.recall("xylophone").notes[0]
        assert memories.recall("pool").notes == ()
