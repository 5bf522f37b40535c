"""`recollect serve` and `recollect token`: real processes on loopback, stopped by their ids."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect.doors.http import reference
from recollect.doors.http.tokens import OWNER, TokenFile, made, matching
from recollect.errors import ConfigError, InvalidInput, NotFound

from .test_cli import Cli

TOKEN = "a-token-for-the-tests-0123456789"
FUZZED = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422"]
"""
"""What is of the right form may still be refused: an interval that ends before it begins, an unknown id."""


class Server:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str) -> None:
        self.process, self.url, self.token = process, url, token

    def ask(self, path: str, body: object = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=60)


@contextmanager
def serving(folder: Path, *options: str, store: str = "memory.db", **environment: str) -> Iterator[Server]:
    """A server over a store in the folder, gone at the end."""
    place = store if store == ":memory:" else str(folder / store)
    command = [sys.executable, "-m", "recollect.doors.cli", "--json", "-s", place, "serve"]
    settings = {"RECOLLECT_TOKENS": str(folder / "tokens.json"), "RECOLLECT_EMBEDDER": "hash", **environment}
    with subprocess.Popen(
        [*command, "--port", "0", *options],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            told = ""
            while not told.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                told += line
            greeting = json.loads(told)
            yield Server(process, greeting["url"], greeting["token"])
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, how: signal.Signals) -> None:
    with serving(tmp_path) as server:
        assert server.ask("/health")["status"] == "ok"
        kept = server.ask("/v1/memories", {"text": "The gateway listens on port 8443"})
        found = server.ask("/v1/recall", {"query": "which port"})
        assert found["hits"][0]["memory"]["id"] == kept["id"]
        assert server.stop(how) == 0
    with serving(tmp_path) as again:
        assert again.token == server.token, "the token that was made at the first start"
        memory = again.ask(f"/v1/memories/{kept['id']}")
        assert memory["access_count"] == 1, "what was noted in the background was written before the end"


def test_two_servers_share_one_store(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as other:
        kept = one.ask("/v1/memories", {"text": "Walrus"})
        assert other.ask("/v1/recall", {"query": "walrus"})["hits"][0]["memory"]["id"] == kept["id"]


def test_servers_that_start_at_once_have_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as several:
        owners = set(several.map(lambda _: TokenFile(tmp_path / "tokens.json").owner(), range(24)))
        several.map(lambda i: TokenFile(tmp_path / "tokens.json").add(made(f"t{i}")), range(24))
    assert owners == {TokenFile(tmp_path / "tokens.json").owner()}
    assert len(TokenFile(tmp_path / "tokens.json").tokens()) == 25, "none was lost"
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"tokens.json", ".tokens.json.lock"}


def test_the_owners_token_is_revoked_like_any_other(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        TokenFile(tmp_path / "tokens.json").remove(OWNER)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.ask("/v1/stats")
        server.token = str(TokenFile(tmp_path / "tokens.json").owner().text)
        assert server.ask("/v1/stats")["memories"] == 0


def test_a_token_from_the_environment(tmp_path: Path) -> None:
    with serving(tmp_path, RECOLLECT_TOKEN=TOKEN) as server:
        assert server.token == TOKEN
        assert server.ask("/v1/stats")["memories"] == 0
        assert not (tmp_path / "tokens.json").exists()


def test_a_port_that_is_taken_is_said_so(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        port = server.url.rpartition(":")[2]
        command = [
            sys.executable,
            "-m",
            "recollect.doors.cli",
            "-s",
            str(tmp_path / "x.db"),
            "serve",
            "--port",
            port,
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "RECOLLECT_TOKENS": str(tmp_path / "t.json")},
        )
    assert (done.returncode, done.stdout) == (3, "")
    assert "choose a --port" in done.stderr


def test_tokens_are_made_listed_and_removed_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, monkeypatch)
    monkeypatch.setenv("RECOLLECT_TOKENS", str(tmp_path / "tokens.json"))
    with serving(tmp_path) as server:
        added = cli.json("token", "add", "dashboard", "--read-only", "-n", "team")
        server.token = added["token"]
        assert server.ask("/v1/stats")["namespace"] == "team"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            server.ask("/v1/memories", {"text": "no"})
        listed = cli.json("token")
        assert [each["name"] for each in listed] == [OWNER, "dashboard"]
        assert all("token" not in each and "hash" not in each for each in listed)
        assert "dashboard" in cli.out("token")
        cli.run("token", "remove", "dashboard")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.ask("/v1/stats")
    assert "no token" in cli.run("token", "remove", "dashboard", code=1).stderr
    assert "already" in cli.run("token", "add", OWNER, code=2).stderr


