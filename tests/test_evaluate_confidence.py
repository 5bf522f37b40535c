"""Questions that nothing answers: how they are read and asked, and what is said of confidence with them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect.errors import InvalidInput
from recollect.evaluate import abstaining, metrics, reading
from recollect.evaluate.abstaining import Level, Point
from recollect.evaluate.filling import Clock, fingerprint
from recollect.evaluate.metrics import Estimate
from recollect.evaluate.report import report, tables
from recollect.evaluate.running import Answer, Outcome, Result, Setting, evaluate, joined
from recollect.evaluate.sets import EvalSet, sampled
from recollect.memories import Memories
from recollect.types import CONFIDENCES, Confidence
from tests.test_evaluate import at, longmemeval, small_set

KEYWORD = Setting("keyword")
IN_VAIN = [
    {"id": "v1", "text": "who feeds the crocodile?", "scope": "zoo", "answerable": False},
    {"id": "v2", "text": "what do oysters eat?", "scope": "zoo", "answerable": False, "category": "food"},
    {"id": "v3", "text": "is the walrus of the museum old?", "scope": "museum", "answerable": False},
]


def with_unanswerable(folder: Path, *more: dict[str, Any]) -> Path:
    """The small set, and questions that are known to have no answer in it."""
    small_set(folder)
    with (folder / "queries.jsonl").open("a") as questions:
        questions.writelines(json.dumps(record) + "\n" for record in (*IN_VAIN, *more))
    return folder


def measured(whole: EvalSet, file: Path) -> Result:
    def opened(clock: Clock) -> Memories:
        return recollect.open(file, embedder="hash", clock=clock)

    return evaluate(whole, [KEYWORD], opened, mark=fingerprint(whole.documents, "hash"), keep=True)


# reading


def test_a_folder_says_which_questions_have_no_answer(tmp_path: Path) -> None:
    certain = {"id": "q8", "text": "who knows?", "answerable": True}
    unknown = {"id": "q9", "text": "who cares?", "answerable": None}
    found = reading.read(with_unanswerable(tmp_path / "small", certain, unknown))
    assert [each.id for each in found.questions] == ["q1", "q2", "q3"]
    assert [(each.id, each.scope, each.category) for each in found.unanswerable] == [
        ("v1", "zoo", ""),
        ("v2", "zoo", "food"),
        ("v3", "museum", ""),
    ]
    assert found.relevance.keys() == {"q1", "q2", "q3"}
    assert found.notes == ("questions left out, since no document answers them: 3",)


def test_what_can_t_be_meant_is_refused(tmp_path: Path) -> None:
    folder = with_unanswerable(tmp_path / "small")
    with (folder / "qrels.tsv").open("a") as relevance:
        relevance.write("v1\ta1\t0\n")
    assert len(reading.read(folder).unanswerable) == 3
    with (folder / "qrels.tsv").open("a") as relevance:
        relevance.write("v2\ta1\t1\n")
    with pytest.raises(InvalidInput, match="'v2' is not answerable, but has an answer"):
        reading.read(folder)
    lost = {"id": "v9", "text": "where?", "scope": "sea", "answerable": False}
    with pytest.raises(InvalidInput, match="'v9' is asked of 'sea', which has no documents"):
        reading.read(with_unanswerable(tmp_path / "lost", lost))


def haystacks(path: Path, *ids: str) -> Path:
    """A file of LongMemEval with these questions; a text of each haystack names the question."""
    samples = []
    for id in ids:
        sample = longmemeval(question_id=id, answer="red", answer_session_ids=["answer_1"])
        turns = [[{"role": "user", "content": f"I bought a bike, {id}", "has_answer": True}], []]
        samples.append(sample | {"haystack_sessions": turns})
    path.write_text(json.dumps(samples))
    return path


def test_longmemeval_s_questions_without_an_answer_have_their_haystacks_apart(tmp_path: Path) -> None:
    found = reading.read(haystacks(tmp_path / "longmemeval_s.json", "q1", "q2_abs", "q3"))
    assert [each.id for each in found.questions] == ["q1", "q3"]
    assert found.scopes == ("q1", "q3")
    assert found.unanswerable == () and found.notes == ()
    apart = found.apart
    assert apart is not None
    assert (apart.questions, apart.relevance) == ((), {})
    assert [(each.id, each.scope, each.session) for each in apart.documents] == [
        ("q2_abs:0:0", "q2_abs", "answer_1")
    ]
    (question,) = apart.unanswerable
    assert (question.id, question.scope, question.category) == ("q2_abs", "q2_abs", "single-session-user")
    assert question.asked_at == at("2023-05-30T23:40")


def test_a_sample_draws_the_same_questions_as_without_unanswerable_ones(tmp_path: Path) -> None:
    whole = reading.read(with_unanswerable(tmp_path / "small"))
    bare = reading.read(small_set(tmp_path / "bare"))
    for number in (1, 2):
        found = sampled(whole, number)
        assert found == sampled(whole, number)
        assert (found.questions, found.documents) == (
            sampled(bare, number).questions,
            sampled(bare, number).documents,
        )
        assert len(found.unanswerable) == number
        assert {each.scope for each in found.unanswerable} <= set(found.scopes)
        assert found.notes[-1] == f"questions without an answer asked, as a sample: {number} of 3"
    assert sampled(whole, 3) is whole


def test_a_sample_fills_only_the_haystacks_that_it_needs(tmp_path: Path) -> None:
    ids = ("q1", "q2", "q3", "a_abs", "b_abs", "c_abs")
    found = sampled(reading.read(haystacks(tmp_path / "longmemeval_s.json", *ids)), 2)
    assert found.apart is not None
    assert (len(found.questions), len(found.documents)) == (2, 2)
    assert len(found.apart.unanswerable) == 2
    assert set(found.apart.scopes) == {each.id for each in found.apart.unanswerable}
    assert found.notes == (
        "questions asked, as a sample: 2 of 3",
        "questions without an answer asked, as a sample: 2 of 3",
    )


# asking


def test_they_are_asked_like_the_others_and_count_in_no_measure(tmp_path: Path) -> None:
    bare = measured(reading.read(small_set(tmp_path / "small")), tmp_path / "bare.db")
    found = measured(reading.read(with_unanswerable(tmp_path / "small")), tmp_path / "more.db")
    assert [ask.question.id for ask in found.unanswerable] == ["v1", "v2", "v3"]
    (outcome,) = found.outcomes
    assert "a1" in outcome.unanswerable[1].ranked
    assert outcome.unanswerable[2].ranked == ("4",)
    assert [answer.scores for answer in outcome.unanswerable] == [{}] * 3
    assert outcome.answers == bare.outcomes[0].answers
    ours, theirs = (report([each]).sets[0] for each in (found, bare))
    assert ours.settings[0].overall == theirs.settings[0].overall
    assert ours.settings[0].categories == theirs.settings[0].categories
    assert (ours.asked, ours.questions) == (theirs.asked, theirs.questions)
    assert [each.id for each in ours.unanswerable] == ["v1", "v2", "v3"]


def test_the_likelihood_and_level_are_those_of_the_recall(tmp_path: Path) -> None:
    whole = reading.read(with_unanswerable(tmp_path / "small"))
    found = measured(whole, tmp_path / "more.db")
    for ask, answer in zip(found.unanswerable, found.outcomes[0].unanswerable, strict=True):
        with recollect.open(tmp_path / "more.db", embedder="hash", clock=Clock(ask.at)) as memories:
            again = memories.recall(
                ask.question.text, limit=10, mode="keyword", reinforce=False, namespace=ask.namespaces
            )
        assert (answer.likelihood, answer.confidence) == (again.likelihood, again.confidence)
    of, (outcome,) = report([found]).sets[0], found.outcomes
    for asked, answers in ((of.asked, outcome.answers), (of.unanswerable, outcome.unanswerable)):
        assert [each.likelihood for each in asked] == [{"keyword": one.likelihood} for one in answers]
        assert any(one.likelihood > 0 for one in answers)


def test_haystacks_apart_change_nothing_for_the_other_questions(tmp_path: Path) -> None:
    bare = reading.read(haystacks(tmp_path / "set.json", "q1", "q3"))
    whole = reading.read(haystacks(tmp_path / "set.json", "q1", "q2_abs", "q3"))
    assert whole.apart is not None
    before = measured(bare, tmp_path / "bare.db")
    apart = measured(whole.apart, tmp_path / "apart.db")
    found = joined(measured(whole, tmp_path / "whole.db"), apart)
    assert found.outcomes[0].answers == before.outcomes[0].answers
    assert found.documents == before.documents == 2
    assert found.outcomes[0].unanswerable[0].ranked == ("q2_abs:0:0",)
    assert found.notes == ("documents of questions without an answer, in a store of their own: 1",)


# what is said of confidence


def answer(level: Confidence, likelihood: float, found: float | None = None) -> Answer:
    """To a question whose answer was found (1), was not (0), or does not exist (None)."""
    scores = {} if found is None else dict.fromkeys(metrics.MEASURES, found)
    return Answer((), scores, level, likelihood)


OUTCOME = Outcome(
    KEYWORD,
    (
        answer("strong", 0.95, 1.0),
        answer("strong", 0.9, 1.0),
        answer("strong", 0.8, 0.0),
        answer("weak", 0.5, 1.0),
    ),
    1.0,
    unanswerable=(
        answer("strong", 0.9),
        answer("weak", 0.4),
        answer("none", 0.1),
        answer("none", 0.0),
        answer("none", 0.0),
    ),
)


def test_levels_with_worked_numbers() -> None:
    strong, weak, none = abstaining.sureness(OUTCOME).levels
    assert (strong.level, strong.answerable, strong.unanswerable) == ("strong", 3, 1)
    assert strong.measures["any@5"].value == pytest.approx(2 / 3)
    assert strong.measures["any@5"].low < 2 / 3 < strong.measures["any@5"].high
    assert weak == Level("weak", 1, 1, {"any@5": Estimate(1.0, 1.0, 1.0)})
    assert none == Level("none", 0, 3, {})


def test_the_curve_with_worked_numbers() -> None:
    curve = {point.threshold: point for point in abstaining.sureness(OUTCOME).curve}
    assert list(curve) == [number / 20 for number in range(21)]
    assert curve[0.0] == Point(0.0, 1.0, 0.75, 1.0)
    assert curve[0.05] == Point(0.05, 1.0, 0.75, 0.6)
    assert curve[0.55] == Point(0.55, 0.75, 2 / 3, 0.2)
    assert curve[0.9] == Point(0.9, 0.5, 1.0, 0.2)
    assert curve[1.0] == Point(1.0, 0.0, None, 0.0)


def test_the_auc_compares_what_was_found_with_what_nothing_answers() -> None:
    found = abstaining.sureness(OUTCOME).auc
    assert found is not None
    assert found.value == pytest.approx((5 + 4.5 + 4) / 15)
    assert found.low < found.value < found.high <= 1.0
    assert abstaining.sureness(OUTCOME).auc == found


def test_without_unanswerable_questions_there_are_levels_and_half_a_curve() -> None:
    found = abstaining.sureness(replace(OUTCOME, unanswerable=()))
    assert found.auc is None
    assert [level.answerable for level in found.levels] == [3, 1, 0]
    assert {point.misled for point in found.curve} == {None}
    nothing = replace(OUTCOME, answers=(answer("strong", 0.9, 0.0),))
    assert abstaining.sureness(nothing).auc is None


LIKELIHOODS = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(LIKELIHOODS, LIKELIHOODS)
def test_the_auc_is_the_share_of_pairs_in_order(higher: list[float], lower: list[float]) -> None:
    pairs = list(product(higher, lower))
    expected = sum((one > other) + (one == other) / 2 for one, other in pairs) / len(pairs)
    found = metrics.auc(higher, lower)
    assert found is not None
    assert found.value == pytest.approx(expected)
    assert 0.0 <= found.low <= found.high <= 1.0


@pytest.mark.parametrize(
    ("higher", "lower"),
    [([1.0] * 50 + [0.5] * 50, [0.5] * 100), ([0.5] * 100, [0.5] * 50 + [0.0] * 50)],
)
def test_both_sides_of_the_auc_are_resampled(higher: list[float], lower: list[float]) -> None:
    """Where one side is all the same, it is a mean over the other: of fifty 1 and fifty 0.5."""
    found = metrics.auc(higher, lower)
    assert found is not None
    assert found.value == 0.75
    error = 0.25 / 10
    assert (found.low, found.high) == pytest.approx((0.75 - 1.96 * error, 0.75 + 1.96 * error), abs=0.01)


@pytest.mark.parametrize("level", CONFIDENCES)
def test_every_level_is_shown_with_its_share(tmp_path: Path, level: Confidence) -> None:
    found = measured(reading.read(with_unanswerable(tmp_path / "small")), tmp_path / "more.db")
    of = report([found]).sets[0]
    table = next(each for each in tables(of) if each.title == "questions by confidence")
    assert table.headers == ("confidence", "questions", "any@5", "unanswerable")
    row = dict(zip(table.headers, table.rows[CONFIDENCES.index(level)], strict=True))
    got = [answer.confidence for answer in found.outcomes[0].answers].count(level)
    in_vain = [answer.confidence for answer in found.outcomes[0].unanswerable].count(level)
    assert row["confidence"] == f"keyword, {level}"
    assert row["questions"] == f"{got} ({got / 3:.0%})"
    assert row["unanswerable"] == f"{in_vain} ({in_vain / 3:.0%})"
    assert (row["any@5"] == "–") == (got == 0)
