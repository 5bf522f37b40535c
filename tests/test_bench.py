"""Measuring stores: made texts, a bench from end to end, what it leaves alone and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import math
import random
import xml.dom.minidom
from collections import Counter
from contextlib import closing
from dataclasses import fields
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import apsw
import click
import pytest

from recollect import recalling
from recollect.doors.cli.benching import size
from recollect.errors import InvalidInput, StoreError
from recollect.evaluate import bench, comparing, dealing, exactness, figures, load, texts
from recollect.evaluate.dealing import Dealing
from recollect.evaluate.exactness import Asked, Reference, Seen
from recollect.evaluate.subject import opened
from recollect.evaluate.timing import Latency, resident_bytes
from recollect.evaluate.vectors import DIMENSIONS, WordVectors
from recollect.meaning import generation_of
from recollect.memories import Memories
from recollect.opening import open as open_store
from recollect.query.terms import terms_of
from recollect.store.base import Nearness, Words
from recollect.store.sqlite.search import match_expression
from recollect.types import Draft
from tests.conftest import OpenMemories, sqlite_only
from tests.test_cli import Cli

WITH_LITTLE_WORK = ("--questions", "5", "--writes", "5", "--exact", "5", "--cold", "0")
SMALL = ("bench", "--memories", "50", *WITH_LITTLE_WORK)
SOURCE = partial(texts.drafts, 10)
DOCUMENTED = Path(__file__).parent.parent / "docs" / "speed.md"


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
    drafts = list(texts.drafts(100))
    assert [draft.created_at for draft in drafts] == sorted(draft.created_at for draft in drafts)  # type: ignore[type-var]
    assert Counter(draft.session for draft in drafts) == {"session-1": 40, "session-2": 40, "session-3": 20}


def test_a_draft_has_the_same_text_however_many_are_made() -> None:
    few = [draft.text for draft in texts.drafts(50, seed=7)]
    assert [draft.text for draft in islice(texts.drafts(10**9, seed=7), 50)] == few


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


def test_questions_are_the_same_when_texts_go_by() -> None:
    made = list(islice(texts.made(1), 300))
    chance = random.Random(1)
    draw = texts.Draw(texts.picked(20, 300, chance), 300, chance)
    for number, text in enumerate(made):
        draw.see(number, text)
    assert draw.questions() == texts.questions(made, 20)


def test_a_hundredth_has_a_tag_and_a_hundredth_a_namespace() -> None:
    dealt = Dealing.of(10_000, 3)
    spaces = Counter(map(dealt.space, range(10_000)))
    assert spaces[dealt.small] == 100
    assert all(3_290 <= spaces[number] <= 3_310 for number in range(3))
    tags = Counter(map(dealing.tag_of, range(10_000)))
    assert set(tags.values()) == {100} and len(tags) == 100
    assert all(len(terms_of(tag)) == 1 for tag in tags)
    in_small = Counter(dealing.tag_of(number) for number in range(0, 10_000, 100))
    assert set(in_small.values()) == {1}, "a tag and the small namespace have nothing to do with each other"


def test_nobody_asks_about_the_small_namespace() -> None:
    for count in (2, 99, 100, 101, 1_000):
        asked = {dealing.asked_about(place) for place in range(dealing.count_asked_about(count))}
        assert asked == {number for number in range(count) if Dealing.of(count, 1).space(number) == 0}


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


# exactness

QUESTIONS = ("deploy the cache", "sta", "ba be", "the of and", "t07", "2024-05-01 stea")


def asked_of(memories: Memories, made: list[str]) -> list[Asked]:
    """Questions of many words and of few, which also ask for beginnings, at their place in a namespace."""
    store, embedder = memories._store, WordVectors()
    questions = [*QUESTIONS, *(question for _, question in texts.questions(made, 20))]
    facts = store.facts([memories.namespace])
    understood = [
        recalling.understand(text, memories.scope(), recalling.Options(), facts, None) for text in questions
    ]
    vectors = embedder.embed(questions)
    return [Asked(0, each.keywords, vector) for each, vector in zip(understood, vectors, strict=True)]


def filled(open_memories: OpenMemories) -> tuple[Memories, list[str], Reference, list[Asked]]:
    """A store with two namespaces, and exact search that has seen the same texts."""
    embedder = WordVectors()
    memories = open_memories("one", embedder=embedder)
    made = list(islice(texts.made(1), 600))
    seen = [Seen(int(n >= 400), text, (dealing.tag_of(n),)) for n, text in enumerate(made)]
    for space, name in enumerate(("one", "two")):
        drafts = [Draft(each.text, tags=each.tags) for each in seen if each.space == space]
        memories.in_namespace(name).remember_many(drafts, on_duplicate="keep")
    asked = asked_of(memories, made[:400])
    reference = Reference(asked)
    for half in (seen[:350], seen[350:]):
        reference.see(half, embedder.embed([each.text for each in half]))
    return memories, made, reference, asked


@sqlite_only
def test_bm25_is_that_of_fts5(open_memories: OpenMemories, store_url: str) -> None:
    memories, _, reference, asked = filled(open_memories)
    with closing(apsw.Connection(store_url)) as connection:
        for number, question in enumerate(asked):
            rows: list[Any] = connection.execute(
                "SELECT -bm25(memory_words, 1.0, 0.0) AS score, content, tags FROM memory_words "
                "JOIN memory ON memory.number = memory_words.rowid WHERE memory_words MATCH ? "
                "ORDER BY score DESC",
                (match_expression(question.words, [1], strict=False),),
            ).fetchall()
            scores = [score for score, _, _ in rows]
            best = reference.best(number, whole_store=True)
            assert best[::-1] == pytest.approx(scores[: exactness.TOP], rel=1e-9)
            mine = [
                reference.score(number, Seen(0, content, json.loads(tags)), whole_store=True)
                for _, content, tags in rows
            ]
            assert mine == pytest.approx(scores, rel=1e-9)
    assert memories.namespaces() == {"one": 400, "two": 200}


def test_what_a_store_finds_is_what_exact_search_finds(open_memories: OpenMemories, backend: str) -> None:
    memories, _, reference, asked = filled(open_memories)
    of_store = backend == "sqlite"
    for number, question in enumerate(asked):
        nearness = Nearness(generation_of(WordVectors()), question.vector, 100)
        (found,) = memories._store.search([memories.scope()], Words(question.words, 100), nearness)
        if not any(word.prefix for word in question.words.words):  # PostgreSQL counts beginnings roughly
            best = reference.best(number, whole_store=of_store)[::-1]
            assert best == pytest.approx([each.score for each in found.by_words[:10]], rel=1e-5)
        nearest = sorted(reference.nearest(number), reverse=True)
        assert nearest == pytest.approx([each.score for each in found.by_meaning[:10]], abs=1e-5)


def test_a_leg_that_misses_answers_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = comparing._answer

    def lazy(*arguments: Any) -> comparing.Answer:
        by_words, by_meaning = whole(*arguments)
        return comparing.Answer(by_words[:5], by_meaning[1:])

    plan = bench.Plan((str(tmp_path / "new.db"),), (300,), questions=20, writes=5, exact=20, cold=0)
    source = partial(texts.drafts, 300)
    assert bench.run(plan, source).stores[0].sizes[0].exact == exactness.Exactness(20, 1.0, 1.0)
    monkeypatch.setattr(comparing, "_answer", lazy)
    found = bench.run(plan, source).stores[0].sizes[0].exact
    assert found is not None and found.keyword is not None
    assert found.semantic == 0.9
    assert found.keyword < 0.9


def test_equal_scores_count_as_found() -> None:
    assert exactness.agreement([2.0, 1.0 - 1e-9], [2.0, 1.0]) == 1.0
    assert exactness.agreement([2.0, 0.9], [2.0, 1.0]) == 0.5
    assert exactness.agreement([], [1.0]) == 0.0


# from end to end


def test_two_stores_are_compared(cli: Cli) -> None:
    text = cli.out(*SMALL, "--url", "one.db", "--url", "two.db", "--namespaces", "3")
    assert text.startswith("50 memories in 3 namespaces and a small one, 5 questions, 384 dimensions\n\n")
    table = text.splitlines()[2:]
    assert table[0].split() == ["one.db", "two.db", "×", "first"]
    assert [line.split(",")[0] for line in table[1:4]] == [
        "bulk write",
        "settling after it",
        "one durable write",
    ]
    assert all(len(line.split()[-3:]) == 3 for line in table[1:])
    assert not list(cli.folder.glob("*.db*")) or {path.name for path in cli.folder.glob("*.db")} == {
        "memory.db"
    }


def test_sizes_stand_beside_each_other(cli: Cli) -> None:
    sizes = ("--memories", "120", "--memories", "30", *WITH_LITTLE_WORK)
    text = cli.out("bench", *sizes, "--writers", "1", "--seconds", "0.1", "--plot", "growth.svg")
    assert text.startswith(
        "30 → 120 memories in 1 namespace and a small one, 5 questions, 384 dimensions\n\n"
    )
    assert text.splitlines()[2].split() == ["30", "120", "×", "4"]
    assert "hybrid recall in a tag of 1%, hits" in text
    assert "hybrid recall after 5 writes, × before" in text
    assert "1 writer, errors" in text
    drawn = (cli.folder / "growth.svg").read_text("utf-8")
    xml.dom.minidom.parseString(drawn)
    assert all(f">{each}</text>" in drawn for each in ("30", "120", "hybrid", "keyword", "semantic"))
    two = cli.out("bench", *sizes, "--url", "one.db", "--url", "two.db")
    assert [line for line in two.splitlines() if line.endswith(".db")] == ["one.db", "two.db"]


def test_a_number_of_memories() -> None:
    assert [size(text) for text in ("50", "10k", "10K", "1M", "2m")] == [50, 10**4, 10**4, 10**6, 2 * 10**6]
    for text in ("1", "0k", "-5", "1.5M", "many", "10 k", "1G"):
        with pytest.raises(click.BadParameter, match="such as 10000, 10k or 1M"):
            size(text)


def test_json_has_every_figure(cli: Cli) -> None:
    options = ("--memories", "50", "--memories", "100", *WITH_LITTLE_WORK, "--seed", "3")
    report = cli.json("bench", *options, "--url", "one.db", "--url", "two.db")
    about = ("memories", "namespaces", "questions", "writes", "dimensions", "seed")
    assert [report[name] for name in about] == [[50, 100], 1, 5, 5, 384, 3]
    assert report["resident_bytes"] is None or report["resident_bytes"] > 0
    assert [store["url"] for store in report["stores"]] == ["one.db", "two.db"]
    for store in report["stores"]:
        assert (store["reused"], store["load"]) == (False, None)
        assert [at["memories"] for at in store["sizes"]] == [50, 100]
        assert (store["growth"]["memories"], store["growth"]["recall_ms.hybrid.p50"] > 0) == (2.0, True)
        for at in store["sizes"]:
            assert at["written_per_second"] > 0
            assert set(at["recall_ms"]) == {"hybrid", "keyword", "semantic"}
            narrow = at["tag"]["recall_ms"], at["namespace"]["recall_ms"]
            for latency in (at["write_ms"], at["after_writes"], *narrow, *at["recall_ms"].values()):
                assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
            assert at["tag"]["hits"] == at["namespace"]["hits"] == 1, "all that there is"
            assert at["slowed_by"] > 0
            assert at["exact"] == {"questions": 5, "keyword": 1.0, "semantic": 1.0}
            assert at["bytes"] > at["derived_bytes"] == 0
            assert (at["cold"], at["fresh_resident_bytes"]) == (None, None)


def test_every_field_is_documented() -> None:
    _, _, documented = DOCUMENTED.read_text("utf-8").partition("### The JSON document")
    documented = documented.partition("\n## ")[0]
    kinds = (
        figures.Report,
        figures.StoreReport,
        figures.Measured,
        figures.Narrow,
        figures.Cold,
        exactness.Exactness,
        load.Load,
    )
    assert all(f"`{field.name}`" in documented for kind in kinds for field in fields(kind))


def test_every_backend_is_measured_at_every_size(store_url: str) -> None:
    told: list[str] = []
    plan = bench.Plan((store_url,), (60, 250), questions=5, writes=5, exact=5, cold=1)
    report = bench.run(plan, partial(texts.drafts, 250), lambda what, *_: told.append(what))
    for at in report.stores[0].sizes:
        assert at.exact == exactness.Exactness(5, 1.0, 1.0)
        assert at.cold is not None and min(at.cold.keyword_ms, at.cold.hybrid_ms) > 0
        assert at.fresh_resident_bytes is None or at.fresh_resident_bytes > 10_000_000
        assert at.bytes > 0
    assert 2.0 <= min(at.namespace.hits, at.tag.hits) <= max(at.namespace.hits, at.tag.hits) <= 3.0
    phases = dict.fromkeys(what.rpartition(": ")[2] for what in told if what != "removing")
    assert list(phases) == [
        "reading texts", "writing up to 60", "with a tag", "in a small namespace", "semantic recall",
        "keyword recall", "hybrid recall", "writing one by one", "after the writes",
        "comparing with exact search", "asking in a process of its own", "starting processes",
        "writing up to 250",
    ]  # fmt: skip
    with open_store(store_url, embedder="none") as memories:
        assert not any(memories.namespaces().values())


def test_what_others_have_in_the_store_hides_how_exact_keywords_are(cli: Cli) -> None:
    cli.add("This one is mine")
    exact = cli.json(*SMALL, "--url", "memory.db")["stores"][0]["sizes"][0]["exact"]
    assert exact == {"questions": 5, "keyword": None, "semantic": 1.0}


def test_without_a_store_it_makes_one_and_leaves_the_users_alone(cli: Cli) -> None:
    cli.add("This one is mine")
    report = cli.json(*SMALL, "--mode", "keyword", "--mode", "semantic")
    assert report["stores"][0]["url"] == "a temporary SQLite file"
    assert list(report["stores"][0]["sizes"][0]["recall_ms"]) == ["keyword", "semantic"]
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
        last = memories.get("bench-000000050")
        assert (last.content, last.session, last.metadata) == ("Turn 9", "s", {})
    with open_store(cli.folder / "one.db", namespace="bench-0002", embedder="none") as memories:
        first = memories.get("bench-000000001")
        assert (first.content, first.created_at.year, list(first.tags)) == (
            "Line 0 of the log",
            1992,
            ["t00"],
        )
    assert cli.error("bench", "--memories", "70", "--texts", "texts.jsonl.gz") == (
        "texts.jsonl.gz has 60 texts, fewer than --memories 70: "
        "ask for fewer, or leave out --texts to have them made."
    )
    with gzip.open(cli.folder / "texts.jsonl.gz") as file:
        piped = file.read()
    assert cli.run(*SMALL, "--json", "--texts", "-", input=piped).stdout.startswith("{")
    few = piped.splitlines()[0]
    assert cli.error(*SMALL, "--texts", "-", input=few).startswith("standard input has 1 text, fewer than")
    (cli.folder / "bad.jsonl").write_text('{"text": "fine"}\n{"words": 1}\n')
    assert cli.error(*SMALL, "--texts", "bad.jsonl").startswith("bad.jsonl, line 2: it has neither text")


def test_it_goes_to_the_end_without_resident_memory(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.evaluate.subject.resident_bytes", lambda: None)
    row = next(line for line in cli.out(*SMALL).splitlines() if line.startswith("resident memory grown"))
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
    kept = {"bench-0001": 24, "bench-0002": 25, "bench-0003": 1}
    options = (*SMALL, "--url", "one.db", "--namespaces", "2", "--writers", "2", "--seconds", "0.1")
    assert cli.json(*options, "--keep")["stores"][0]["reused"] is False
    assert counts(cli.folder / "one.db") == kept
    reused, made = cli.json(*options, "--url", "two.db", "--reuse")["stores"]
    assert (reused["reused"], reused["sizes"][0]["written_per_second"]) == (True, None)
    assert (made["reused"], made["sizes"][0]["written_per_second"] > 0) == (False, True)
    assert counts(cli.folder / "one.db") == kept
    assert not (cli.folder / "two.db").exists()


@pytest.mark.parametrize(
    "other", [("--memories", "51"), ("--namespaces", "1"), ("--namespaces", "3"), ("--seed", "2")]
)
def test_what_does_not_fit_is_not_reused(cli: Cli, other: tuple[str, str]) -> None:
    cli.json(*SMALL, "--url", "one.db", "--namespaces", "2", "--keep")
    options = {"--memories": "50", "--namespaces": "2"} | dict([other])
    said = cli.error("bench", *chain(*options.items()), "--url", "one.db", "--reuse")
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
        if what == "at 10: hybrid recall":
            with open_store(path, embedder="none") as memories:
                memories.remember("Somebody else's")

    bench.run(bench.Plan((str(path),), (10,), questions=1, writes=1, cold=0), SOURCE, meanwhile)
    assert counts(path) == {"default": 1}


@pytest.mark.parametrize(
    "when",
    ["reading texts", "writing up to 10", "at 10: hybrid recall", "at 10: comparing with exact search"],
)
def test_whoever_interrupts_it_finds_everything_as_it_was(tmp_path: Path, when: str) -> None:
    def interrupt(what: str, _done: int, _total: int | None) -> None:
        if what == when:
            raise KeyboardInterrupt

    plan = bench.Plan((str(tmp_path / "new.db"),), (10,), questions=1, writes=1, cold=0)
    with pytest.raises(KeyboardInterrupt):
        bench.run(plan, SOURCE, interrupt)
    assert not list(tmp_path.iterdir())


def test_what_is_derived_is_counted_and_goes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    (tmp_path / "new.db.notes").write_text("mine")

    with opened(str(path), WordVectors(), keep=False) as subject:
        (tmp_path / "new.db.words").write_bytes(b"x" * 1000)
        (tmp_path / "new.db.vectors").mkdir()
        (tmp_path / "new.db.vectors" / "1").write_bytes(b"x" * 500)
        assert subject.derived_bytes() == 1504
        assert subject.bytes() == path.stat().st_size + 1504
    assert [each.name for each in tmp_path.iterdir()] == ["new.db.notes"]


def test_what_can_not_be_measured_is_told_in_a_sentence(cli: Cli) -> None:
    for url in ("one.db", "./one.db", f"sqlite://{cli.folder / 'one.db'}"):
        assert "named twice" in cli.error(*SMALL, "--url", "one.db", "--url", url)
    assert "fewer memories than namespaces" in cli.error("bench", "--memories", "2", "--namespaces", "3")
    assert "name them with --url" in cli.error(*SMALL, "--store", "memory.db")
    assert "give both" in cli.error(*SMALL, "--seconds", "3")
    assert "name it with --url" in cli.error(*SMALL, "--keep")
    assert "give --memories once" in cli.error(*SMALL, "--memories", "60", "--reuse", "--url", "one.db")
    assert "at least twice" in cli.error(*SMALL, "--plot", "growth.svg")
    assert "does not exist" in cli.error(*SMALL, "--memories", "60", "--plot", "no/such/folder/growth.svg")
    assert "not a number of memories" in cli.error("bench", "--memories", "many")
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
