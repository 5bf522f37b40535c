"""`recollect eval`: what it prints, what it writes, what it keeps, what it complains of."""

from __future__ import annotations

import json
import re
import xml.dom.minidom
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from recollect.doors.cli import evaluating, progress, render
from tests.test_cli import Cli
from tests.test_evaluate import LOCOMO, TEXTS, small_set, write_set
from tests.test_evaluate_confidence import haystacks, with_unanswerable

HOSTILE = "</title><script>alert(1)</script> \" ' & \x1b[31m\u202e <img src=x onerror=alert(2)>"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


def without_timing(value: Any) -> Any:
    """An answer without what differs from run to run."""
    if isinstance(value, dict):
        return {name: without_timing(item) for name, item in value.items() if name != "timing"}
    return [without_timing(item) for item in value] if isinstance(value, list) else value


def hostile_set(folder: Path) -> Path:
    documents = [{"id": f"d{n}", "text": f"{HOSTILE} walrus {n}"} for n in range(3)]
    questions = [
        {"id": f"<q{n}>\"&'", "text": f"{HOSTILE} walrus {n}", "category": f"<b>{n}</b>"} for n in range(3)
    ]
    return write_set(folder, documents, questions, [(f"<q{n}>\"&'", f"d{n}", 1) for n in range(3)])


def test_it_prints_every_measure_for_every_setting(cli: Cli) -> None:
    small_set(cli.folder / "small")
    done = cli.run("eval", "small")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("small: 3 questions, 4 documents in 2 scopes; embedder hash; filled in ")
    assert lines[3].split() == ["measure", "keyword", "semantic", "hybrid"]
    assert [line.split()[0] for line in lines[4:16]] == [
        "any@1", "any@5", "any@10", "all@1", "all@5", "all@10", "recall@1", "recall@5", "recall@10",
        "nDCG@10", "MRR", "queries/s",
    ]  # fmt: skip
    assert lines[5].startswith("any@5      1.000 [1.000 1.000]")
    assert [line for line in lines if line.endswith("by category")] == [
        "nDCG@10 by category",
        "any@5 by category",
        "all@5 by category",
    ]
    assert lines[-1] == "note: questions left out, since no document answers them: 1"


def test_several_sets_modes_and_fusions(cli: Cli) -> None:
    small_set(cli.folder / "small")
    (cli.folder / "locomo10.json").write_text(json.dumps(LOCOMO))
    found = cli.json(
        "eval", "small", "locomo10.json", "--mode", "hybrid", "--mode", "auto", "--fusion", "mix",
        "--fusion", "rrf",
    )  # fmt: skip
    assert [each["name"] for each in found["sets"]] == ["small", "locomo10"]
    for each in found["sets"]:
        settings = [(one["setting"], one["mode"], one["fusion"]) for one in each["settings"]]
        assert settings == [
            ("hybrid", "hybrid", "mix"),
            ("hybrid/rrf", "hybrid", "rrf"),
            ("auto", "auto", "mix"),
            ("auto/rrf", "auto", "rrf"),
        ]
    overall = found["sets"][0]["settings"][0]["overall"]
    assert overall["questions"] == 3
    assert overall["measures"]["nDCG@10"].keys() == {"value", "low", "high"}
    assert [each["category"] for each in found["sets"][0]["settings"][0]["categories"]] == [
        "animals",
        "food",
        "money",
    ]


def test_two_runs_agree_in_everything_but_the_time(cli: Cli) -> None:
    small_set(cli.folder / "small")
    command = ("eval", "small", "--against", "keyword")
    first, second = cli.json(*command), cli.json(*command, "--keep", "stores")
    third = cli.json(*command, "--keep", "stores")
    assert without_timing(first) == without_timing(second) == without_timing(third)
    assert [each["sets"][0]["timing"]["reused"] for each in (first, second, third)] == [False, False, True]


