"""Questions one after the other: at a real terminal, and a line each from a pipe."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Draft
from recollect import open as open_store
from recollect.doors.cli import asking
from tests.terminals import Terminal
from tests.test_cli import Cli, start

PROMPT = "search> "
CONTROL_C, CONTROL_D = "\x03", "\x04"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    made = Cli(tmp_path, monkeypatch)
    with open_store(tmp_path / "memory.db", embedder="hash") as memories:
        memories.remember_many(
            Draft(f"The herring number {number} swims", tags=["odd" if number % 2 else "even"])
            for number in range(1, 14)
        )
        memories.remember("Walrus \x1b[31mred feeds on clams", id="walrus", created_at="2026-01-05")
    return made


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    with Terminal("search", environment={"NO_COLOR": "1"}) as opened:
        assert "Ask a question." in opened.expect(PROMPT)
        yield opened


def said(terminal: Terminal, line: str) -> list[str]:
    """What is answered to a line, without the line itself."""
    terminal.line(line)
    return terminal.expect(PROMPT).splitlines()[1:]


def test_a_conversation(terminal: Terminal) -> None:
    head, text = said(terminal, "what does the walrus eat")[-2:]
    assert said(terminal, "walrus")[0].split()[-1] == "walrus"
    assert text and head
    shown = said(terminal, "1")
    assert "id             walrus" in shown
    assert shown[-1] == "Walrus \\x1b[31mred feeds on clams"
    assert sum(line.startswith("1 ") for line in said(terminal, "why 1")) == 1
    assert "mode hybrid" in " ".join(said(terminal, "why"))
    assert said(terminal, "help") == asking.HELP.splitlines()
    terminal.line("")
    assert terminal.end()[1] == 0


def test_more_goes_on_with_the_numbers(terminal: Terminal) -> None:
    first = [line for line in said(terminal, "herring") if line.startswith((" ", "1")) and "  0." in line]
    more = [line for line in said(terminal, "more") if "  0." in line]
    assert [int(line.split()[0]) for line in first] == list(range(1, 11))
    assert [int(line.split()[0]) for line in more][:3] == [11, 12, 13]
    ids = [line.split()[4] for line in (*first, *more)]
    assert len(set(ids)) == len(ids)
    said(terminal, "more")
    assert said(terminal, "more") == ["There are no more."]
    assert "id " in said(terminal, "12")[0]


def test_options_are_set_taken_back_and_listed(terminal: Terminal) -> None:
    assert said(terminal, ":") == ["Nothing is set."]
    assert said(terminal, ":mode keyword") == [":mode keyword"]
    assert said(terminal, ":limit 2") == [":limit 2", ":mode keyword"]
    found = said(terminal, "herring")
    assert len([line for line in found if "  0." in line]) == 2
    again = said(terminal, ":tag even")
    assert again[:3] == [":limit 2", ":tag even", ":mode keyword"]
    assert any("herring" in line for line in again)
    assert ":superseded" in said(terminal, ":superseded")
    assert ":superseded" not in said(terminal, ":superseded")
    assert ":tag even" not in said(terminal, ":tag")
    assert "keyword=1.0" in " ".join(said(terminal, ":weight keyword=1"))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (":mode psychic", "Error: Invalid value for '--mode': 'psychic' is not one of"),
        (":since soon", "Error: 'soon' is not a date"),
        (":colour red", "Error: 'colour' can't be set here: choose from limit, timeframe"),
        (":why", "Error: 'why' can't be set here"),
        (':tag "half', "Error: '\"half' can't be read"),
        ("99", "Error: There are hits 1 to 1: for a question, write ? 99"),
        ("why 7", "Error: There are hits 1 to 1"),
    ],
)
def test_what_can_t_be_used_is_said_and_changes_nothing(
    terminal: Terminal, line: str, complaint: str
) -> None:
    said(terminal, ":limit 1")
    said(terminal, "walrus")
    assert " ".join(said(terminal, line)).startswith(complaint)
    assert said(terminal, ":") == [":limit 1"]


def test_words_that_mean_something_else_can_be_asked_for(terminal: Terminal) -> None:
    assert "Nothing was found." not in said(terminal, "7")  # no hits yet: a question
    assert any("number 7" in line for line in said(terminal, "? 7"))
    assert "why did" not in " ".join(said(terminal, "why did the walrus feed on clams"))
    assert said(terminal, ":tag nowhere")[-1] == "Nothing was found."


def test_ctrl_c_cancels_the_line_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.type("half a question")
    terminal.expect("question")
    terminal.press(CONTROL_C, until=PROMPT)
    terminal.line("walrus")
    terminal.expect("Walrus")
    terminal.expect(PROMPT)
    terminal.type(CONTROL_D)
    assert terminal.end()[1] == 0


def test_an_answer_to_a_person_counts_as_use_and_loading_does_not(cli: Cli, terminal: Terminal) -> None:
    said(terminal, "walrus")
    terminal.line("")
    terminal.end()
    assert cli.json("show", "walrus")[0]["access_count"] == 1


# from a pipe


def test_questions_from_a_pipe_are_answered_a_line_each(cli: Cli) -> None:
    asked = "\ufeffwalrus clams\n\n  herring  \n"
    for query in ((), ("-",)):
        answers = cli.out("search", *query, "--json", "-l", "1", input=asked).splitlines()
        assert [json.loads(line)["query"] for line in answers] == ["walrus clams", "herring"]
        assert [len(json.loads(line)["hits"]) for line in answers] == [1, 1]
    text = cli.out("search", "-", "-l", "1", input=asked).splitlines()
    assert [text[0], text[3], text[4]] == ["walrus clams", "", "herring"]
    assert cli.out("search", "-q", "-", "-l", "1", input="walrus\n") == "walrus\n"


def test_each_answer_is_there_before_the_next_question_is_asked(cli: Cli) -> None:
    process = start("search", "-", "--json", stdin=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    for question in ("walrus", "herring"):
        process.stdin.write(question.encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["query"] == question
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()
    process.stderr.close()


def test_how_a_list_of_questions_ends(cli: Cli) -> None:
    assert "or questions on standard input" in cli.error("search", input="")
    assert "line 2, is not UTF-8" in cli.run("search", "-", input=b"x\n\xff\n", code=2).stderr
    done = cli.run("search", "-", "--mode", "keyword", "--json", input="zebra\nlion\n", code=1)
    assert [json.loads(line)["hits"] for line in done.stdout.splitlines()] == [[], []]
    cli.run("search", "-", "--mode", "keyword", input="zebra\nwalrus\n")
    assert "--why-not goes with a query" in cli.error("search", "--why-not", "walrus")


# JSON lines


def test_jsonl_gives_the_elements_of_a_list_a_line_each(cli: Cli) -> None:
    def lines(*arguments: str, input: str | None = None) -> list[dict[str, Any]]:
        return [json.loads(line) for line in cli.out(*arguments, "--jsonl", input=input).splitlines()]

    whole = cli.json("search", "herring", "-l", "3", "--no-reinforce")
    hits = lines("search", "herring", "-l", "3", "--no-reinforce")
    assert [(hit.pop("query"), hit.pop("rank")) for hit in hits] == [("herring", n) for n in (1, 2, 3)]
    assert [hit["memory"]["id"] for hit in hits] == [hit["memory"]["id"] for hit in whole["hits"]]
    assert all(hit.keys() == whole["hits"][0].keys() for hit in hits)
    several = lines("search", "-", "-l", "1", input="walrus\nherring\n")
    assert [(hit["query"], hit["rank"]) for hit in several] == [("walrus", 1), ("herring", 1)]
    assert lines("timeline", "-l", "2") == cli.json("timeline", "-l", "2")
    assert [each["id"] for each in lines("show", "walrus")] == ["walrus"]
    assert lines("config") == [cli.json("config")]
    assert lines("doctor") == []


def test_standard_input_wherever_a_text_is_asked_for(cli: Cli) -> None:
    assert "clams" in cli.out("context", "-", input="what does the\nwalrus feed on?\n")
    id = cli.out("-q", "add", "A long text", "--summary", "-", input="Short\n").strip()
    assert cli.json("show", id)[0]["summary"] == "Short"
    assert "can't be both" in cli.error("add", "-", "--summary", "-", input="x")
    cli.run("sessions", "start", "s")
    assert cli.json("sessions", "summarise", "s", "-", input="All done\n")["summary"] == "All done"
