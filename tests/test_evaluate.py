"""What is measured with: the measures with worked numbers, the three forms of a set, and probes."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evaluate import metrics, probes, reading
from recollect.evaluate.sets import Document, Question, assemble, sampled


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# measures

RANKED = ["b", "x", "a", "y", "z", "c"]
GRADES = {"a": 3, "b": 2, "c": 1, "judged": 0}


def test_the_measures_of_a_ranking_with_worked_numbers() -> None:
    found = metrics.measure(RANKED, GRADES)
    assert list(found) == list(metrics.MEASURES)
    assert (found["any@1"], found["any@5"]) == (1.0, 1.0)
    assert (found["all@1"], found["all@5"], found["all@10"]) == (0.0, 0.0, 1.0)
    assert (found["recall@1"], found["recall@5"], found["recall@10"]) == pytest.approx((1 / 3, 2 / 3, 1.0))
    gained = 2 / 1 + 3 / 2 + 1 / 2.807354922
    best = 3 / 1 + 2 / 1.584962501 + 1 / 2
    assert found["nDCG@10"] == pytest.approx(gained / best)
    assert found["nDCG@10"] == pytest.approx(0.8098, abs=1e-4)
    assert found["MRR"] == 1.0


@pytest.mark.parametrize(("rank", "expected"), [(1, 1.0), (2, 0.5), (4, 0.25), (10, 0.1), (11, 0.0)])
def test_the_first_relevant_counts_by_its_rank(rank: int, expected: float) -> None:
    ranked = [f"x{number}" for number in range(1, 12)]
    assert metrics.measure(ranked, {f"x{rank}": 1})["MRR"] == expected


def test_more_relevant_than_places_can_never_all_be_found() -> None:
    assert metrics.all_at(1, ["a", "b"], {"a": 1, "b": 1}) == 0.0
    assert metrics.measure([], {"a": 1}) == dict.fromkeys(metrics.MEASURES, 0.0)


IDS = st.lists(st.sampled_from([f"d{number}" for number in range(15)]), unique=True, max_size=10)
JUDGED = st.dictionaries(
    st.sampled_from([f"d{number}" for number in range(15)]), st.integers(0, 3), min_size=1
)


@settings(deadline=None, derandomize=True)
@given(IDS, JUDGED)
def test_measures_lie_within_0_and_1_and_grow_with_k(ranked: list[str], grades: dict[str, int]) -> None:
    found = metrics.measure(ranked, grades)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    for kind in ("any", "all", "recall"):
        assert found[f"{kind}@1"] <= found[f"{kind}@5"] <= found[f"{kind}@10"]
    for k in metrics.CUTS:
        assert found[f"all@{k}"] <= found[f"recall@{k}"] <= found[f"any@{k}"]


@settings(deadline=None, derandomize=True)
@given(JUDGED)
def test_the_best_order_is_worth_1(grades: dict[str, int]) -> None:
    best = sorted(grades, key=lambda id: -grades[id])
    relevant = sum(grade > 0 for grade in grades.values())
    assert metrics.ndcg_at(10, best, grades) == pytest.approx(1.0 if relevant else 0.0)


def test_intervals_are_those_of_the_bootstrap_and_always_the_same() -> None:
    rows = [{"any@1": float(number % 2)} for number in range(100)]
    found = metrics.estimates(rows)["any@1"]
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05), abs=0.02)
    assert metrics.estimates(rows)["any@1"] == found


def test_differences_are_paired() -> None:
    before = [number / 100 for number in range(100)]
    after = [value + 0.01 for value in before]
    found = metrics.difference(after, before)
    assert (found.value, found.low, found.high) == pytest.approx((0.01, 0.01, 0.01))


# sets in files


def write_set(
    folder: Path,
    documents: list[dict[str, Any]],
    questions: list[dict[str, Any]],
    relevance: list[tuple[str, str, int]],
) -> Path:
    folder.mkdir(exist_ok=True)
    for name, records in (("corpus.jsonl", documents), ("queries.jsonl", questions)):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    lines = ["query_id\tdoc_id\trelevance", *("\t".join(map(str, line)) for line in relevance)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder


def small_set(folder: Path) -> Path:
    """Two scopes that know nothing of each other, a graded question, and one that nothing answers."""
    documents: list[dict[str, Any]] = [
        {
            "id": "a1",
            "text": "The walrus eats oysters at noon",
            "scope": "zoo",
            "timestamp": "2023-05-08T13:56",
        },
        {
            "id": "a2",
            "text": "Oysters are delivered on Monday",
            "scope": "zoo",
            "session": "s",
            "speaker": "Ada",
        },
        {"id": "a3", "text": "Tickets cost nine euros", "scope": "zoo"},
        {"id": 4, "text": "The walrus of the museum is stuffed", "scope": "museum"},
    ]
    questions: list[dict[str, Any]] = [
        {"id": "q1", "text": "who eats oysters?", "scope": "zoo", "category": "food"},
        {"id": "q2", "text": "walrus", "scope": "museum", "category": "animals"},
        {"id": "q3", "text": "what is the price of tickets?", "scope": "zoo", "category": "money"},
        {"id": "q4", "text": "who swept?", "scope": "zoo"},
    ]
    relevance = [("q1", "a1", 2), ("q1", "a2", 1), ("q2", "4", 1), ("q3", "a3", 1), ("q4", "a3", 0)]
    return write_set(folder, documents, questions, [*relevance, ("other-split", "a1", 1)])


def test_a_folder_is_read(tmp_path: Path) -> None:
    found = reading.read(small_set(tmp_path / "small"))
    assert (found.name, len(found.documents), found.scopes) == ("small", 4, ("zoo", "museum"))
    assert found.documents[0].created_at == at("2023-05-08T13:56")
    assert (found.documents[1].session, found.documents[1].speaker) == ("s", "Ada")
    assert [question.id for question in found.questions] == ["q1", "q2", "q3"]
    assert found.relevance == {"q1": {"a1": 2, "a2": 1}, "q2": {"4": 1}, "q3": {"a3": 1}}
    assert found.notes == ("questions left out, since no document answers them: 1",)


@pytest.mark.parametrize(
    ("file", "line", "trouble"),
    [
        ("corpus.jsonl", "{", r"corpus\.jsonl, line 5: it is not JSON"),
        ("corpus.jsonl", "[1]", r"corpus\.jsonl, line 5: it is not a JSON object"),
        ("corpus.jsonl", '{"id": "b"}', r"line 5: Its text must be a string, not NoneType"),
        ("corpus.jsonl", '{"id": "b", "text": " "}', r"line 5: Its text is empty"),
        ("corpus.jsonl", '{"text": "b"}', r"line 5: Its id must be a string"),
        ("corpus.jsonl", '{"id": "a1", "text": "b"}', r"line 5: the id 'a1' came before"),
        ("corpus.jsonl", '{"id": "b", "text": "b", "timestamp": "soon"}', r"line 5: 'soon'"),
        ("queries.jsonl", '{"id": "q9", "text": 3}', r"queries\.jsonl, line 5: Its text must be a string"),
        ("queries.jsonl", '{"id": "q9", "text": "a", "answerable": 0}', r"line 5: Its answerable is 0"),
        ("queries.jsonl", "\ud800", r"queries\.jsonl, line 5: it is not UTF-8"),
        ("qrels.tsv", "q1 a1 1", r"qrels\.tsv, line 8: it must have three fields"),
        ("qrels.tsv", "q1\ta1\tvery", r"line 8: the relevance 'very' is not a whole number"),
        ("qrels.tsv", "q1\tnowhere\t1", r"line 8: there is no document 'nowhere'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, file: str, line: str, trouble: str) -> None:
    folder = small_set(tmp_path / "small")
    with (folder / file).open("ab") as stream:
        stream.write(line.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidInput, match=trouble):
        reading.read(folder)


def test_a_set_that_can_t_be_measured_with_is_refused(tmp_path: Path) -> None:
    folder = small_set(tmp_path / "small")
    (folder / "qrels.tsv").write_text("query_id\tdoc_id\trelevance\n")
    with pytest.raises(InvalidInput, match="no question that any document answers"):
        reading.read(folder)
    (folder / "corpus.jsonl").write_text("\n")
    with pytest.raises(InvalidInput, match="small has no documents"):
        reading.read(folder)
    (folder / "qrels.tsv").unlink()
    with pytest.raises(InvalidInput, match=r"There is no qrels\.tsv in"):
        reading.read(folder)
    documents = [Document("a", "text", scope="here")]
    with pytest.raises(InvalidInput, match="asked of 'there', which has no documents"):
        assemble("lost", documents, [Question("q", "text", scope="there")], {"q": {"a": 1}})
    with pytest.raises(InvalidInput, match="two documents with one id"):
        assemble("twice", documents * 2, [Question("q", "text")], {"q": {"a": 1}})


@pytest.mark.parametrize(
    ("content", "trouble"),
    [
        ("[", r"set\.json, line 1: it is not JSON"),
        ("[]", "neither LoCoMo nor LongMemEval"),
        ('[{"text": "a"}]', "neither LoCoMo nor LongMemEval"),
        ('[{"conversation": {}}]', r"set\.json, sample 1: it is not as it should be \(KeyError"),
        ('[{"sample_id": "a", "conversation": {}, "qa": []}]', "set has no documents"),
        (
            '[{"sample_id": "a", "conversation": {"session_1": [], "session_1_date_time": "soon"}}]',
            "sample 1: 'soon' is not a time",
        ),
        (
            '[{"sample_id": "a", "conversation": {}, "qa": [{"question": "Why?", "category": 6}]}]',
            "sample 1: question 0 has the category 6",
        ),
        ('[{"haystack_sessions": []}]', "sample 1: it is not as it should be"),
    ],
)
def test_a_published_file_that_is_none_says_so(tmp_path: Path, content: str, trouble: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=trouble):
        reading.read(path)


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_10_date_time": "9:05 am on 1 June, 2023",
            "session_10": [{"speaker": "Ana", "dia_id": "D10:1", "text": "I moved to Lisbon"}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ana", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a dog"},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "What a dog"},
                {"speaker": "Ben", "dia_id": "D2:3", "text": " "},
            ],
        },
        "qa": [
            {"question": "Where does Ana live?", "answer": "Lisbon", "evidence": ["D10:01"], "category": 4},
            {
                "question": "Who saw a dog?",
                "answer": "Ben",
                "evidence": ["D2:1; D:2:2", "D9:9"],
                "category": 1,
            },
            {"question": "Why?", "answer": "?", "evidence": [], "category": 3},
            {
                "question": "Why did Ben move to Lisbon?",
                "evidence": ["D10:1"],
                "category": 5,
                "adversarial_answer": "for the sea",
            },
            {
                "question": "Did Ben buy the dog?",
                "answer": "No",
                "evidence": ["D2:2"],
                "category": 5,
                "adversarial_answer": "Yes",
            },
        ],
    }
]


def test_locomo_is_read_as_it_was_published(tmp_path: Path) -> None:
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps(LOCOMO))
    found = reading.read(path)
    assert [(turn.id, turn.text, turn.session) for turn in found.documents] == [
        ("conv-1:D2:1", "Look! [shares image: a photo of a dog]", "conv-1:S2"),
        ("conv-1:D2:2", "What a dog", "conv-1:S2"),
        ("conv-1:D10:1", "I moved to Lisbon", "conv-1:S10"),
    ]
    assert [turn.created_at for turn in found.documents[1:]] == [
        at("2023-05-08T13:56"),
        at("2023-06-01T09:05"),
    ]
    assert [(each.id, each.category) for each in found.questions] == [
        ("conv-1:q0", "single-hop"),
        ("conv-1:q1", "multi-hop"),
    ]
    assert found.relevance.keys() == {"conv-1:q0", "conv-1:q1"}
    assert found.relevance["conv-1:q1"] == {"conv-1:D2:1": 1, "conv-1:D2:2": 1}
    assert [(each.id, each.scope, each.category) for each in found.unanswerable] == [
        ("conv-1:q3", "conv-1", "adversarial"),
        ("conv-1:q4", "conv-1", "adversarial"),
    ]
    assert found.notes == ("questions left out, since no document answers them: 1",)


def longmemeval(**changes: Any) -> dict[str, Any]:
    turns = [
        [
            {"role": "user", "content": "I bought a red bike", "has_answer": True},
            {"role": "assistant", "content": "ok"},
        ],
        [{"role": "user", "content": "Recommend a film"}, {"role": "assistant", "content": ""}],
    ]
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which colour is my bike?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["answer_1", "other"],
        "haystack_sessions": turns,
        "answer_session_ids": ["answer_1"],
    } | changes


def test_longmemeval_is_read_as_it_was_published(tmp_path: Path) -> None:
    path = tmp_path / "longmemeval_s.json"
    unmarked = [[{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]]
    path.write_text(
        json.dumps(
            [
                longmemeval(),
                longmemeval(question_id="q2_abs"),
                longmemeval(
                    question_id="q3",
                    haystack_sessions=unmarked,
                    haystack_dates=["2023/05/20"],
                    haystack_session_ids=["answer_1"],
                ),
            ]
        )
    )
    found = reading.read(path)
    assert [(turn.id, turn.scope, turn.session, turn.speaker) for turn in found.documents[:3]] == [
        ("q1:0:0", "q1", "answer_1", "user"),
        ("q1:0:1", "q1", "answer_1", "assistant"),
        ("q1:1:0", "q1", "other", "user"),
    ]
    assert found.documents[0].created_at == at("2023-05-20T02:21")
    assert found.questions[0].asked_at == at("2023-05-30T23:40")
    assert found.questions[0].category == "single-session-user"
    assert found.relevance == {"q1": {"q1:0:0": 1}, "q3": {"q3:0:0": 1, "q3:0:1": 1}}


def test_a_sample_is_always_the_same_and_takes_only_the_scopes_it_needs(tmp_path: Path) -> None:
    whole = reading.read(small_set(tmp_path / "small"))
    one = sampled(whole, 1)
    assert one == sampled(whole, 1)
    assert len(one.questions) == len(one.relevance) == 1
    assert one.scopes == (one.questions[0].scope,)
    assert one.notes[-1] == "questions asked, as a sample: 1 of 3"
    assert sampled(whole, 3) is whole


# probes

TEXTS = [
    ("m1", "We chose PostgreSQL 17.2 for the billing service because of its row locks"),
    ("m2", "The deployment of the gateway failed on Tuesday since a certificate had expired"),
    ("m3", "我们决定把用户会话的缓存迁移到新的数据库集群上面"),
    ("m4", "too short"),
    ("m5", "The same text is here twice, so nobody could tell which was meant"),
    ("m6", "The same text is here twice, so nobody could tell which was meant"),
]


def test_probes_are_parts_of_a_text_and_always_the_same() -> None:
    made = probes.make(TEXTS, 10)
    assert made == probes.make(reversed(TEXTS), 10)
    assert {probe.memory for probe in made} == {"m1", "m2", "m3"}
    texts = dict(TEXTS)
    for probe in made:
        if probe.kind == "phrase":
            assert probe.text in texts[probe.memory]
        elif probe.kind != "misspelt":
            assert all(word in texts[probe.memory] for word in probe.text.split())
        else:
            assert probe.text not in texts[probe.memory]
            assert not Counter(probe.text) - Counter(texts[probe.memory])
    assert {probe.kind for probe in made} == set(probes.KINDS)
    assert len({probe.memory for probe in probes.make(TEXTS, 2)}) == 2


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=80)), max_size=5))
def test_probes_can_be_made_of_any_text(texts: list[tuple[str, str]]) -> None:
    assert all(probe.text.strip() for probe in probes.make(texts, 3))
