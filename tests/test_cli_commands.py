"""What each command does: one call to Memories, and its answer for people and for programs."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from recollect.doors.cli import progress, writing
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


# add


def test_add_takes_every_field(cli: Cli) -> None:
    done = cli.json(
        "add", "We chose PostgreSQL 17.2", "--session", "s1", "--speaker", "ada", "--at", "2026-03-01T10:00",
        "--sector", "semantic", "--tier", "global", "--tag", "db", "--tag", "billing", "--file", "a.py",
        "--importance", "0.8", "--summary", "PG", "--meta", "a=b=c", "--source", "chat", "--trust", "high",
        "--language", "de", "--valid-from", "2026-02-01", "--valid-until", "2030-01-01",
        "--expires", "2031-01-01", "--id", "mine",
    )  # fmt: skip
    assert done == {"id": "mine", "outcome": "added", "embedded": True, "near_duplicates": []}
    memory = cli.json("show", "mine")[0]
    expected = {
        "content": "We chose PostgreSQL 17.2", "session": "s1", "speaker": "ada", "sector": "semantic",
        "tier": "global", "tags": ["db", "billing"], "files": ["a.py"], "importance": 0.8, "summary": "PG",
        "metadata": {"a": "b=c"}, "source": "chat", "trust": "high", "language": "de",
        "created_at": "2026-03-01T10:00:00+00:00", "valid_from": "2026-02-01T00:00:00+00:00",
        "valid_until": "2030-01-01T00:00:00+00:00", "expires_at": "2031-01-01T00:00:00+00:00",
    }  # fmt: skip
    assert {name: memory[name] for name in expected} == expected
    shown = cli.out("show", "mine")
    assert all(part in shown for part in ("s1", "ada", "global", "db, billing", '{"a": "b=c"}', "2030-01-01"))


def test_add_expires_after_a_span(cli: Cli) -> None:
    id = cli.add("Soon gone", "--expires", "30 days")
    expires = datetime.fromisoformat(cli.json("show", id)[0]["expires_at"])
    assert abs(expires - datetime.now(UTC) - timedelta(days=30)) < timedelta(minutes=5)


def test_add_reads_standard_input(cli: Cli) -> None:
    id = cli.out("-q", "add", "-", input="\ufeffGröße\nzwei\n").strip()
    assert cli.json("show", id)[0]["content"] == "Größe\nzwei"


def test_add_says_what_happened(cli: Cli) -> None:
    first = cli.run("add", "The cache is warm")
    again = cli.run("add", "The cache is warm")
    assert first.stdout.endswith("  added\n")
    assert again.stdout == first.stdout.replace("added", "reinforced")
    assert "was there already" in again.stderr
    assert cli.run("-q", "add", "The cache is warm").stderr == ""
    assert cli.out("add", "The cache is warm", "--keep-duplicates").endswith("  added\n")


def test_add_without_an_embedder_says_so(cli: Cli) -> None:
    assert "without a vector" in cli.run("--embedder", "none", "add", "Plain words").stderr


# search


def test_a_quiet_search_prints_ids_alone(cli: Cli) -> None:
    id = cli.add("The walrus likes herring")
    assert cli.out("-q", "search", "walrus") == f"{id}\n"


def test_quiet_holds_for_one_command(cli: Cli) -> None:
    log = logging.getLogger("recollect")
    before = log.level
    cli.add("The walrus likes herring")
    cli.out("-q", "search", "walrus")
    assert log.level == before != logging.ERROR


def test_search_prints_rank_score_date_and_short_id(cli: Cli) -> None:
    id = cli.add(
        "We chose PostgreSQL 17.2", "--at", "2026-03-01T10:30", "--speaker", "ada", "--session", "s1"
    )
    head, text = cli.out("search", "which", "PostgreSQL").splitlines()
    assert head.split() == ["1", head.split()[1], "2026-03-01", "10:30", id[-12:], "ada", "session", "s1"]
    assert 0 < float(head.split()[1]) <= 1
    assert text == "    We chose PostgreSQL 17.2"


def test_search_json_is_one_document(cli: Cli) -> None:
    cli.add("We chose PostgreSQL 17.2")
    found = cli.json("search", "PostgreSQL last week", "--mode", "keyword")
    assert list(found) == [
        "query", "mode", "fusion", "timeframe", "confidence", "likelihood", "notes", "hits"
    ]  # fmt: skip
    assert (found["mode"], found["timeframe"]["phrase"]) == ("keyword", "last week")
    hit = found["hits"][0]
    assert hit["highlights"] == ["We chose <mark>PostgreSQL</mark> 17.2"]
    assert hit["why"]["keyword"]["rank"] == 1
    assert hit["is_superseded"] is False


def test_search_why_explains_every_number(cli: Cli) -> None:
    cli.add("We chose PostgreSQL 17.2 for billing")
    old = cli.add("We chose MySQL for billing", "--at", "2026-01-01")
    cli.run("supersede", old, "--text", "We chose PostgreSQL 17.2 for billing")
    lines = cli.out("search", "billing last week", "--superseded", "--why").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("mode hybrid, fusion mix"))
    assert 'time "last week"' in lines[start]
    header, *rows = lines[start + 3 :]
    columns = (
        "keyword #",
        "raw",
        "share",
        "semantic #",
        "base",
        "lent",
        "× salience",
        "× superseded",
        "score",
    )
    assert all(column in header for column in columns)
    assert len(rows) == 2
    assert any("it no longer holds" in row for row in rows)
    assert all(row.startswith(str(rank)) for rank, row in enumerate(rows, 1))


def test_search_marks_what_was_superseded_and_related(cli: Cli) -> None:
    old, other = cli.add("Deploys go through Jenkins"), cli.add("Jenkins is slow", "--trust", "low")
    new = cli.out("-q", "supersede", old, "--text", "Deploys go through Buildkite").strip()
    cli.run("relate", old, other)
    text = cli.out("search", "jenkins", "--superseded")
    assert f"[superseded by {new[-12:]}: Deploys go through Buildkite]" in text
    assert "[low trust]" in text
    assert "2 relations: recollect relate --list" in text
    assert "superseded" not in cli.out("search", "jenkins")


def test_search_takes_filters(cli: Cli) -> None:
    cli.add(
        "cache one", "--tag", "a", "--tag", "b", "--speaker", "ada", "--session", "s", "--at", "2026-01-05"
    )
    cli.add("cache two", "--tag", "a", "--tier", "global", "--sector", "emotional", "--importance", "0.1")
    cli.add("cache three", "-n", "other")

    def found(*options: str) -> set[str]:
        hits = cli.json("search", "cache", "--no-reinforce", *options)["hits"]
        return {hit["memory"]["content"].split()[1] for hit in hits}

    assert found() == {"one", "two"}
    assert found("--tag", "a", "--tag", "b") == {"one"}
    assert found("--speaker", "ada") == found("--session", "s") == found("--until", "2026-02-01") == {"one"}
    assert found("--since", "2026-02-01") == found("--tier", "global") == {"two"}
    assert found("--sector", "emotional", "--sector", "procedural") == {"two"}
    assert found("--timeframe", "January 2026") == {"one"}
    assert found("--in", "other", "--in", "default") == {"one", "two", "three"}
    assert found("--limit", "1", "--weight", "keyword=1", "--fusion", "rrf") <= {"one", "two"}
    assert found("--expand", "warm", "--rerank", "recency", "--mode", "auto") == {"one", "two"}
    assert "  other\n" in cli.out("search", "cache", "--in", "other", "--in", "default")


def test_search_within_a_session_is_noted_there(cli: Cli) -> None:
    id = cli.add("The cache is warm")
    cli.run("search", "cache", "--in-session", "asking")
    assert [session["id"] for session in cli.json("sessions")] == ["asking"]
    before = cli.json("show", id)[0]
    cli.run("search", "cache", "--no-reinforce")
    assert cli.json("show", id)[0]["access_count"] == before["access_count"] == 1


def test_search_shows_neighbours(cli: Cli) -> None:
    for text in ("before it", "the cache is warm", "after it"):
        cli.add(text, "--session", "s", "--speaker", "ada")
    lines = cli.out("search", "cache", "-l", "1", "--neighbours", "1").splitlines()
    assert [line.split("ada: ")[1] for line in lines[2:]] == ["before it", "after it"]


def test_nothing_found_ends_as_grep_does(cli: Cli) -> None:
    done = cli.run("search", "anything", code=1)
    assert (done.stdout, done.stderr.splitlines()[-1]) == ("", "Nothing was found.")
    assert cli.run("search", "anything", "-q", code=1).stderr == ""
    assert cli.json("search", "anything", code=1)["hits"] == []
    assert cli.run("timeline", code=1).stderr == "Nothing was found.\n"
    cli.run("context", "anything", code=1)


def test_notes_go_to_stderr(cli: Cli) -> None:
    cli.run("--embedder", "none", "add", "The cache is warm")
    done = cli.run("--embedder", "none", "search", "cache")
    assert "keywords answered alone" in done.stderr
    assert "keywords answered alone" not in done.stdout
    assert cli.run("--embedder", "none", "search", "cache", "-q").stderr == ""


# timeline and context


def test_timeline_around_a_memory(cli: Cli) -> None:
    ids = [
        cli.add(f"thing {i}", "--session", "s", "--at", f"2026-03-0{i}", "--speaker", "b")
        for i in range(1, 6)
    ]
    cli.run("sessions", "summarise", "s", "Five things")
    lines = cli.out("timeline", ids[2][-12:], "--before", "1", "--after", "1").splitlines()
    assert lines[0].startswith("session s · ") and lines[0].endswith(" · Five things")
    assert [line[0] for line in lines[1:]] == [" ", ">", " "]
    answer = cli.json("timeline", ids[2])
    assert [len(answer[part]) for part in ("before", "after")] == [2, 2]
    assert answer["sessions"]["s"]["summary"] == "Five things"


def test_timeline_within_a_time(cli: Cli) -> None:
    cli.add("thing one", "--at", "2026-01-05", "--tag", "x")
    cli.add("thing two", "--at", "2026-02-05")
    assert [each["text"] for each in cli.json("timeline")] == ["thing one", "thing two"]
    assert len(cli.json("timeline", "--timeframe", "January 2026")) == 1
    assert len(cli.json("timeline", "--since", "2026-02-01", "--until", "2026-03-01")) == 1
    assert cli.out("timeline", "--tag", "x").endswith("thing one #x\n")


def test_context_is_for_a_prompt(cli: Cli) -> None:
    cli.add("The cache is warm </memory> & so on")
    text = cli.out("context", "is", "the", "cache", "warm")
    assert text.startswith("<memories>\n") and text.endswith("</memories>\n")
    assert "&lt;/memory&gt;" in text
    cli.add("cache " * 200)
    done = cli.run("context", "cache", "--max-tokens", "100")
    assert "1 memory left out" in done.stderr
    assert cli.json("context", "cache", "--max-tokens", "100")["left_out"] == 1


# sessions


def test_sessions_from_start_to_end(cli: Cli) -> None:
    assert cli.run("sessions", code=1).stderr == "There are no sessions.\n"
    assert cli.out("sessions", "start", "s1", "--agent", "claude", "--at", "2026-03-01") == (
        "s1 · claude · 2026-03-01 00:00 … open\n"
    )
    cli.add("The cache is warm", "--session", "s1")
    assert cli.json("sessions", "summarise", "s1")["summary"] == "The cache is warm"
    ended = cli.json("sessions", "end", "s1", "--summary", "-", "--at", "2026-03-02", input="All done\n")
    assert (ended["summary"], ended["ended_at"]) == ("All done", "2026-03-02T00:00:00+00:00")
    shown = cli.json("sessions", "show", "s1")
    assert [each["text"] for each in shown["timeline"]] == ["The cache is warm"]
    assert cli.out("sessions", "show", "s1").splitlines()[0].endswith(" · All done")
    assert cli.out("sessions").splitlines()[1].split()[0] == "s1"
    assert cli.json("sessions", "--since", "2026-04-01", code=1) == []
    assert len(cli.out("-q", "sessions", "start").strip()) == 36


# supersede, relate, forget, restore


def test_supersede_by_id_or_by_text(cli: Cli) -> None:
    old, new = cli.add("Port 80"), cli.add("Port 8080")
    assert cli.out("supersede", old[-12:], new[-12:], "--at", "2030-01-01") == (
        f"{new[-12:]} supersedes {old[-12:]}\n"
    )
    assert cli.json("show", old)[0]["valid_until"] == "2030-01-01T00:00:00+00:00"
    third = cli.json("supersede", new, "--text", "-", input="Port 8443\n")["new"]
    assert cli.json("show", new)[0]["superseded_by"] == third


def test_a_supersession_that_fails_adds_nothing(cli: Cli) -> None:
    old = cli.add("Port 80")
    cli.error("supersede", old, "--text", "Port 8080", "--at", "soon")
    cli.error("supersede", "nope", "--text", "Port 8080", code=1)
    assert cli.json("stats")["memories"] == 1
    assert "either NEW" in cli.error("supersede", old)
    assert "either NEW" in cli.error("supersede", old, old, "--text", "x")


def test_relate_list_and_remove(cli: Cli) -> None:
    a, b = cli.add("The cache is warm"), cli.add("The sun shines")
    cli.run("relate", a, b, "--type", "caused_by", "--origin", "me")
    assert f"{a[-12:]} caused_by {b[-12:]}  (by me, " in cli.out("relate", "--list", b)
    assert cli.json("show", a)[0]["relations"][0]["type"] == "caused_by"
    assert "caused_by" in cli.out("show", a)
    assert cli.json("relate", a, b, "--remove")["removed"] == 1
    assert cli.run("relate", "--list", a, code=1).stderr == "It has no relations.\n"
    assert "two ids" in cli.error("relate", a)
    assert "--list goes with" in cli.error("relate", "--list", a, "--type", "x")


def test_forget_ids_and_print_the_receipt(cli: Cli) -> None:
    id, other = cli.add("The cache is warm"), cli.add("The sun shines")
    cli.run("relate", id, other)
    assert cli.out("forget", id[-12:]) == (
        "forgotten: 1 memory, 1 keyword entry, 1 vector, 0 session links, 1 relation\n"
    )
    cli.error("show", id, code=1)
    assert cli.json("forget", other)["memories"] == 1


def test_forget_by_filter_needs_a_yes(cli: Cli) -> None:
    for i in range(3):
        cli.add(
            f"thing {i}", "--session", "s", "--tag", f"t{i}", "--speaker", "ada", "--at", f"2026-01-0{i + 1}"
        )
    assert "say --yes" in cli.error("forget", "--session", "s")
    assert "say --yes" in cli.error("forget", "--everything")
    assert cli.json("forget", "--session", "s", "--tag", "t0", "--yes")["memories"] == 1
    assert cli.json("forget", "--speaker", "ada", "--until", "2026-01-03", "-y")["memories"] == 1
    assert cli.json("forget", "--expired", "--yes")["memories"] == 0
    assert cli.json("forget", "--everything", "--yes")["memories"] == 1


def test_forget_asks_on_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        stdin = type("Stream", (), {"isatty": staticmethod(lambda: True)})()

    id = cli.add("The cache is warm", "--session", "s")
    monkeypatch.setattr(writing, "sys", Terminal)
    assert "Nothing was forgotten" in cli.run("forget", "--session", "s", input="n\n", code=1).stderr
    assert "Forget 1 memory in the namespace default for good?" in cli.run("forget", id, input="y\n").stderr
    assert cli.run("forget", "--everything", input="", code=130).stdout == ""


def test_forget_softly_and_restore(cli: Cli) -> None:
    id = cli.add("The cache is warm")
    assert cli.out("forget", "--soft", id) == "1 memory hidden\n"
    cli.run("search", "cache", code=1)
    assert "deleted" in cli.out("show", id)
    assert cli.out("restore", id[-12:]) == "1 memory restored\n"
    assert cli.json("restore", id)["restored"] == 0
    assert "give ids" in cli.error("forget", "--soft", "--everything", "--yes")


def test_forget_must_be_told_what(cli: Cli) -> None:
    id = cli.add("The cache is warm")
    for arguments in ((), (id, "--expired"), ("--session", "s", "--everything"), ("--document", "d", id)):
        assert "in one way" in cli.error("forget", *arguments, "--yes")


# upkeep


def test_stats_and_namespaces(cli: Cli) -> None:
    assert cli.run("namespaces", code=1).stderr == "There are no namespaces yet.\n"
    cli.add("Ein warmer Speicher, der nicht kalt ist", "-n", "proj1")
    assert cli.json("namespaces") == {"proj1": 1}
    assert cli.json("stats", "-n", "proj1")["vectors"] == 1
    text = cli.out("stats", "-n", "proj1")
    assert "memories      1\n" in text and "embedder      hash\n" in text


def test_doctor_finds_and_mends(cli: Cli) -> None:
    cli.add("The cache is warm")
    assert cli.out("doctor") == "all is well\n"
    connection = apsw.Connection(str(cli.folder / "memory.db"))
    connection.execute("INSERT INTO memory_words (memory_words) VALUES ('delete-all')")
    connection.close()
    done = cli.run("doctor", code=1)
    assert done.stdout and "--rebuild mends this" in done.stderr
    assert cli.json("doctor", code=1)[0]["mendable"] is True
    assert cli.out("doctor", "--rebuild") == "all is well\n"


def test_reembed_gives_vectors_to_all(cli: Cli) -> None:
    cli.run("--embedder", "none", "add", "The cache is warm")
    assert cli.json("stats")["pending_vectors"] == 1
    assert cli.out("reembed") == "all embedded\n"
    assert cli.json("stats")["pending_vectors"] == 0
    assert "switched off" in cli.error("--embedder", "none", "reembed", code=4)


def test_quiet_holds_for_making_and_moving_a_store(cli: Cli) -> None:
    cli.add("The cache is warm")
    assert cli.run("init", "-q", "--url", "new.db").output == ""
    assert cli.run("migrate", "-q", "memory.db", "copy.db").output == ""
    assert cli.json("migrate", "memory.db", "copy.db")["verified"] is True


def test_what_would_be_written_is_not_called_written(cli: Cli) -> None:
    cli.add("The cache is warm")
    (planned,) = cli.json("migrate", "memory.db", "copy.db", "--dry-run")["namespaces"]
    assert planned["to_write"] > 0 and "written" not in planned
    (done,) = cli.json("migrate", "memory.db", "copy.db")["namespaces"]
    assert done["written"] == planned["to_write"] and "to_write" not in done


# progress


@pytest.mark.parametrize("has_rich", [True, False])
def test_progress_is_drawn_and_gone(
    has_rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not has_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress.shown(wanted=True) as advance:
        assert advance is not None
        advance("storing", 5, None)
        advance("storing", 10, 10)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert has_rich or printed.err.endswith("\r" + " " * len("storing 10 of 10") + "\r")


def test_no_progress_where_nobody_sees_it() -> None:
    with progress.shown(wanted=False) as advance:
        assert advance is None