def test_wins_and_losses_are_shown_against_a_setting(cli: Cli) -> None:
    small_set(cli.folder / "small")
    found = cli.json("eval", "small", "--mode", "semantic", "--against", "keyword")["sets"][0]
    assert [each["setting"] for each in found["settings"]] == ["keyword", "semantic"]
    (compared,) = found["comparisons"]
    assert (compared["setting"], compared["against"]) == ("semantic", "keyword")
    assert compared["wins"] + compared["losses"] + compared["ties"] == 3
    assert len(compared["changes"]) == compared["wins"] + compared["losses"]
    printed = cli.out("eval", "small", "--mode", "semantic", "--against", "keyword")
    assert "nDCG@10 against keyword, question by question\nsetting   wins  losses  ties" in printed
    assert "the greatest wins and losses of semantic\n" in printed


def test_a_sample_is_quick_and_says_so(cli: Cli) -> None:
    small_set(cli.folder / "small")
    found = cli.json("eval", "small", "--sample", "1", "--mode", "keyword")["sets"][0]
    assert found["questions"] == 1
    assert "questions asked, as a sample: 1 of 3" in found["notes"]


@pytest.mark.parametrize("place", ["stores", "kept.db", "sqlite://kept.db"])
def test_what_is_kept_is_used_again(cli: Cli, place: str) -> None:
    small_set(cli.folder / "small")
    command = ("eval", "small", "--mode", "keyword", "--keep", place)
    assert "; filled in " in cli.out(*command)
    assert "; filled before" in cli.out(*command)
    other = ("--embedder", "none")
    assert "; filled in " in cli.out(*command, *other)
    assert "; filled before" in cli.out(*command, *other)
    with (cli.folder / "small" / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"id": "new", "text": "Something new", "scope": "zoo"}\n')
    assert "; filled in " in cli.out(*command)


def test_a_store_that_is_named_is_emptied_again_and_ones_own_left_alone(cli: Cli) -> None:
    cli.add("My own memory")
    small_set(cli.folder / "small")
    for _ in range(2):
        assert "; filled in " in cli.out("eval", "small", "--url", "measured.db")
    assert not any(cli.json("namespaces", "-s", "measured.db", code=0).values())
    assert cli.json("namespaces") == {"default": 1}
    assert not list(cli.folder.glob("recollect-eval-*"))


def test_without_vectors_the_report_says_so(cli: Cli) -> None:
    small_set(cli.folder / "small")
    printed = cli.out("eval", "small", "--mode", "semantic", "--embedder", "none")
    assert "embedder none" in printed
    assert (
        "note: semantic: vectors are switched off, so keywords answered alone (3 of 3 questions)" in printed
    )


def test_ones_own_store_is_probed(cli: Cli) -> None:
    for id, text in TEXTS:
        cli.add(text, "--id", id)
    before = cli.out("export")
    found = cli.json("eval", "--own", "--mode", "keyword", "--mode", "hybrid")["sets"][0]
    assert found["name"] == "default"
    assert {each["category"] for each in found["settings"][0]["categories"]} == {
        "common",
        "misspelt",
        "phrase",
        "words",
    }
    assert found["settings"][0]["overall"]["measures"]["any@5"]["value"] > 0.8
    sure = found["settings"][0]["confidence"]
    assert sum(level["answerable"] for level in sure["levels"]) == found["questions"]
    assert (sure["auc"], found["unanswerable"]) == (None, [])
    one = cli.json("eval", "--own", "--sample", "1", "--mode", "keyword")["sets"][0]
    assert one["notes"] == ["memories that probes were made of: 1"]
    assert cli.out("export") == before
    assert "default: " in cli.out("eval", "--own")


# confidence


def test_it_says_how_sure_recalls_were_and_whether_rightly(cli: Cli) -> None:
    with_unanswerable(cli.folder / "small")
    printed = cli.out("eval", "small", "--mode", "keyword")
    assert printed.startswith("small: 3 questions and 3 without an answer, 4 documents in 2 scopes; ")
    assert re.search(r"^confidence +questions +any@5 +unanswerable\nkeyword, strong ", printed, re.MULTILINE)
    assert re.search(r"^AUC +\d\.\d{3} \[\d\.\d{3} \d\.\d{3}\]$", printed, re.MULTILINE)
    found = cli.json("eval", "small", "--mode", "keyword")["sets"][0]
    sure = found["settings"][0]["confidence"]
    assert [level["level"] for level in sure["levels"]] == ["strong", "weak", "none"]
    assert sum(level["answerable"] for level in sure["levels"]) == found["questions"] == 3
    assert sum(level["unanswerable"] for level in sure["levels"]) == len(found["unanswerable"]) == 3
    assert sure["auc"].keys() == {"value", "low", "high"}
    assert len(sure["curve"]) == 21
    assert sure["curve"][0] == {"threshold": 0.0, "answered": 1.0, "found": 1.0, "misled": 1.0}


