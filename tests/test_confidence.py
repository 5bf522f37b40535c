"""How sure a recall is: an agent must be able to say that it does not know."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput, Memories
from recollect.ranking.confidence import STRONG, WEAK, Signs, ahead, level, likelihood

from .conftest import OpenMemories

SUBJECTS = (
    "harbour", "bakery", "orchard", "library", "tunnel", "glacier", "violin", "lantern", "compass", "meadow",
    "kettle", "saddle", "mirror", "ladder", "anchor", "pillow", "rocket", "canyon", "island", "castle",
    "pepper", "velvet", "copper", "marble", "walrus",
)  # fmt: skip
ANSWERED = "Who repaired the old copper near the station in spring?"
UNANSWERED = "Which tax rate applies to software licences sold abroad?"


@pytest.fixture
def memories(open_memories: OpenMemories) -> Memories:
    memories = open_memories()
    memories.remember_many(
        f"Worker {number} repaired the old {subject} near the station in spring"
        for number, subject in enumerate(SUBJECTS)
    )
    return memories


def test_an_answer_that_is_there_is_found_with_confidence(memories: Memories) -> None:
    found = memories.recall(ANSWERED)
    assert "copper" in found[0].memory.content
    assert (found.confidence, found.likelihood >= STRONG) == ("strong", True)


def test_what_a_memory_is_labelled_with_counts_as_told(memories: Memories) -> None:
    """By its tags, files and headings it is found; so whoever asks in these words is answered."""
    memories.remember("Margherita chose it on Monday", tags=["quartz"], files=["src/ledger/rates.py"])
    memories.ingest("# Beekeeping\n\n## Swarms\n\nThey leave with the old queen in May.", name="bees.md")
    for question in ("quartz", "ledger rates", "beekeeping swarms"):
        found = memories.recall(question, mode="keyword", include_documents=True)
        assert found.confidence == "strong", question


def test_the_title_of_a_document_counts_as_told_and_its_name_does_not(memories: Memories) -> None:
    """By its title a passage is found; by the name of its file nothing is."""
    memories.ingest("---\ntitle: Beekeeping almanac\n---\n\nThey swarm in May.", name="a.md")
    memories.ingest("# Overview\n\nThe deadline is on Friday.", name="billing/refund/policy.md")
    by_title = memories.recall("beekeeping almanac", mode="keyword", include_documents=True)
    by_name = memories.recall("billing refund policy deadline", mode="keyword", include_documents=True)
    assert by_title.confidence == "strong"
    assert len(by_name) == 1 and by_name.confidence != "strong"


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_what_nobody_ever_told_is_not_found(memories: Memories, mode: str) -> None:
    found = memories.recall(UNANSWERED, mode=mode)  # type: ignore[arg-type]
    assert (found.confidence, found.likelihood < WEAK) == ("none", True)


def test_the_hits_do_not_depend_on_how_sure_it_is(memories: Memories) -> None:
    assert len(memories.recall(UNANSWERED)) == 10


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_confidence_is_the_same_however_many_are_asked_for(memories: Memories, limit: int) -> None:
    whole = memories.recall(ANSWERED, limit=20, reinforce=False)
    few = memories.recall(ANSWERED, limit=limit, reinforce=False)
    assert few.likelihood == pytest.approx(whole.likelihood)


def test_less_than_the_confidence_asked_for_gives_nothing_and_counts_as_no_use(memories: Memories) -> None:
    found = memories.recall(UNANSWERED, min_confidence="weak")
    assert list(found) == []
    assert "nothing was found with weak confidence" in found.notes
    assert len(memories.recall(ANSWERED, min_confidence="strong", limit=1)) == 1
    memories.stats()
    ids = [preview.id for preview in memories.timeline(limit=30)]
    used = [memory.content for memory in memories.get(ids) if memory.access_count]
    assert len(used) == 1 and "copper" in used[0]


def test_an_unknown_level_is_refused(memories: Memories) -> None:
    with pytest.raises(InvalidInput, match="min_confidence"):
        memories.recall(ANSWERED, min_confidence="certain")  # type: ignore[arg-type]


def test_an_empty_store_knows_nothing(open_memories: OpenMemories) -> None:
    found = open_memories().recall(ANSWERED)
    assert (found.confidence, found.likelihood) == ("none", 0.0)


def test_in_a_small_store_words_decide(open_memories: OpenMemories) -> None:
    memories = open_memories()
    memories.remember("The API listens on port 8080")
    memories.remember("We deploy on Fridays")
    assert memories.recall("Which port does the API listen on?").confidence == "strong"
    assert memories.recall("Who painted the walrus?").confidence == "none"


def test_what_is_found_by_its_time_alone_is_found(memories: Memories) -> None:
    assert memories.recall("today").confidence == "strong"


def test_a_prompt_is_told_that_the_answer_may_not_be_known(memories: Memories) -> None:
    told, untold = memories.context(UNANSWERED), memories.context(ANSWERED)
    assert told.confidence == "none"
    assert "the answer may not be known" in told.text
    assert untold.confidence == "strong"
    assert "may not" not in untold.text


SIGN = st.none() | st.floats(-10, 10)


@given(SIGN, SIGN, SIGN)
def test_the_likelihood_is_one(covered: float | None, ahead: float | None, likeness: float | None) -> None:
    value = likelihood(Signs(covered, ahead, likeness))
    assert 0 <= value <= 1 and math.isfinite(value)
    assert level(value) in ("strong", "weak", "none")


@given(st.floats(0, 0.9), st.floats(0.01, 0.1))
def test_more_of_any_sign_is_more_likely(sign: float, more: float) -> None:
    signs = Signs(sign, sign, sign)
    for name in Signs._fields:
        assert likelihood(signs._replace(**{name: sign + more})) > likelihood(signs)


def test_among_few_memories_being_ahead_says_nothing() -> None:
    assert ahead([1.0, 0.1], candidates=19) is None
    assert ahead([1.0, 0.1], candidates=20) == 1.0
    assert ahead([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], candidates=20) == pytest.approx(0.4)
