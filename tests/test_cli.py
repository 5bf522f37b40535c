"""The command line as a whole: its help, its manual, what it costs, how it ends, what it prints."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from recollect.doors.cli import reference, render
from recollect.doors.cli.door import SHARED
from recollect.doors.cli.program import COMMANDS, NAME, recollect
from recollect.opening import open as open_store

MANUAL = Path(__file__).parents[1] / "docs" / "cli.md"
HEAVY = ("numpy", "onnxruntime", "apsw", "rich", "Stemmer", "uuid_utils", "recollect.memories")


class Cli:
    """`recollect` in this process, on a store of the test's own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.chdir(folder)
        for name in ("RECOLLECT_CONFIG", "RECOLLECT_NAMESPACE", "RECOLLECT_QUICK", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
        monkeypatch.setenv("RECOLLECT_URL", str(folder / "memory.db"))
        open_store(folder / "memory.db", embedder="none").close()

    def run(self, *arguments: str, input: str | bytes | None = None, code: int = 0) -> Result:
        """Run it; it must end with this exit code, and never with a traceback."""
        done = CliRunner().invoke(recollect, arguments, input=input, prog_name=NAME)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return done

    def out(self, *arguments: str, input: str | bytes | None = None, code: int = 0) -> str:
        """What it printed to standard output."""
        return self.run(*arguments, input=input, code=code).stdout

    def json(self, *arguments: str, input: str | bytes | None = None, code: int = 0) -> Any:
        """What it answered with --json."""
        return json.loads(self.out(*arguments, "--json", input=input, code=code))

    def add(self, *arguments: str) -> str:
        """Remember something; its id."""
        return self.out("-q", "add", *arguments).strip()

    def error(self, *arguments: str, input: str | bytes | None = None, code: int = 2) -> str:
        """What it complained of, in one sentence and without an answer."""
        done = self.run(*arguments, input=input, code=code)
        assert done.stdout == ""
        return done.stderr.partition("Error: ")[2].strip()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


def start(*arguments: str, environment: dict[str, str] | None = None, **how: Any) -> subprocess.Popen[bytes]:
    """`recollect` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "recollect.doors.cli", *arguments],
        env={**os.environ, **(environment or {})},
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
    )


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its path, those within others too."""
    context = click.Context(recollect)
    for name in recollect.list_commands(context):
        command = recollect.get_command(context, name)
        assert command is not None
        yield f"{NAME} {name}", command
        if isinstance(command, click.Group):
            yield from ((f"{NAME} {name} {inner}", each) for inner, each in command.commands.items())


COMMAND = pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*each, id=each[0]) for each in all_commands()]
)


# help and manual


@COMMAND
def test_every_command_has_help_with_an_example(path: str, command: click.Command) -> None:
    text = inspect.cleandoc(command.help or "")
    assert "\b\nExample:\n  " in text
    assert path in text.partition("Example:")[2]


@COMMAND
def test_every_option_has_help(path: str, command: click.Command) -> None:
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help and option.help.endswith("."), f"{path} {option.name}"
        else:
            assert isinstance(option, click.Argument)
            assert option.metavar, f"{path} {option.name}"


@COMMAND
def test_help_is_printed_and_names_every_option(path: str, command: click.Command, cli: Cli) -> None:
    text = cli.out(*path.split()[1:], "--help")
    assert all(
        name in text for option in (*command.params, *SHARED) for name in option.opts if name[0] == "-"
    )


@COMMAND
def test_the_manual_names_every_command_and_option(path: str, command: click.Command) -> None:
    _, heading, section = MANUAL.read_text("utf-8").partition(f"\n### {path}\n")
    assert heading
    section = section.partition("\n### ")[0]
    options = [name for option in command.params for name in option.opts if name.startswith("-")]
    assert all(f"`{name}" in section for name in options)


def test_the_manual_is_what_the_program_says() -> None:
    assert MANUAL.read_text("utf-8") == reference.reference(), (
        "run python -m recollect.doors.cli.reference > docs/cli.md"
    )


def test_the_list_of_commands_is_complete_and_each_fits_its_line(cli: Cli) -> None:
    text = cli.out("--help")
    for commands in COMMANDS.values():
        for name, (_, summary) in commands.items():
            assert f"  {name:<10}  {summary}\n" in text
    assert "Exit codes:" in text


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("search", "--help"), ("import", "-h")])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys; from recollect.doors.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_completion_offers_the_commands(cli: Cli) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert f"_RECOLLECT_COMPLETE={shell}_complete" in cli.out("completion", shell)
    asked = {"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": "recollect se", "COMP_CWORD": "1"}
    offered, _ = start(environment=asked).communicate()
    assert offered.decode().split() == ["plain,sessions", "plain,search", "plain,serve"]


# shared options


def test_shared_options_may_stand_before_or_after_the_command(cli: Cli) -> None:
    cli.add("The cache is warm", "-n", "one")
    assert cli.json("-n", "one", "stats")["memories"] == 1
    assert json.loads(cli.out("--json", "stats", "-n", "one"))["memories"] == 1
    assert cli.json("-n", "two", "stats", "-n", "one")["memories"] == 1
    assert cli.json("stats")["memories"] == 0
    assert "no store at other.db" in cli.error("stats", "--store", "other.db", code=3)
    assert cli.json("sessions", "start", "s", "-n", "three")["namespace"] == "three"


