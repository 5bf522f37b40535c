"""What a shell offers at Tab, asked as shells ask."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.doors.cli import completing
from tests.test_cli import Cli, start


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    made = Cli(tmp_path, monkeypatch)
    made.add("The cache is warm", "--id", "cache", "--tag", "ops", "--tag", "two words", "--speaker", "ada")
    made.add("Deploys\nare\tslow \x1b[31m", "--id", "0190-deploys-0123456789", "--session", "s1")
    made.add("Elsewhere", "--id", "other", "-n", "my team")
    made.run("ingest", "-", "--name", "guide.md", input="# The guide\n\nFeed the walrus.\n")
    return made


def offered(*words: str, shell: str = "bash", **environment: str) -> list[str]:
    """What is offered for the last word of a line."""
    asked = {"_RECOLLECT_COMPLETE": f"{shell}_complete", **environment}
    if shell == "fish":
        asked |= {"COMP_WORDS": " ".join(("recollect", *words)), "COMP_CWORD": words[-1]}
    else:
        asked |= {"COMP_WORDS": "\n".join(("recollect", *words)), "COMP_CWORD": str(len(words))}
    out, err = start(environment=asked).communicate(timeout=60)
    assert err == b""
    return out.decode().split("\n")[:-1] if out.strip() else []


def plain(*words: str, **environment: str) -> list[str]:
    return [line.removeprefix("plain,") for line in offered(*words, **environment)]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("-n", ""), ["default", "'my team'"]),
        (("search", "x", "--in", "my"), ["'my team'"]),
        (("show", "cach"), ["cache"]),
        (("show", "0190"), ["0190-deploys-0123456789"]),
        (("forget", "012345"), []),
        (("forget", "s-012"), ["s-0123456789"]),
        (("supersede", "cache", "s-01"), ["s-0123456789"]),
        (("-n", "'my team'", "relate", ""), ["other"]),
        (("timeline", "cach"), ["cache"]),
        (("search", "x", "--why-not", "cach"), ["cache"]),
        (("sessions", "show", ""), ["s1"]),
        (("search", "x", "--session", ""), ["s1"]),
        (("add", "x", "--tag", "o"), ["ops"]),
        (("search", "x", "--tag", "tw"), ["'two words'"]),
        (("search", "x", "--speaker", ""), ["ada"]),
        (("forget", "--document", ""), ["guide.md"]),
        (("search", "x", "--sector", "e"), ["episodic", "emotional"]),
        (("search", "x", "--mode", "k"), ["keyword"]),
        (("--embedder", "a"), ["auto", "arctic-s"]),
        (("--color", "a"), ["auto", "always"]),
        (("watc",), ["watch"]),
    ],
)
def test_what_is_offered(cli: Cli, words: tuple[str, ...], values: list[str]) -> None:
    assert plain(*words) == values


def test_ids_are_offered_as_search_prints_them_latest_first_with_a_preview(cli: Cli) -> None:
    lines = offered("show", "", shell="fish")
    by_value = dict(line.removeprefix("plain,").split("\t") for line in lines)
    assert list(by_value)[1:] == ["s-0123456789", "cache"]
    assert by_value["cache"].endswith(" The cache is warm")
    assert by_value["s-0123456789"].endswith("Deploys are slow \\x1b[31m")


def test_paths_are_left_to_the_shell(cli: Cli) -> None:
    for words in (("-s", "me"), ("migrate", "me"), ("add", "x", "--file", "me")):
        assert offered(*words) == ["file,me"]
    assert offered("watch", "no") == ["dir,no"]


def test_the_store_that_the_line_names_is_asked(cli: Cli) -> None:
    cli.run("-s", "other.db", "add", "x", "-n", "there")
    assert plain("-s", "other.db", "-n", "") == ["there"]
    assert plain("stats", "--store", "other.db", "-n", "") == ["there"]


def test_nothing_is_made_and_nothing_is_said_when_something_is_wrong(cli: Cli) -> None:
    before = sorted(path.name for path in cli.folder.iterdir())
    (cli.folder / "notes.txt").write_text("no store at all " * 20)
    for store in ("nowhere.db", "no/folder.db", "notes.txt", "mysql://x", "postgresql://127.0.0.1:1/x"):
        assert offered("-s", store, "-n", "") == []
        assert offered("-s", store, "show", "") == []
    assert "search" in plain("wotch", "")
    (cli.folder / "recollect.toml").write_text("[broken")
    assert offered("-n", "") == []
    (cli.folder / "recollect.toml").unlink()
    (cli.folder / "notes.txt").unlink()
    assert sorted(path.name for path in cli.folder.iterdir()) == before


def test_a_server_that_does_not_answer_is_given_up(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x"
        assert offered("-s", url, "-n", "") == []


def test_no_model_is_loaded(cli: Cli) -> None:
    code = (
        "import sys; from recollect.doors.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'onnxruntime') if name in sys.modules], file=sys.stderr)"
    )
    asked = {"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": "recollect show ", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert "plain,cache" in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.fixture
def on_path(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`recollect` where a shell finds it."""
    program = cli.folder / "bin" / "recollect"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recollect.doors.cli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    yield


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_with_the_script(cli: Cli, on_path: None) -> None:
    script = """
source <(recollect completion bash)
complete -p recollect
COMP_WORDS=(recollect -n my) COMP_CWORD=2 COMPREPLY=()
_recollect_completion recollect
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["complete -o nosort -F _recollect_completion recollect", "'my team'"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_with_the_script(cli: Cli, on_path: None) -> None:
    script = "recollect completion fish | source; complete --do-complete 'recollect show cach'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["cache"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_takes_the_script(cli: Cli, on_path: None) -> None:
    script = (
        "autoload -Uz compinit; compinit -u -D; source <(recollect completion zsh); echo ${_comps[recollect]}"
    )
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "_recollect_completion"


def test_every_embedder_that_is_offered_can_be_set(cli: Cli) -> None:
    for name in completing.EMBEDDERS:
        assert cli.json("config", "--embedder", name)["embedder"]["value"] == name
