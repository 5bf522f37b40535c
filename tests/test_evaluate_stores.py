"""Measuring a store: what is filled, where and when questions are asked, what is kept, what is summed up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.errors import InvalidInput
from recollect.evaluate import filling, probes, reading
from recollect.evaluate.filling import Clock, fingerprint
from recollect.evaluate.report import report
from recollect.evaluate.running import OpenStore, Result, Setting, evaluate, evaluate_own, setting
from recollect.evaluate.sets import Document, EvalSet, Question, assemble
from recollect.memories import Memories
from tests.test_evaluate import TEXTS, at, small_set

KEYWORD, HYBRID = Setting("keyword"), Setting("hybrid")


@pytest.fixture
def open_store(tmp_path: Path) -> OpenStore:
    def opened(clock: Clock) -> Memories:
        return recollect.open(tmp_path / "eval.db", embedder="hash", clock=clock)

    return opened


Measure = Callable[..., Result]


@pytest.fixture
def measured(open_store: OpenStore) -> Measure:
    def run(whole: EvalSet, *of: Setting, keep: bool = True, mark: str | None = None) -> Result:
        given = mark or fingerprint(whole.documents, "hash")
        return evaluate(whole, of or (KEYWORD,), open_store, mark=given, keep=keep)

    return run


def ranked(result: Result) -> list[tuple[str, ...]]:
    return [answer.ranked for answer in result.outcomes[0].answers]


def test_every_question_is_asked_within_its_scope(tmp_path: Path, measured: Measure) -> None:
    result = measured(reading.read(small_set(tmp_path / "small")), KEYWORD, HYBRID)
    assert ranked(result)[1] == ("4",)
    assert {id for answer in ranked(result)[::2] for id in answer} == {"a1", "a2", "a3"}
    assert [outcome.setting for outcome in result.outcomes] == [KEYWORD, HYBRID]
    assert result.outcomes[0].answers[2].scores["MRR"] == 1.0
    assert (result.documents, result.scopes, result.embedder) == (4, 2, "hash")


def test_a_question_without_a_scope_is_asked_of_all(measured: Measure) -> None:
    documents = [Document("a", "A walrus here", scope="one"), Document("b", "A walrus there", scope="two")]
    whole = assemble("all", documents, [Question("q", "walrus")], {"q": {"b": 1}})
    assert {id for answer in ranked(measured(whole)) for id in answer} == {"a", "b"}


def test_a_document_that_was_merged_is_found_with_the_one_that_holds_it(measured: Measure) -> None:
    documents = [
        Document("first", "The walrus eats oysters"),
        Document("again", "The walrus eats oysters "),
        Document("said", "The walrus eats oysters", speaker="Ada"),
        *(Document(f"other-{number}", f"Nothing to see here, number {number}") for number in range(120)),
    ]
    documents += [Document(f"copy-{number}", documents[3].text) for number in range(60)]
    questions = [Question("q1", "walrus"), Question("q2", "walrus oysters")]
    relevance = {"q1": {"again": 1}, "q2": {"first": 1, "again": 3, "said": 1}}
    whole = assemble("copies", documents, questions, relevance)
    result = measured(whole)
    assert set(ranked(result)[0]) == {"first", "said"}
    assert [dict(ask.grades) for ask in result.asks] == [{"first": 1}, {"first": 3, "said": 1}]
    assert result.outcomes[0].answers[1].scores["all@5"] == 1.0
    again = measured(whole)
    assert again.reused
    assert [ask.grades for ask in again.asks] == [ask.grades for ask in result.asks]


def test_a_question_is_asked_at_its_own_time(measured: Measure) -> None:
    documents = [
        Document("early", "We mended the roof", speaker="Ada", created_at=at("2020-03-03T10:00")),
        Document("late", "We mended the roof", speaker="Ada", created_at=at("2023-06-07T10:00")),
    ]
    questions = [
        Question("then", "who mended the roof last week?", asked_at=at("2020-03-10T10:00")),
        Question("now", "who mended the roof last week?", asked_at=at("2023-06-14T10:00")),
        Question("whenever", "who mended the roof today?"),
    ]
    whole = assemble("times", documents, questions, {question.id: {"early": 1} for question in questions})
    assert [answer[0] for answer in ranked(measured(whole))] == ["early", "late", "late"]


def test_a_filled_store_is_used_again_while_the_documents_are_the_same(
    tmp_path: Path, measured: Measure, open_store: OpenStore
) -> None:
    whole = reading.read(small_set(tmp_path / "small"))
    assert [measured(whole).reused, measured(whole).reused] == [False, True]
    other = assemble("small", whole.documents[:3], whole.questions[::2], whole.relevance)
    assert not measured(other).reused
    with open_store(Clock()) as memories:
        assert all(count == 0 for name, count in memories.namespaces().items() if "museum" in name)
    assert not measured(whole).reused
    with open_store(Clock()) as memories:
        namespace = next(name for name, count in memories.namespaces().items() if "zoo" in name and count)
        memories.in_namespace(namespace).forget("a1")
    assert [measured(whole).reused, measured(whole).reused] == [False, True]


def test_what_is_not_kept_is_forgotten(tmp_path: Path, measured: Measure, open_store: OpenStore) -> None:
    with open_store(Clock()) as memories:
        memories.remember("My own memory")
    measured(reading.read(small_set(tmp_path / "small")), keep=False)
    with open_store(Clock()) as memories:
        assert {name: count for name, count in memories.namespaces().items() if count} == {"default": 1}


def test_the_fingerprint_is_that_of_documents_and_embedder() -> None:
    documents = [Document("a", "text"), Document("b", "text", scope="s")]
    assert fingerprint(documents, "hash") == fingerprint(documents, "hash")
    assert fingerprint(documents, "hash") != fingerprint(documents, "none")
    assert fingerprint(documents, "hash") != fingerprint(documents[:1], "hash")
    assert filling.newest(documents) == filling.WITHOUT_TIME


def test_settings_have_names() -> None:
    for each in (KEYWORD, Setting("hybrid", "rrf"), Setting("auto", "fallback")):
        assert setting(each.name) == each
    for wrong in ("", "magic", "hybrid/magic", "mix"):
        with pytest.raises(InvalidInput, match="no setting"):
            setting(wrong)


def test_wins_and_losses_are_counted_question_by_question(tmp_path: Path, measured: Measure) -> None:
    documents = [
        Document("a", "The cache is warm"),
        Document("b", "Warm water for the walrus"),
        Document("c", "Nothing of the kind is said in this one"),
    ]
    questions = [Question(f"q{number}", text) for number, text in enumerate(("cache", "walrus", "zebra"))]
    whole = assemble("compared", documents, questions, {"q0": {"a": 1}, "q1": {"b": 1}, "q2": {"c": 1}})
    result = measured(whole, KEYWORD, Setting("semantic"))
    keyword, semantic = ([a.scores["nDCG@10"] for a in outcome.answers] for outcome in result.outcomes)
    assert keyword == [1.0, 1.0, 0.0]
    compared = report([result], KEYWORD).sets[0].comparisons[0]
    wins = sum(new > old for new, old in zip(semantic, keyword, strict=True))
    losses = sum(new < old for new, old in zip(semantic, keyword, strict=True))
    assert (compared.wins, compared.losses, compared.ties) == (wins, losses, 3 - wins - losses)
    assert compared.difference.value == pytest.approx((sum(semantic) - sum(keyword)) / 3)
    assert report([result]).sets[0].comparisons == ()


def test_a_store_of_ones_own_is_probed_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with recollect.open(path, embedder="hash") as memories:
        for id, text in TEXTS:
            memories.remember(text, id=id, created_at="2026-03-01")
        memories.remember("An older text that has been superseded by something newer since", id="old")
        memories.supersede("old", "m1")
        memories.remember("A text that nobody wants to see any more, hidden away for now", id="hidden")
        memories.delete("hidden")
        before = list(memories.export_records())

    def opened(clock: Clock) -> Memories:
        return recollect.open(path, embedder="hash", clock=clock)

    first = evaluate_own([KEYWORD, HYBRID], opened, number=10)
    assert {id for ask in first.asks for id in ask.grades} == {"m1", "m2", "m3", "m5"}
    assert {ask.question.category for ask in first.asks} == set(probes.KINDS)
    found = report([first]).sets[0]
    assert found.settings[0].overall.measures["any@1"].value > 0.8
    second = report([evaluate_own([KEYWORD, HYBRID], opened, number=10)]).sets[0]
    assert second.asked == found.asked
    with recollect.open(path, embedder="hash") as memories:
        assert list(memories.export_records()) == before