def test_settings_come_from_the_environment_and_the_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "recollect.toml").write_text('namespace = "from-file"\nurl = "named.db"\n')
    monkeypatch.delenv("RECOLLECT_URL")
    shown = cli.json("config")
    assert shown["namespace"] == {"value": "from-file", "origin": str(cli.folder / "recollect.toml")}
    assert shown["url"]["value"] == str(cli.folder / "named.db")
    assert shown["embedder"] == {"value": "hash", "origin": "environment"}
    assert cli.json("config", "-n", "x")["namespace"] == {"value": "x", "origin": "argument"}
    assert cli.out("config").splitlines()[0].split() == ["setting", "value", "from"]
    assert cli.out("config", "path") == f"{cli.folder / 'recollect.toml'}\n"
    (cli.folder / "recollect.toml").write_text("namespace = 3\n")
    assert "give a string" in cli.error("stats")


def test_config_path_says_where_a_file_would_be(cli: Cli) -> None:
    done = cli.run("config", "path")
    assert done.stdout.strip().endswith("recollect.toml")
    assert "would be here" in done.stderr


def test_config_hides_passwords(cli: Cli) -> None:
    shown = cli.out("config", "-s", "postgresql://me:sec:ret@host/db")
    assert "postgresql://me:***@host/db" in shown
    assert "ret" not in shown


# what reaches a terminal

EVIL = "evil \x1b[31mred\x1b[0m\u202e \x9b2J\x07 <mark>x</mark>\ttab\r\nsecond\x85 line"


def test_text_is_shown_not_obeyed(cli: Cli) -> None:
    id = cli.out("-q", "add", "-", input=EVIL).strip()
    cli.out("supersede", cli.add("old evil words"), id)
    for command in (
        ("search", "evil", "--superseded", "--why"),
        ("show", id),
        ("timeline",),
        ("timeline", id),
    ):
        text = cli.out(*command)
        assert "\\x1b[31mred" in text or "old" in text.partition("\n")[0]
        assert render.safe(text) == text
    text = cli.out("show", id, "--json")
    assert json.loads(text)[0]["content"] == EVIL
    assert render.safe(text) == text
    assert "second\\x85 line" in cli.out("show", id)
    assert "\x1b[31m" in cli.out("context", "evil"), "a prompt gets the text as it is"


def test_a_snippet_is_plain_text_without_a_terminal(cli: Cli) -> None:
    cli.add("Logins use <b>JWT</b> & tokens")
    assert "    Logins use <b>JWT</b> & tokens\n" in cli.out("search", "jwt")


def test_on_a_terminal_matches_are_marked_and_tables_drawn(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.add("Logins use [bold]JWT[/bold] tokens", "--session", "[red]s[/red]")
    monkeypatch.setattr(render, "on_terminal", lambda: True)
    monkeypatch.delenv("TERM", raising=False)
    assert "\x1b[32m\x1b[1mtokens\x1b[0m" in cli.out("search", "tokens", "--why")
    assert "[red]s[/red]" in cli.out("sessions")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in cli.out("search", "tokens", "--why") + cli.out("sessions")


def test_tables_need_no_rich(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "on_terminal", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.table", None)
    cli.add("One", "-n", "数据库")
    cli.add("One", "-n", "ab")
    lines = cli.out("namespaces").splitlines()
    assert lines == ["namespace  memories", "ab                1", "数据库            1"]


def test_utf_8_whatever_the_locale_says(cli: Cli) -> None:
    cli.add("Größe: 数据库 ✓")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    out, err = start("search", "größe", environment=locale).communicate()
    assert "Größe: 数据库 ✓" in out.decode("utf-8"), err


# how it ends


def test_a_reader_that_goes_away_is_no_error(cli: Cli) -> None:
    cli.run("import", "-", input="".join(f'{{"text": "line {i} {"x" * 100}"}}\n' for i in range(2000)))
    process = start("export")
    assert process.stdout and process.stderr
    assert process.stdout.readline().startswith(b'{"type": "recollect"')
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
    process.stderr.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_is_quiet(cli: Cli) -> None:
    process = start("add", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    wait_for(cli.folder / "memory.db-wal")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stdout.read() + process.stderr.read() == b""
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def wait_for(path: Path) -> None:
    import time

    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


def test_the_demo_is_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    demo: Any = types.ModuleType("recollect.demo")
    demo.run = lambda *, out, color: out.write(f"shown, color {color}\n") and 0
    monkeypatch.setitem(sys.modules, "recollect.demo", demo)
    assert cli.out("demo") == "shown, color False\n"
    assert "no --json" in cli.error("demo", "--json")


def test_a_slip_of_the_hand_is_told_what_was_meant(cli: Cli) -> None:
    assert "No such command 'serach'. Did you mean 'search'?" in cli.error("serach", "x")
    assert cli.error("frobnicate").endswith("No such command 'frobnicate'.")