def test_without_unanswerable_questions_nothing_is_said_of_them(cli: Cli) -> None:
    small_set(cli.folder / "small")
    printed = cli.out("eval", "small", "--mode", "keyword", "--html", "page.html")
    assert "\nkeyword, strong " in printed
    assert "AUC" not in printed and "unanswerable" not in printed
    assert "unanswerable" not in (cli.folder / "page.html").read_text("utf-8")


def test_longmemeval_s_unanswerable_questions_change_no_figure_and_are_kept_too(cli: Cli) -> None:
    haystacks(cli.folder / "set.json", "q1", "q3")
    bare = cli.json("eval", "set.json")["sets"][0]
    haystacks(cli.folder / "set.json", "q1", "q2_abs", "q3")
    command = ("eval", "set.json", "--keep", "stores")
    first, second = (cli.json(*command)["sets"][0] for _ in range(2))
    assert without_timing(first) == without_timing(second)
    assert [each["timing"]["reused"] for each in (first, second)] == [False, True]
    kept = sorted(path.name.rpartition("-")[0] for path in (cli.folder / "stores").glob("*.db"))
    assert kept == ["set", "set-unanswerable"]
    next((cli.folder / "stores").glob("set-unanswerable-*.db")).unlink()
    assert not cli.json(*command)["sets"][0]["timing"]["reused"]
    assert first["asked"] == bare["asked"]
    assert [each["overall"] for each in first["settings"]] == [each["overall"] for each in bare["settings"]]
    assert [each["id"] for each in first["unanswerable"]] == ["q2_abs"]
    assert cli.json("eval", "set.json", "--url", "measured.db")["sets"][0]["asked"] == bare["asked"]
    assert not any(cli.json("namespaces", "-s", "measured.db", code=0).values())


def test_what_is_apart_does_not_stay_in_a_store_that_it_would_share(cli: Cli) -> None:
    haystacks(cli.folder / "set.json", "q1", "q2_abs", "q3")
    command = ("eval", "set.json", "--keep", "kept.db")
    first, second = cli.json(*command), cli.json(*command)
    assert without_timing(first) == without_timing(second)
    held = {name for name, count in cli.json("namespaces", "-s", "kept.db").items() if count}
    assert {name.rpartition(":")[2] for name in held} >= {"q1", "q3"}
    assert not any("q2_abs" in name for name in held)


def test_the_page_draws_the_curve_of_every_setting(cli: Cli) -> None:
    with_unanswerable(cli.folder / "small")
    found = cli.json("eval", "small", "--mode", "keyword", "--mode", "hybrid", "--html", "page.html")
    page = (cli.folder / "page.html").read_text("utf-8")
    drawings = re.findall(r'<svg[^>]*aria-label="small: confidence of (\w+)">(.*?)</svg>', page)
    assert [name for name, _ in drawings] == ["keyword", "hybrid"]
    for summary, (_, drawing) in zip(found["sets"][0]["settings"], drawings, strict=True):
        told = re.findall(r"<title>(.*?), from ([\d.]+) on: ([\d.]+)</title>", drawing)
        names = {"answered": "answered", "any@5 of these": "found", "unanswerable, yet answered": "misled"}
        assert told == [
            (label, f"{point['threshold']:.2f}", f"{point[name]:.3f}")
            for label, name in names.items()
            for point in summary["confidence"]["curve"]
            if point[name] is not None
        ]
    assert "unanswerable, yet answered</span>" in page


# the page


