"""The demo: its history is sound, its answers are right, and it prints them within a hundred columns."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import recollect
from recollect import Context, Memories, Recall
from recollect.demo import QUESTIONS, Ask, Filled, fill, run
from recollect.demo.history import moment, read_history
from recollect.demo.showing import WIDTH, _columns
from recollect.query.timeframe import parse_timeframe

WEDNESDAY = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
WEEK = [WEDNESDAY + timedelta(days=days) for days in range(7)]
ASKS = [ask for question in QUESTIONS for ask in question.asks]
BY_WORDS = [ask for ask in ASKS if not ask.by_meaning]
ANSI = re.compile(r"\r[^\n]*?\x1b\[K|\x1b\[[0-9;]*m")


def opened(now: datetime, embedder: str | None) -> Memories:
    return recollect.open(":memory:", namespace="demo", embedder=embedder, clock=lambda: now)


@pytest.fixture(scope="module")
def by_words() -> Iterator[tuple[Memories, Filled]]:
    with opened(WEDNESDAY, "none") as memories:
        yield memories, fill(memories, WEDNESDAY)


@pytest.fixture(scope="module")
def by_meaning() -> Iterator[tuple[Memories, Filled]]:
    """The default embedder: the tests need it, as the demo does."""
    with opened(WEDNESDAY, "arctic-s") as memories:
        filled = fill(memories, WEDNESDAY)
        assert filled.embedded
        yield memories, filled


def answers(memories: Memories, filled: Filled, ask: Ask, now: datetime = WEDNESDAY) -> list[str]:
    found: Recall | Context = getattr(memories, ask.call)(ask.query, **ask.options_at(now), reinforce=False)
    if isinstance(found, Context):
        return [filled.key_of(memory) for memory in found.memories]
    return [filled.key_of(hit.memory) for hit in found]


def is_right(ask: Ask, keys: list[str]) -> bool:
    """A context is in the order of time, so there it is enough to be among the memories taken."""
    return ask.expected in (keys if ask.call == "context" else keys[:1])


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.as_python(WEDNESDAY))
def test_the_expected_memory_answers(by_meaning: tuple[Memories, Filled], ask: Ask) -> None:
    keys = answers(*by_meaning, ask)

    assert is_right(ask, keys), keys


@pytest.mark.parametrize("ask", BY_WORDS, ids=lambda ask: ask.as_python(WEDNESDAY))
def test_words_alone_answer_what_does_not_need_meaning(by_words: tuple[Memories, Filled], ask: Ask) -> None:
    keys = answers(*by_words, ask)

    assert is_right(ask, keys), keys


@pytest.mark.parametrize("ask", [ask for ask in ASKS if ask.by_meaning], ids=lambda ask: ask.query)
def test_what_needs_meaning_shares_no_word_with_its_answer(
    by_meaning: tuple[Memories, Filled], ask: Ask
) -> None:
    memories, _ = by_meaning

    best = getattr(memories, ask.call)(ask.query, **ask.options_at(WEDNESDAY), reinforce=False)[0]

    assert (best.match, best.highlights) == ("semantic", ())


@pytest.mark.parametrize("now", WEEK, ids=lambda now: f"{now:%A}")
def test_last_week_has_the_decision_on_every_weekday(now: datetime) -> None:
    ask = next(ask for ask in ASKS if "last week" in ask.query)
    last_week = parse_timeframe("last week", now)

    with opened(now, "none") as memories:
        filled = fill(memories, now)
        expected = memories.get(filled.ids[ask.expected])
        keys = answers(memories, filled, ask, now)

    assert last_week.contains(expected.created_at)
    assert keys[0] == ask.expected


@pytest.mark.parametrize("now", WEEK, ids=lambda now: f"{now:%A}")
def test_last_week_has_more_than_one_day_of_history(now: datetime) -> None:
    last_week = parse_timeframe("last week", now)
    days = {moment(line["at"], now).date() for line in read_history() if "key" in line}

    assert sum(last_week.contains(datetime(d.year, d.month, d.day, 12, tzinfo=UTC)) for d in days) >= 2


def test_nothing_lies_in_the_future_and_six_weeks_are_told() -> None:
    just_after_midnight = WEDNESDAY.replace(hour=0, minute=1)
    times = [moment(line["at"], just_after_midnight) for line in read_history() if "key" in line]

    assert max(times) <= just_after_midnight
    assert 38 <= (just_after_midnight - min(times)).days <= 45


def test_the_history_is_told_in_the_order_of_time_within_its_sessions() -> None:
    lines = list(read_history())
    sessions = {line["session"]: line for line in lines if "key" not in line}
    told = [line for line in lines if "key" in line]

    for name, session in sessions.items():
        times = [moment(line["at"], WEDNESDAY) for line in told if line.get("session") == name]
        assert times == sorted(times)
        assert moment(session["start"], WEDNESDAY) <= times[0]
        assert times[-1] <= moment(session["end"], WEDNESDAY)


def test_what_supersedes_is_younger_than_what_it_supersedes() -> None:
    told = {line["key"]: line for line in read_history() if "key" in line}
    pairs = [(line, told[line["supersedes"]]) for line in told.values() if "supersedes" in line]
    chains = [old["key"] for _, old in pairs if "supersedes" in old]

    assert len(pairs) >= 4
    assert chains
    assert all(moment(old["at"], WEDNESDAY) < moment(new["at"], WEDNESDAY) for new, old in pairs)


def test_the_history_has_something_of_everything(by_words: tuple[Memories, Filled]) -> None:
    memories, filled = by_words
    stats = memories.stats()

    assert (filled.sessions, stats.sessions) == (14, 14)
    assert 90 <= filled.memories == stats.memories <= 120
    assert stats.passages == filled.passages > 10
    assert filled.merged == 1
    assert filled.near_duplicates >= 3
    assert set(stats.sectors) == {"episodic", "semantic", "procedural", "emotional", "reflective"}
    assert stats.languages["zh"] >= 6
    assert stats.languages["de"] >= 8
    assert {"caused_by", "fixes", "contradicts", "depends_on"} <= {
        type for line in read_history() for type in line.get("relations", {})
    }
    assert memories.doctor() == []


def test_sessions_have_their_times_and_summaries(by_words: tuple[Memories, Filled]) -> None:
    memories, _ = by_words

    for session in memories.sessions():
        assert session.summary
        assert session.agent == "scout"
        assert session.ended_at is not None
        assert session.started_at < session.ended_at < WEDNESDAY


def test_a_clock_in_another_zone_has_its_own_days() -> None:
    tokyo = datetime(2026, 3, 18, 1, 0, tzinfo=timezone(timedelta(hours=9)))

    assert moment("-7T09:30", tokyo) == datetime(2026, 3, 11, 0, 30, tzinfo=UTC)


def printed(*, color: bool, embedder: str, store: str | None = None) -> str:
    out = io.StringIO()
    assert run(out=out, color=color, now=WEDNESDAY, store=store, embedder=embedder) == 0
    return out.getvalue()


def test_it_prints_every_question_within_the_width() -> None:
    shown = printed(color=False, embedder="arctic-s")

    for question in QUESTIONS:
        assert question.title in shown
        for ask in question.asks:
            assert ask.as_python(WEDNESDAY) in shown
    assert "\x1b" not in shown
    assert max(_columns(line) for line in shown.splitlines()) <= WIDTH
    assert "[migration_032]" in shown
    assert "replaced by: A member may keep a tool for 14 days" in shown
    assert '"last week" was read as 9 Mar to 15 Mar' in shown
    assert "RECOLLECT_URL" in shown


def test_colours_change_nothing_but_the_marks() -> None:
    plain = printed(color=False, embedder="none")
    coloured = ANSI.sub("", printed(color=True, embedder="none"))
    without_chance = re.compile(r' +\d+ ms|took.*|id="…\w+"')

    assert without_chance.sub("", coloured) == without_chance.sub("", plain.replace("[", "").replace("]", ""))


def test_without_an_embedder_it_says_so_and_leaves_out_what_needs_one() -> None:
    shown = printed(color=False, embedder="none")

    assert "Without an embedder words alone answer" in shown
    assert "Meaning, without a shared word" not in shown
    assert "An exact identifier" in shown


def test_a_store_that_is_named_stays(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"

    printed(color=False, embedder="none", store=str(path))

    with recollect.open(path, namespace="demo") as memories:
        assert memories.stats().memories > 90


def test_a_terminal_without_chinese_letters_is_no_obstacle() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")

    assert run(out=out, color=False, now=WEDNESDAY, embedder="none") == 0


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recollect.demo"],
        cwd=tmp_path,
        env={**os.environ, "RECOLLECT_EMBEDDER": "none", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )

    assert "Your turn" in done.stdout
    assert list(tmp_path.iterdir()) == []
