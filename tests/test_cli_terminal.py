"""On a real terminal: colours where they are wanted, progress where it is seen; and how a command ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.doors.cli.program import EXIT_CODES
from tests.terminals import Terminal
from tests.test_cli import Cli, start, wait_for

MARKED = "\x1b[32m\x1b[1mcache\x1b[0m"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    made = Cli(tmp_path, monkeypatch)
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    made.add("The cache is warm")
    return made


def on_terminal(*arguments: str, **environment: str) -> str:
    with Terminal(*arguments, environment=environment) as terminal:
        text, code = terminal.end()
    assert code == 0, text
    return text


@pytest.mark.parametrize(
    ("arguments", "environment", "is_coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, True),
        ((), {"TERM": "dumb"}, False),
        ((), {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ((), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "auto"), {"NO_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal(
    cli: Cli, arguments: tuple[str, ...], environment: dict[str, str], is_coloured: bool
) -> None:
    text = on_terminal("search", "cache", *arguments, **environment)
    assert (MARKED in text, "\x1b" in text) == (is_coloured, is_coloured)


def test_colours_without_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in cli.out("search", "cache")
    assert MARKED in cli.out("search", "cache", "--color", "always")
    assert MARKED in cli.out("--color", "always", "search", "cache")
    assert "\x1b" not in cli.out("--color", "always", "search", "cache", "--json")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert MARKED in cli.out("search", "cache")
    assert "\x1b" not in cli.out("search", "cache", "--color", "never")


def test_progress_is_drawn_on_a_terminal_and_gone_at_the_end(cli: Cli) -> None:
    lines = "".join(f'{{"text": "note number {number}"}}\n' for number in range(2000))
    (cli.folder / "notes.jsonl").write_text(lines)
    drawn = on_terminal("import", "notes.jsonl")
    assert "embedding" in drawn and "\x1b[" in drawn
    assert drawn.endswith("imported: added 2,000\n")
    for quiet, environment in ((("-q",), {}), ((), {"TERM": "dumb"})):
        said = on_terminal("import", "notes.jsonl", "--keep-duplicates", *quiet, **environment)
        assert said == "imported: added 2,000\n"
    plain = on_terminal("import", "notes.jsonl", "--keep-duplicates", "--color", "never")
    assert "embedding" in plain and "\x1b[32m" not in plain and "\x1b[38;5" not in plain


def test_tables_are_drawn_on_a_terminal(cli: Cli) -> None:
    assert "\x1b[1m" in on_terminal("namespaces")
    assert "\x1b" not in on_terminal("namespaces", "--color", "never")


# every exit code


def _interrupted(cli: Cli) -> int:
    process = start("add", "-", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(cli.folder / "memory.db-wal")
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    assert process.stdin
    process.stdin.close()
    return code


def _without_a_reader(cli: Cli) -> int:
    cli.run("import", "-", input="".join(f'{{"text": "line {i} {"x" * 100}"}}\n' for i in range(2000)))
    process = start("export", stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    return process.wait(60)


def _ran(*arguments: str) -> Callable[[Cli], int]:
    def run(cli: Cli) -> int:
        process = start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return process.wait(60)

    return run


ENDINGS = {
    0: _ran("search", "cache"),
    1: _ran("show", "nothing-ends-so"),
    2: _ran("search", "cache", "--limit", "0"),
    3: _ran("-s", "nowhere.db", "stats"),
    4: _ran("--embedder", "none", "reembed"),
    130: _interrupted,
    141: _without_a_reader,
}


def test_every_code_is_checked_here() -> None:
    assert ENDINGS.keys() == EXIT_CODES.keys()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("code", EXIT_CODES)
def test_it_ends_with_the_code_that_the_help_promises(cli: Cli, code: int) -> None:
    assert ENDINGS[code](cli) == code