class Tags(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_stands_alone_and_shows_hostile_text_as_text(cli: Cli) -> None:
    hostile_set(cli.folder / "<i>set</i>".replace("/", "-"))
    cli.out("eval", "<i>set<-i>", "--against", "keyword", "--html", "page.html")
    page = (cli.folder / "page.html").read_text("utf-8")
    parsed = Tags(page)
    assert set(parsed.tags) == {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "p", "span", "svg", "line",
        "text", "g", "circle", "div", "table", "tr", "th", "td",
    } | ({"rect"} & set(parsed.tags))  # fmt: skip
    assert not any(name.startswith("on") or name in ("href", "src") for name, _ in parsed.attributes)
    assert "url(" not in page and "//" not in page.replace("<!doctype html>", "")
    assert "<i>set<-i>" in "".join(parsed.text)
    assert "<b>0</b>" in "".join(parsed.text)
    assert render.safe(page) == page
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        xml.dom.minidom.parseString(drawing)


def test_the_page_shows_wins_and_losses_as_bars(cli: Cli) -> None:
    documents = [{"id": "a", "text": "The cache is warm"}, {"id": "b", "text": "Water for the walrus"}]
    questions = [{"id": "q", "text": "zebra"}, {"id": "r", "text": "cache"}]
    write_set(cli.folder / "set", documents, questions, [("q", "b", 1), ("q", "a", 1), ("r", "a", 1)])
    found = cli.json("eval", "set", "--against", "keyword", "--html", "page.html")["sets"][0]
    page = (cli.folder / "page.html").read_text("utf-8")
    changes = [change for each in found["comparisons"] for change in each["changes"]]
    assert page.count('class="win"') == sum(change["after"] > change["before"] for change in changes)
    assert page.count('class="loss"') == sum(change["after"] < change["before"] for change in changes)
    assert changes
    command = ("eval", "set", "--mode", "auto", "--embedder", "none", "--against", "keyword")
    cli.out(*command, "--html", "page.html")
    assert "Every question is answered equally well." in (cli.folder / "page.html").read_text("utf-8")


def test_hostile_text_does_nothing_to_a_terminal(cli: Cli) -> None:
    hostile_set(cli.folder / "set")
    for arguments in ((), ("--json",)):
        printed = cli.out("eval", "set", "--against", "keyword", *arguments)
        assert render.safe(printed) == printed


# progress and errors


def test_progress_is_told_for_the_whole_set(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int | None]] = []

    class Telling:
        def __enter__(self) -> Any:
            return lambda *step: told.append(step)

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(progress, "shown", lambda wanted, colour: Telling())
    small_set(cli.folder / "small")
    cli.out("eval", "small", "--mode", "keyword")
    assert told == [
        ("small: storing", 3, 4), ("small: embedding", 3, 4), ("small: storing", 4, 4),
        ("small: embedding", 4, 4), ("small: keyword", 1, 3), ("small: keyword", 2, 3),
        ("small: keyword", 3, 3),
    ]  # fmt: skip


def test_errors_are_one_sentence(cli: Cli) -> None:
    small_set(cli.folder / "small")
    assert "Name sets to measure with, or say --own" in cli.error("eval")
    assert "Name sets to measure with, or say --own" in cli.error("eval", "small", "--own")
    assert "leave out --url" in cli.error("eval", "--own", "--url", "x.db")
    assert "or --keep for one that is not" in cli.error("eval", "small", "--url", "x.db", "--keep", "y")
    assert "not --store" in cli.error("eval", "small", "-s", "x.db")
    assert "does not exist" in cli.error("eval", "nowhere")
    assert "The folder" in cli.error("eval", "small", "--html", "nowhere/page.html")
    assert "in memory" in cli.error("eval", "small", "--url", ":memory:")
    assert "is no setting" in cli.error("eval", "small", "--against", "magic")
    assert "mongodb" in cli.error("eval", "small", "--url", "mongodb://here")
    assert "is nothing to probe" in cli.error("eval", "--own")
    (cli.folder / "empty").mkdir()
    assert "There is no corpus.jsonl in empty" in cli.error("eval", "empty")
    (cli.folder / "small" / "queries.jsonl").write_text("{")
    assert cli.error("eval", "small").startswith("small/queries.jsonl, line 1: it is not JSON")


def test_the_defaults_are_those_of_the_help(cli: Cli) -> None:
    text = " ".join(cli.out("eval", "--help").split())
    assert f"({evaluating.DEFAULT_PROBED})" in text
    assert "Without --mode: keyword, semantic and hybrid." in text
    assert evaluating.DEFAULT_MODES == ("keyword", "semantic", "hybrid")
