"""Measuring stores: made texts, a bench from end to end, what it leaves alone and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import xml.dom.minidom
from dataclasses import fields
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from recollect.doors.cli.benching import size
from recollect.errors import InvalidInput, StoreError
from recollect.evaluate import bench, exactness, figures, load, texts
from recollect.evaluate.subject import opened
from recollect.evaluate.vectors import WordVectors
from recollect.memories import Memories
from recollect.opening import open as open_store
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
            assert at["bytes"] > at["derived_bytes"] >= 0
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


def test_vectors_of_another_version_are_not_reused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(WordVectors, "fingerprint", "bench-384-v1")
        cli.json(*SMALL, "--url", "one.db", "--keep")
    assert "other memories in its bench namespaces" in cli.error(*SMALL, "--url", "one.db", "--reuse")


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


def test_its_vectors_vary_along_as_few_directions_as_those_of_a_model() -> None:
    embedder = WordVectors()
    found = embedder.embed(list(islice(texts.made(1), 3_000)))
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(found)), abs=1e-5)
    left = found - found.mean(axis=0)
    varies = np.linalg.eigvalsh(left.T @ left)[::-1]
    assert varies[: embedder.dimensions // 3].sum() / varies.sum() == pytest.approx(0.8, abs=0.03)
    along = left.var(axis=0)
    assert along.max() < 10 * along.min(), "no dimension tells most"


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