def test_other_machines_are_let_in_only_on_purpose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, monkeypatch)
    monkeypatch.setenv("RECOLLECT_TOKENS", str(tmp_path / "tokens.json"))
    assert "--remote" in cli.run("serve", "--host", "0.0.0.0", code=2).stderr
    monkeypatch.setenv("RECOLLECT_TOKEN", "short")
    assert "at least 16" in cli.run("serve", code=2).stderr


@pytest.mark.parametrize(
    ("option", "value", "instead"),
    [
        ("--allow-host", "https://memory.example", "memory.example"),
        ("--allow-host", "", "memory.example"),
        ("--allow-origin", "app.example", "https://app.example"),
        ("--allow-origin", "https://app.example/page", "https://app.example"),
        ("--allow-origin", "*", "https://app.example"),
    ],
)
def test_whom_to_let_in_is_said_so_that_it_can_be_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, value: str, instead: str
) -> None:
    """A name that no request can have lets nobody in, or whoever names the server by what is no name."""
    monkeypatch.setenv("RECOLLECT_TOKENS", str(tmp_path / "tokens.json"))
    nowhere = ("--host", "256.0.0.1", "--remote")  # so that it ends in any case
    told = Cli(tmp_path, monkeypatch).run("serve", *nowhere, option, value, code=2).stderr
    assert option in told and instead in told


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['starlette'] = None; from recollect.doors.cli import main; main(['serve'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "pip install 'recollect[server]'" in done.stderr


class TestTokenFile:
    def test_it_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "tokens.json"
        tokens = TokenFile(path)
        assert tokens.tokens() == ()
        owner = tokens.owner()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert TokenFile(path).owner() == owner

    def test_only_the_owners_is_kept_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "tokens.json"
        added = TokenFile(path).add(made("other", read_only=True, namespace="n"))
        assert added.text is not None
        assert added.text not in path.read_text()
        (kept,) = TokenFile(path).tokens()
        assert matching(added.text, [kept]) == kept
        assert (kept.read_only, kept.namespace, kept.text) == (True, "n", None)
        assert matching("something else", [kept]) is None

    def test_a_broken_file_is_said_so(self, tmp_path: Path) -> None:
        path = tmp_path / "tokens.json"
        path.write_text("{}")
        with pytest.raises(ConfigError, match="begin anew"):
            TokenFile(path).tokens()
        path.unlink()
        with pytest.raises(NotFound):
            TokenFile(path).remove("x")
        with pytest.raises(InvalidInput):
            made(" ")


def test_a_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """Schemathesis reads the server's own description, and sends what fits it and what does not."""
    (tmp_path / "schemathesis.toml").write_text(FUZZED)
    with serving(tmp_path, store=":memory:", RECOLLECT_TOKEN=TOKEN) as server:
        for namespace in ("default", "0"):  # the names that it likes to begin with
            there = f"?namespace={namespace}"
            for id in ("0", "00"):
                server.ask(f"/v1/memories{there}", {"text": f"Walrus {id}", "id": id, "session": "0"})
            server.ask(f"/v1/documents{there}", {"name": "0", "text": "Walrus"})
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
        done = subprocess.run(
            [*command, f"{server.url}/openapi.json", "-H", f"Authorization: Bearer {TOKEN}",
             "--max-examples", "3", "--generation-deterministic", "--no-color",
             "--phases", "examples,coverage,fuzzing"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr
        assert server.ask("/health")["status"] == "ok"


def test_the_manual_lists_every_operation() -> None:
    """Made anew with `make docs`."""
    manual = (Path(__file__).parents[1] / "docs" / "http.md").read_text("utf-8")
    assert reference.written(manual) == manual
    assert all(f"`{path}`" in manual for path in ("/health", "/metrics", "/openapi.json"))
