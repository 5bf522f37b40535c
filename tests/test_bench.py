"""Measuring stores: made texts, a bench from end to end, what it leaves alone and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import InvalidInput, StoreError
from recollect.evaluate import bench, load, texts
from recollect.evaluate.timing import Latency, resident_bytes
from recollect.evaluate.vectors import DIMENSIONS, WordVectors
from recollect.memories import Memories
from recollect.opening import open as open_store
from tests.test_cli import Cli

SMALL = ("bench", "--memories", "50", "--questions", "5")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


def counts(path: Path) -> dict[str, int]:
    """How many memories there are, by namespace; empty namespaces left out."""
    with open_store(path, embedder="none", create=False) as memories:
        return {name: count for name, count in memories.namespaces().items() if count}


# texts


def test_texts_are_the_same_by_seed() -> None:
    first, again, other = (list(islice(texts.made(seed), 100)) for seed in (1, 1, 2))
    assert first == again
    assert not set(first) & set(other)


def test_texts_have_eight_to_forty_words_and_things_between_them() -> None:
    made = list(islice(texts.made(1), 2_000))
    assert {len(text.split()) for text in made} == set(range(8, 41))
    words = {word for text in made for word in text.split()}
    for kind in (str.isdigit, lambda word: "_" in word, lambda word: "/" in word, lambda word: "-" in word):
        assert any(map(kind, words))


def test_words_are_distributed_as_zipf_found() -> None:
    counted = Counter(word for text in islice(texts.made(1), 5_000) for word in text.split())
    ranked = [count for _, count in counted.most_common()]
    slope = math.log(ranked[999] / ranked[9]) / math.log(1000 / 10)
    assert -1.3 < slope < -0.8
    assert ranked.count(1) > len(ranked) / 4, "many words are in one text alone"
    vocabulary = texts.vocabulary()
    assert len(vocabulary) == len(set(vocabulary)) == texts.VOCABULARY


def test_drafts_are_in_sessions_and_in_the_order_of_time() -> None:
    drafts = texts.drafts(200, namespaces=2)
    assert [draft.created_at for draft in drafts] == sorted(draft.created_at for draft in drafts)  # type: ignore[type-var]
    in_one_namespace = Counter(draft.session for draft in drafts[::2])
    assert in_one_namespace == {"session-1": 40, "session-2": 40, "session-3": 20}


def test_questions_are_of_rare_words_of_the_text_they_are_about() -> None:
    made = list(islice(texts.made(1), 1_000))
    asked = texts.questions(made, 300)
    assert asked == texts.questions(made, 300)
    frequency = Counter(word for text in made for word in text.split())
    chosen, all_words = [], []
    for number, question in asked:
        words = question.split()
        assert 4 <= len(words) <= 8
        assert all(word in made[number] for word in words)
        chosen += [frequency[word] for word in words]
        all_words += [frequency[word] for word in made[number].split()]
    assert sum(chosen) / len(chosen) < sum(all_words) / len(all_words) / 2


def test_questions_about_few_and_short_texts() -> None:
    assert {question for _, question in texts.questions(["one two", "..."], 5)} == {"one two", "..."}


def test_vectors_are_the_same_for_a_text_and_near_for_shared_words() -> None:
    vectors = WordVectors().embed(["the cache is warm", "a warm cache", "ports and walruses", "!?", ""])
    assert vectors.shape == (5, DIMENSIONS)
    assert (
        vectors == WordVectors().embed(["the cache is warm", "a warm cache", "ports and walruses", "!?", ""])
    ).all()
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    assert abs((vectors**2).sum(axis=1) - 1).max() < 1e-5


def test_percentiles_are_times_that_were_measured() -> None:
    assert Latency.of([number / 1000 for number in range(1, 201)]) == Latency(100.0, 190.0, 198.0)
    assert Latency.of([0.5]) == Latency(500.0, 500.0, 500.0)
    assert (resident_bytes() or 1) > 0


# from end to end


def test_two_stores_are_compared(cli: Cli) -> None:
    text = cli.out(*SMALL, "--url", "one.db", "--url", "two.db", "--namespaces", "3")
    assert text.startswith("50 memories in 3 namespaces, 5 questions, 384 dimensions\n\n")
    table = text.splitlines()[2:]
    assert table[0].split() == ["one.db", "two.db", "×", "first"]
    assert [line.split(",")[0] for line in table[1:4]] == ["bulk write", *["one durable write"] * 2]
    assert all(len(line.split()[-3:]) == 3 for line in table[1:])
    assert not list(cli.folder.glob("*.db*")) or {path.name for path in cli.folder.glob("*.db")} == {
        "memory.db"
    }


def test_json_has_every_figure(cli: Cli) -> None:
    report = cli.json(*SMALL, "--url", "one.db", "--url", "two.db", "--seed", "3")
    assert {name: report[name] for name in ("memories", "namespaces", "questions", "dimensions", "seed")} == {
        "memories": 50,
        "namespaces": 1,
        "questions": 5,
        "dimensions": 384,
        "seed": 3,
    }
    assert report["resident_bytes"] is None or report["resident_bytes"] > 0
    assert [store["url"] for store in report["stores"]] == ["one.db", "two.db"]
    for store in report["stores"]:
        assert store["written_per_second"] > 0
        assert store["reused"] is False
        assert set(store["recall_ms"]) == {"hybrid", "keyword", "semantic"}
        for latency in (store["write_ms"], *store["recall_ms"].values()):
            assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
        assert store["bytes"] > 0
        assert store["load"] is None


def test_without_a_store_it_makes_one_and_leaves_the_users_alone(cli: Cli) -> None:
    cli.add("This one is mine")
    report = cli.json(*SMALL, "--mode", "keyword", "--mode", "semantic")
    assert report["stores"][0]["url"] == "a temporary SQLite file"
    assert set(report["stores"][0]["recall_ms"]) == {"keyword", "semantic"}
    assert counts(cli.folder / "memory.db") == {"default": 1}


def test_texts_from_a_file(cli: Cli) -> None:
    records = [
        {"text": f"Line {n} of the log", "timestamp": "1992-04-30T10:29:53Z", "id": n} for n in range(40)
    ]
    records += [{"content": f"Turn {n}", "session": "s", "score": 3} for n in range(20)]
    with gzip.open(cli.folder / "texts.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    cli.json(*SMALL, "--url", "one.db", "--keep", "--texts", "texts.jsonl.gz")
    with open_store(cli.folder / "one.db", namespace="bench-0001", embedder="none") as memories:
        first, last = memories.get(["bench-000000001", "bench-000000050"])
        assert (first.content, first.created_at.year) == ("Line 0 of the log", 1992)
        assert (last.content, last.session, last.metadata) == ("Turn 9", "s", {})
    assert cli.error("bench", "--memories", "70", "--texts", "texts.jsonl.gz") == (
        "texts.jsonl.gz has 60 texts, fewer than --memories 70."
    )
    (cli.folder / "bad.jsonl").write_text('{"text": "fine"}\n{"words": 1}\n')
    assert cli.error(*SMALL, "--texts", "bad.jsonl").startswith("bad.jsonl, line 2: it has neither text")


def test_it_goes_to_the_end_without_resident_memory(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.evaluate.subject.resident_bytes", lambda: None)
    row = next(line for line in cli.out(*SMALL).splitlines() if line.startswith("resident memory"))
    assert row.split()[-1] == "–"


# what it leaves alone, and what it leaves behind


def test_it_cleans_up_in_a_store_that_was_there(cli: Cli) -> None:
    cli.add("This one is mine")
    cli.json(*SMALL, "--url", "memory.db", "--namespaces", "2", "--writers", "2", "--seconds", "0.1")
    assert counts(cli.folder / "memory.db") == {"default": 1}
    cli.json(*SMALL, "--url", "memory.db")
    assert counts(cli.folder / "memory.db") == {"default": 1}
    assert cli.out("doctor") == "all is well\n"


def test_it_refuses_a_store_that_has_its_namespaces(cli: Cli) -> None:
    cli.add("This one is mine", "-n", "bench-0007")
    said = cli.error(*SMALL, "--url", "other.db", "--url", "memory.db")
    assert said.startswith("memory.db already has memories in bench-0007: --reuse measures with them")
    assert "other memories in its bench namespaces" in cli.error(*SMALL, "--url", "memory.db", "--reuse")
    assert counts(cli.folder / "memory.db") == {"bench-0007": 1}
    assert not (cli.folder / "other.db").exists()


def test_hidden_memories_count_too(cli: Cli) -> None:
    cli.out("forget", "--soft", cli.add("This one is mine", "-n", "bench-0001"), "-n", "bench-0001", "-y")
    assert "already has memories" in cli.error(*SMALL, "--url", "memory.db")


def test_what_was_kept_is_reused_and_stays_as_it_was(cli: Cli) -> None:
    kept = {"bench-0001": 25, "bench-0002": 25}
    options = (*SMALL, "--url", "one.db", "--namespaces", "2", "--writers", "2", "--seconds", "0.1")
    assert cli.json(*options, "--keep")["stores"][0]["reused"] is False
    assert counts(cli.folder / "one.db") == kept
    reused, made = cli.json(*options, "--url", "two.db", "--reuse")["stores"]
    assert (reused["reused"], reused["written_per_second"]) == (True, None)
    assert (made["reused"], made["written_per_second"] > 0) == (False, True)
    assert counts(cli.folder / "one.db") == kept
    assert not (cli.folder / "two.db").exists()


@pytest.mark.parametrize(
    "other", [("--memories", "51"), ("--namespaces", "1"), ("--namespaces", "3"), ("--seed", "2")]
)
def test_what_does_not_fit_is_not_reused(cli: Cli, other: tuple[str, str]) -> None:
    cli.json(*SMALL, "--url", "one.db", "--namespaces", "2", "--keep")
    said = cli.error(*SMALL, "--namespaces", "2", *other, "--url", "one.db", "--reuse")
    assert "other memories in its bench namespaces" in said


def test_it_cleans_up_after_trouble(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.add("This one is mine")

    def broken(*_: Any, **__: Any) -> None:
        raise StoreError("The disk is on fire.")

    monkeypatch.setattr(Memories, "recall", broken)
    monkeypatch.setattr(bench, "_import_everything", lambda _: None)
    assert cli.error(*SMALL, "--url", "memory.db", "--url", "new.db", code=3) == "The disk is on fire."
    assert counts(cli.folder / "memory.db") == {"default": 1}
    assert not (cli.folder / "new.db").exists()


def test_what_others_put_into_a_new_store_is_not_removed_with_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"

    def meanwhile(what: str, _done: int, _total: int | None) -> None:
        if what == "asking":
            with open_store(path, embedder="none") as memories:
                memories.remember("Somebody else's")

    bench.run(bench.Plan((str(path),), questions=1), texts.drafts(10), meanwhile)
    assert counts(path) == {"default": 1}


def test_what_can_not_be_measured_is_told_in_a_sentence(cli: Cli) -> None:
    for url in ("one.db", "./one.db", f"sqlite://{cli.folder / 'one.db'}"):
        assert "named twice" in cli.error(*SMALL, "--url", "one.db", "--url", url)
    assert "fewer memories than namespaces" in cli.error("bench", "--memories", "2", "--namespaces", "3")
    assert "name them with --url" in cli.error(*SMALL, "--store", "memory.db")
    assert "give both" in cli.error(*SMALL, "--seconds", "3")
    assert "name it with --url" in cli.error(*SMALL, "--keep")
    assert "mongodb" in cli.error(*SMALL, "--url", "mongodb://host/x")
    assert "no such home folder" in cli.error(*SMALL, "--url", "~nobody-of-this-name/x.db")
    assert "does not exist" in cli.error(*SMALL, "--url", "no/such/folder/x.db", code=3)
    assert not (cli.folder / "one.db").exists()


# several at once


def test_writers_lose_nothing(cli: Cli) -> None:
    done = cli.json(*SMALL, "--namespaces", "2", "--writers", "3", "--seconds", "0.3")["stores"][0]["load"]
    assert (done["writers"], done["errors"], done["first_error"], done["lost"]) == (3, 0, None, 0)
    assert done["writes"] >= 3
    assert done["writes"] == done["recalls"]
    assert done["seconds"] >= 0.3
    assert done["operations_per_second"] > 0
    table = cli.out(*SMALL, "--writers", "1", "--seconds", "0.1")
    assert "1 writer, acknowledged but lost" in table


def test_lost_writes_and_errors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "memory.db", embedder=WordVectors()) as memories:
        asked: list[str] = []

        def note(_namespace: str, id: str) -> None:
            asked.append(id)
            if len(asked) == 2:
                memories.forget(asked[0])
                raise InvalidInput("It went wrong after the write.")

        work = load.Work([memories], [(memories, "anything")], WordVectors(), note)
        done = load.put_under_load(work, 1, 0.2, seed=1)
    assert (done.lost, done.errors, done.first_error) == (1, 1, "It went wrong after the write.")
    assert done.recalls == done.writes - 1
