"""`recollect tune`: what it proposes, what it writes, and the way back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import Memories
from recollect import open as open_store
from recollect.doors.cli import progress
from tests.test_cli import Cli
from tests.test_tuning import talk

UNREAD = "hash:2"
"""Two numbers for a text say next to nothing of it, so keywords deserve more weight."""
LONG = " and also what the others told us of all that happened there in the long summer"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Its memories are turns of conversations."""
    made = Cli(tmp_path, monkeypatch)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", UNREAD)
    with open_store(tmp_path / "memory.db", embedder=UNREAD) as memories:
        talk(memories, more=LONG)
    return made


def test_it_proposes_and_changes_nothing(cli: Cli) -> None:
    done = cli.run("tune")
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "default: 60 turns that must find their reply, 120 parts of texts that must find them; hash:2"
    )
    assert lines[1].split() == ["semantic", "keyword", "replies:", "nDCG@10", "parts:", "nDCG@10"]
    assert [line.split()[0] for line in lines[2:11]] == [f"0.{n}0" for n in range(1, 10)]
    assert lines[6].endswith("proposed")
    assert lines[7].endswith("default, in force")
    assert lines[11] == "semantic 0.50, keyword 0.50 answer better than the default"
    assert lines[12].startswith("on probes that they were not chosen by: nDCG@10 +0.")
    assert len(lines) == 13
    assert done.stderr == "Nothing was changed; recollect tune --apply puts them in force.\n"
    assert cli.json("stats")["tuned"] is None


def test_what_is_applied_is_used_by_every_search_and_shown(cli: Cli) -> None:
    done = cli.run("tune", "--apply")
    assert done.stderr == "They are in force now; recollect tune --undo takes them back.\n"
    remark = "weights tuned to these memories: semantic 0.50, keyword 0.50"
    assert remark in cli.out("search", "how the barado went", "--why")
    assert "weights       semantic 0.50, keyword 0.50 (tuned)" in cli.out("stats")
    tuned = {"semantic": 0.5, "keyword": 0.5, "generation": "hash-2-v1", "reading": "known"}
    assert cli.json("stats")["tuned"] == tuned
    again = cli.run("tune")
    assert "0.50     0.50" in again.stdout
    assert "in force, proposed" in again.stdout
    assert again.stderr == "Nothing was changed.\n"


def test_the_way_back(cli: Cli) -> None:
    cli.run("tune", "--apply")
    assert cli.out("tune", "--undo") == "set now: the default weights\n"
    assert cli.json("stats")["tuned"] is None
    assert cli.out("tune", "--undo") == "set now: semantic 0.50, keyword 0.50\n"
    assert cli.out("tune", "--reset") == "set now: the default weights\n"
    assert cli.json("tune", "--reset") == {"tuned": None}
    assert cli.json("tune", "--undo")["tuned"]["semantic"] == 0.5
    assert "weights       the default" not in cli.out("stats")


def test_one_json_document_has_everything(cli: Cli) -> None:
    found = cli.json("tune", "--sample", "50")
    assert found["default"] == found["in_force"] == {"semantic": 0.6, "keyword": 0.4}
    assert found["weights"]["semantic"] < 0.6
    assert found["gain"].keys() == {"value", "low", "high"}
    assert [(each["kind"], each["probes"]) for each in found["evidence"]] == [("replies", 50), ("parts", 50)]
    assert [point["semantic"] for point in found["evidence"][0]["curve"]] == [n / 10 for n in range(1, 10)]
    assert found["applied"] is False
    assert cli.json("tune", "--sample", "50", "--apply")["applied"] is True


def test_the_default_is_kept_in_so_many_words(cli: Cli) -> None:
    cli.run("-n", "few", "add", "The crane lifts containers at the quay")
    done = cli.run("-n", "few", "tune", "--apply")
    assert done.stdout.splitlines()[-1] == (
        "keep the default: towards keywords, 40 turns that must find their reply are needed; "
        "towards meaning, 40 parts of texts that must find them are needed"
    )
    assert done.stderr == "Nothing was changed.\n"
    with open_store(cli.folder / "memory.db", namespace="few", embedder=UNREAD) as memories:
        memories.use_weights({"semantic": 0.5, "keyword": 0.5})
    said = cli.run("-n", "few", "tune").stderr
    assert said == "Nothing was changed; recollect tune --reset goes back to the default.\n"


def test_what_can_not_be_done_is_said_in_one_sentence(cli: Cli) -> None:
    assert cli.error("tune", "--apply", "--undo") == "Give one of --apply, --undo and --reset."
    assert cli.error("tune", "--reset", "--sample", "5") == "Nothing is asked to go back: leave out --sample."
    assert cli.error("tune", "--undo") == (
        "The weights of 'default' were never changed: there is nothing to take back."
    )
    assert cli.error("-n", "nowhere", "tune", code=4) == (
        "No memory in 'nowhere' has a vector, so there is nothing to weigh: run recollect reembed first."
    )
    assert cli.error("--embedder", "none", "tune", code=4) == (
        "There is nothing to weigh: vectors are switched off, so keywords answered alone."
    )


def test_a_store_that_can_not_be_written_can_be_measured(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "memory.db").chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may always write
    assert cli.json("tune")["weights"] == {"semantic": 0.5, "keyword": 0.5}
    monkeypatch.setattr(Memories, "tune", None)  # it is not even begun
    assert cli.error("tune", "--apply", code=3) == (
        "The store can't be written, so nothing could be put in force: leave out --apply, "
        "or change its permissions."
    )


def test_it_shows_how_far_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int | None]] = []

    class Told:
        def __enter__(self) -> object:
            return lambda *now: told.append(now)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(progress, "shown", lambda **_: Told())
    cli.run("tune", "--sample", "10")
    assert told[-1] == ("tuning default", 20, 20)
