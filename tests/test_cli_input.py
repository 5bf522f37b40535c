"""Odd input: whatever is typed, one sentence says what to do, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("add ''", "The text is empty"),
        ("add '  '", "The text is empty"),
        ("add x --importance 7", "importance is 7"),
        ("add x --importance nan", "importance must be a number"),
        ("add x --importance much", "is not a valid float"),
        ("add x --sector odd", "is not one of"),
        ("add x --at yesterday", "is not a date"),
        ("add x --expires 5q", "+01:00, or a span such as 30d"),
        ("add x --expires 999999999y", "after the year 9999"),
        ("add x --valid-from 2026-02-01 --valid-until 2026-01-01", "ends"),
        ("add x --meta novalue", "is not of the form NAME=VALUE"),
        ("add x --language klingon", "is no language known here"),
        ("add x --session ''", "The session is empty"),
        ("add one two", "unexpected extra argument"),
        ("search", "or questions on standard input"),
        ("search x --limit 0", "limit is 0"),
        ("search x --limit 1000001", "limit is 1,000,001"),
        ("search x --limit ten", "is not a valid integer"),
        ("search x --mode psychic", "is not one of"),
        ("search x --fusion cold", "is not one of"),
        ("search x --since soon", "is not a date"),
        ("search x --since 2026-02-01 --until 2026-01-01", "before it begins"),
        ("search x --timeframe blurb", "is not a time frame"),
        ("search x --timeframe yesterday --since 2026-01-01", "not both"),
        ("search x --as-of soon", "is not a date"),
        ("search x --weight keyword", "is not of the form NAME=VALUE"),
        ("search x --weight keyword=lots", "is not a number"),
        ("search x --weight magic=1", "is no weight here"),
        ("search x --weight keyword=0 --weight semantic=0", "All weights are 0"),
        ("search x --weight keyword=1 --fusion fallback", "takes no weights"),
        ("search x --threshold 5", "threshold is 5"),
        ("search x --min-salience -1", "min_salience is -1"),
        ("search x --neighbours 99", "neighbours is 99"),
        ("search x --rerank fame", "is not one of"),
        ("search x --in ''", "The namespace is empty"),
        ("search x --in-session ''", "The session is empty"),
        ("-n '' search x", "it is empty"),
        ("--store '' search x", "it is empty"),
        ("timeline --before 1", "go with an ID"),
        ("timeline x --since 2026-01-01", "go with an ID"),
        ("timeline --timeframe yesterday --until 2026-01-01", "not both"),
        ("context x --max-tokens 3", "max_tokens is 3"),
        ("relate a", "two ids"),
        ("sessions start s --at soon", "is not a date"),
        ("nonsense", "No such command"),
        ("completion tcsh", "is not one of"),
        ("-s mysql://host/db stats", "no kind of store known here"),
        ("-s ~nosuchuser/x.db stats", "no such home folder"),
        ("export nowhere/x.jsonl", "does not exist"),
        ("export .", "is a directory"),
        ("import nowhere.jsonl", "does not exist"),
    ],
)
def test_what_can_t_be_used_is_said_and_ends_with_2(cli: Cli, arguments: str, said: str) -> None:
    import shlex

    assert said in cli.error(*shlex.split(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        "show nope", "timeline nope", "forget nope", "restore nope", "supersede nope nope2", "relate a b",
        "relate --list nope", "sessions show nope", "sessions end nope", "sessions summarise nope",
        "forget --document nope --yes",
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_and_ends_with_1(cli: Cli, arguments: str) -> None:
    assert cli.error(*arguments.split(), code=1)


def test_input_that_is_no_text(cli: Cli) -> None:
    assert "NUL byte" in cli.error("add", "-", input=b"a\0b")
    assert "not UTF-8" in cli.error("add", "-", input=b"a\xff")
    assert "half a character" in cli.error("add", "a\udcff")
    assert "is empty" in cli.error("add", "-", input=b"\n")


def test_an_ending_must_tell_ids_apart(cli: Cli) -> None:
    for id in ("a1", "b1", "c1", "d1", "1"):
        cli.add(f"text of {id}", "--id", id)
    assert "several ids end in" not in cli.out("show", "1")
    assert cli.json("show", "1", "a1")[0]["id"] == "1"
    cli.run("forget", "1")
    assert "several ids end in '1'" in cli.error("show", "1", code=1)


def test_a_store_that_is_none(cli: Cli) -> None:
    (cli.folder / "notes.txt").write_text("just text, and more of it " * 10)
    assert "is not a Recollect store" in cli.error("-s", "notes.txt", "search", "x", code=3)
    assert "is a folder" in cli.error("-s", str(cli.folder), "search", "x", code=3)
    assert "no store at nowhere/x.db yet" in cli.error("-s", "nowhere/x.db", "search", "x", code=3)
    assert "does not exist" in cli.error("-s", "nowhere/x.db", "add", "x", code=3)
    assert "name" in cli.error("-s", "x" * 5000, "search", "x", code=3)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "*",
        "NEAR(",
        "AND",
        "a OR",
        "'; DROP TABLE memory",
        "🎉",
        "\x1b[31m",
        "\x00",
        "\udcff",
        "",
        "%_",
    ],
)
def test_any_query_is_a_query(cli: Cli, query: str) -> None:
    cli.add("The cache is warm")
    done = cli.run("search", "--why", "--", query, code=1 if query == "" else 0)
    assert bool(done.stdout) == (query != "")
    cli.run("search", "--mode", "keyword", "--", "cache " + query)
