"""English time phrases, as a specification: what each means, where it is found, and what is none."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.query import timegrammar
from recollect.query.timeframe import (
    Timeframe,
    find_timeframe,
    parse_moment,
    parse_timeframe,
    without_timeframe,
)

WEDNESDAY = datetime(2026, 11, 4, 14, 30, tzinfo=UTC)
SUNDAY = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
OPEN = ""


def ends(frame: Timeframe) -> tuple[str, str]:
    """Both ends as ISO texts without what is zero; "" for an open one."""
    start, end = (
        "" if moment is None else moment.isoformat(timespec="minutes").removesuffix("+00:00")
        for moment in (frame.start, frame.end)
    )
    return start.removesuffix("T00:00"), end.removesuffix("T00:00")


# -- what a phrase means on Wednesday 2026-11-04 at 14:30

NOW = "2026-11-04T14:30"
ON_WEDNESDAY = [
    # days and their parts
    ("today", "2026-11-04", "2026-11-05"),
    ("today's", "2026-11-04", "2026-11-05"),
    ("yesterday", "2026-11-03", "2026-11-04"),
    ("the day before yesterday", "2026-11-02", "2026-11-03"),
    ("earlier today", "2026-11-04", NOW),
    ("earlier this week", "2026-11-02", NOW),
    ("this morning", "2026-11-04T05:00", "2026-11-04T12:00"),
    ("this afternoon", "2026-11-04T12:00", "2026-11-04T18:00"),
    ("this evening", "2026-11-04T18:00", "2026-11-05"),
    ("tonight", "2026-11-04T18:00", "2026-11-05T06:00"),
    ("last night", "2026-11-03T18:00", "2026-11-04T06:00"),
    ("yesterday morning", "2026-11-03T05:00", "2026-11-03T12:00"),
    ("Monday afternoon", "2026-11-02T12:00", "2026-11-02T18:00"),
    # calendar units
    ("this week", "2026-11-02", "2026-11-09"),
    ("last week", "2026-10-26", "2026-11-02"),
    ("previous week", "2026-10-26", "2026-11-02"),
    ("the week before last", "2026-10-19", "2026-10-26"),
    ("this month", "2026-11-01", "2026-12-01"),
    ("last month", "2026-10-01", "2026-11-01"),
    ("this quarter", "2026-10-01", "2027-01-01"),
    ("last quarter", "2026-07-01", "2026-10-01"),
    ("this year", "2026-01-01", "2027-01-01"),
    ("last year's", "2025-01-01", "2026-01-01"),
    ("last weekend", "2026-10-31", "2026-11-02"),
    ("over the weekend", "2026-10-31", "2026-11-02"),
    ("this weekend", "2026-11-07", "2026-11-09"),
    ("weekend before last", "2026-10-24", "2026-10-26"),
    # up to now
    ("past week", "2026-10-28", NOW),
    ("this past week", "2026-10-28", NOW),
    ("last 7 days", "2026-10-28", NOW),
    ("past month", "2026-10-04", NOW),
    ("past year", "2025-11-04", NOW),
    ("past 3 days", "2026-11-01", NOW),
    ("last 2 weeks", "2026-10-21", NOW),
    ("last couple of weeks", "2026-10-21", NOW),
    ("past few days", "2026-10-30", NOW),
    ("the last three months", "2026-08-04", NOW),
    ("in the past hour", "2026-11-04T13:30", NOW),
    ("last 24 hours", "2026-11-03T14:30", NOW),
    ("past 90 minutes", "2026-11-04T13:00", NOW),
    # ago
    ("3 days ago", "2026-11-01", "2026-11-02"),
    ("twenty days ago", "2026-10-15", "2026-10-16"),
    ("two weeks ago", "2026-10-19", "2026-10-26"),
    ("a month ago", "2026-10-01", "2026-11-01"),
    ("a year ago", "2025-01-01", "2026-01-01"),
    ("an hour ago", "2026-11-04T13:00", "2026-11-04T14:00"),
    ("10 minutes ago", "2026-11-04T14:15", "2026-11-04T14:25"),
    ("a few days ago", "2026-10-30", "2026-11-03"),
    ("a couple of weeks ago", "2026-10-12", "2026-10-26"),
    # weekdays
    ("Tuesday", "2026-11-03", "2026-11-04"),
    ("on Tuesday", "2026-11-03", "2026-11-04"),
    ("last Tuesday", "2026-11-03", "2026-11-04"),
    ("this Tuesday", "2026-11-03", "2026-11-04"),
    ("past tue", "2026-11-03", "2026-11-04"),
    ("Wednesday", "2026-10-28", "2026-10-29"),
    ("Friday", "2026-10-30", "2026-10-31"),
    ("this Friday", "2026-11-06", "2026-11-07"),
    # one open end
    ("since Monday", "2026-11-02", OPEN),
    ("since yesterday", "2026-11-03", OPEN),
    ("since last week", "2026-10-26", OPEN),
    ("since two weeks ago", "2026-10-19", OPEN),
    ("since March", "2026-03-01", OPEN),
    ("since 2026-03-01", "2026-03-01", OPEN),
    ("after March 3", "2026-03-04", OPEN),
    ("after 2026-03-01", "2026-03-02", OPEN),
    ("before March", OPEN, "2026-03-01"),
    ("before 2025", OPEN, "2025-01-01"),
    ("prior to 2026", OPEN, "2026-01-01"),
    ("until Friday", OPEN, "2026-10-31"),
    ("up to March", OPEN, "2026-04-01"),
    ("until now", OPEN, NOW),
    # months and days
    ("in March", "2026-03-01", "2026-04-01"),
    ("in November", "2026-11-01", "2026-12-01"),
    ("in December", "2025-12-01", "2026-01-01"),
    ("in March 2026", "2026-03-01", "2026-04-01"),
    ("Mar 2026", "2026-03-01", "2026-04-01"),
    ("March last year", "2025-03-01", "2025-04-01"),
    ("last January", "2026-01-01", "2026-02-01"),
    ("last November", "2025-11-01", "2025-12-01"),
    ("early March", "2026-03-01", "2026-03-11"),
    ("mid-March", "2026-03-11", "2026-03-21"),
    ("late February 2024", "2024-02-21", "2024-03-01"),
    ("March 3", "2026-03-03", "2026-03-04"),
    ("Mar. 3", "2026-03-03", "2026-03-04"),
    ("December 24", "2025-12-24", "2025-12-25"),
    ("February 29", "2024-02-29", "2024-03-01"),
    ("March 3rd, 2026", "2026-03-03", "2026-03-04"),
    ("3 March 2026", "2026-03-03", "2026-03-04"),
    ("the 3rd of March", "2026-03-03", "2026-03-04"),
    ("on the 3rd", "2026-11-03", "2026-11-04"),
    ("on the 31st", "2026-10-31", "2026-11-01"),
    ("on Monday, March 2", "2026-03-02", "2026-03-03"),
    # ranges: both ends belong to them
    ("March 3–10", "2026-03-03", "2026-03-11"),
    ("March 3 to 10", "2026-03-03", "2026-03-11"),
    ("March 3 - 10, 2025", "2025-03-03", "2025-03-11"),
    ("3–10 March 2026", "2026-03-03", "2026-03-11"),
    ("March 3 to April 2, 2026", "2026-03-03", "2026-04-03"),
    ("December 20 to January 5, 2026", "2025-12-20", "2026-01-06"),
    ("from March 3 to March 10", "2026-03-03", "2026-03-11"),
    ("between the 3rd of March and the 5th of April", "2026-03-03", "2026-04-06"),
    ("between March and May", "2026-03-01", "2026-06-01"),
    ("between Monday and Friday", "2026-10-26", "2026-10-31"),
    ("from Monday to today", "2026-11-02", "2026-11-05"),
    ("between 2026-01-01 and 2026-02-01", "2026-01-01", "2026-02-02"),
    ("2026-03-01..2026-03-10", "2026-03-01", "2026-03-11"),
    ("2026-03-01 to 2026-03-10", "2026-03-01", "2026-03-11"),
    ("2024-2025", "2024-01-01", "2026-01-01"),
    ("2026-01-01..9999-12-31", "2026-01-01", OPEN),
    # larger pieces of a year
    ("Q3", "2026-07-01", "2026-10-01"),
    ("Q3 2026", "2026-07-01", "2026-10-01"),
    ("third quarter of 2026", "2026-07-01", "2026-10-01"),
    ("first half of 2026", "2026-01-01", "2026-07-01"),
    ("H1 2026", "2026-01-01", "2026-07-01"),
    ("in 2025", "2025-01-01", "2026-01-01"),
    ("2025", "2025-01-01", "2026-01-01"),
    ("early 2025", "2025-01-01", "2025-05-01"),
    ("last summer", "2026-06-01", "2026-09-01"),
    ("last fall", "2025-09-01", "2025-12-01"),
    ("last winter", "2025-12-01", "2026-03-01"),
    ("this summer", "2026-06-01", "2026-09-01"),
    ("summer of 2025", "2025-06-01", "2025-09-01"),
    # ISO
    ("2026-03-01", "2026-03-01", "2026-03-02"),
    ("2026-03", "2026-03-01", "2026-04-01"),
    ("2026-W10", "2026-03-02", "2026-03-09"),
    ("2026-03-01T14:30", "2026-03-01T14:30", "2026-03-01T14:31"),
    ("2026-03-01 14:30Z", "2026-03-01T14:30", "2026-03-01T14:31"),
    ("2026-03-01T14:30+02:00", "2026-03-01T14:30+02:00", "2026-03-01T14:31+02:00"),
    # how it is typed
    ("  LAST \t WEEK ", "2026-10-26", "2026-11-02"),
    ("“last week”", "2026-10-26", "2026-11-02"),
    ("last week’s", "2026-10-26", "2026-11-02"),
    ("March 3—10", "2026-03-03", "2026-03-11"),
]

ON_SUNDAY = [  # 2026-03-01 at 9:15: the last day of its week and the first of its month
    ("this week", "2026-02-23", "2026-03-02"),
    ("last week", "2026-02-16", "2026-02-23"),
    ("this weekend", "2026-02-28", "2026-03-02"),
    ("last weekend", "2026-02-21", "2026-02-23"),
    ("over the weekend", "2026-02-28", "2026-03-02"),
    ("Sunday", "2026-02-22", "2026-02-23"),
    ("between Monday and Friday", "2026-02-23", "2026-02-28"),
    ("last month", "2026-02-01", "2026-03-01"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("last March", "2025-03-01", "2025-04-01"),
    ("in April", "2025-04-01", "2025-05-01"),
    ("on the 31st", "2026-01-31", "2026-02-01"),
    ("last winter", "2025-12-01", "2026-03-01"),
    ("March 1 to 5", "2026-03-01", "2026-03-06"),
    ("Q4", "2025-10-01", "2026-01-01"),
]


@pytest.mark.parametrize(("phrase", "start", "end"), ON_WEDNESDAY)
def test_phrase_on_a_wednesday(phrase: str, start: str, end: str) -> None:
    frame = parse_timeframe(phrase, WEDNESDAY)
    assert ends(frame) == (start, end)
    assert phrase[slice(*frame.span)] == frame.phrase


@pytest.mark.parametrize(("phrase", "start", "end"), ON_SUNDAY)
def test_phrase_on_a_sunday(phrase: str, start: str, end: str) -> None:
    assert ends(parse_timeframe(phrase, SUNDAY)) == (start, end)


def test_seconds_name_a_second() -> None:
    frame = parse_timeframe("2026-03-01 14:30:15.250", WEDNESDAY)
    assert frame.start == datetime(2026, 3, 1, 14, 30, 15, tzinfo=UTC)
    assert frame.end == datetime(2026, 3, 1, 14, 30, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    "phrase",
    [
        *(
            "",
            "?",
            "foo",
            "last",
            "last word",
            "since",
            "between March",
            "next week",
            "tomorrow",
            "in 10 days",
        ),
        *("Feb 30", "2026-02-30", "2026-13", "2026-W54", "0000", "in 0000", "last 0 days", "now", "march on"),
        *("last 10000000 years", "last 9999 years", "99999999999 weeks ago", "a week ago Monday"),
        *("last week and this week", "yesterday foo", "٣ days ago", "\x00", "\ud800"),
    ],
)
def test_what_is_no_time_frame_says_what_is(phrase: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a time frame.*last week.*since Monday"):
        parse_timeframe(phrase, WEDNESDAY)


@pytest.mark.parametrize(
    "phrase", ["2026-02-01..2026-01-01", "March 10-3", "between this week and last week", "from 2025 to 2024"]
)
def test_a_range_that_runs_backwards(phrase: str) -> None:
    with pytest.raises(InvalidInput, match="ends before it begins"):
        parse_timeframe(phrase, WEDNESDAY)
    assert find_timeframe(f"what happened {phrase}?", WEDNESDAY) is None


def test_contains_is_half_open() -> None:
    yesterday = parse_timeframe("yesterday", WEDNESDAY)
    assert yesterday.start is not None
    assert yesterday.end is not None
    assert yesterday.contains(yesterday.start)
    assert not yesterday.contains(yesterday.end)
    assert not yesterday.contains(yesterday.start - timedelta(microseconds=1))
    assert parse_timeframe("since yesterday", WEDNESDAY).contains(datetime.max.replace(tzinfo=UTC))
    assert parse_timeframe("before 2025", WEDNESDAY).contains(datetime.min.replace(tzinfo=UTC))


def test_now_must_be_aware() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        parse_timeframe("today", datetime(2026, 1, 1))


# -- the clocks change: Berlin, 2026-03-29 at 2:00 and 2026-10-25 at 3:00


@pytest.mark.parametrize(
    ("now", "start", "hours"),
    [
        (datetime(2026, 3, 30, 8, tzinfo=BERLIN), "2026-03-29T00:00:00+01:00", 23),
        (datetime(2026, 10, 26, 8, tzinfo=BERLIN), "2026-10-25T00:00:00+02:00", 25),
        (datetime(2026, 7, 1, 0, 30, tzinfo=BERLIN), "2026-06-30T00:00:00+02:00", 24),
    ],
)
def test_yesterday_is_the_calendar_day(now: datetime, start: str, hours: int) -> None:
    frame = parse_timeframe("yesterday", now)
    assert frame.start is not None
    assert frame.end is not None
    assert frame.start.isoformat() == start
    assert frame.end - frame.start == timedelta(hours=hours)


def test_hours_are_hours_when_the_clocks_go_back() -> None:
    second_half_past_two = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)
    frame = parse_timeframe("an hour ago", second_half_past_two)
    assert (str(frame.start), str(frame.end)) == ("2026-10-25 02:00:00+02:00", "2026-10-25 02:00:00+01:00")
    frame = parse_timeframe("past 3 hours", second_half_past_two)
    assert str(frame.start) == "2026-10-25 00:30:00+02:00"


def test_the_day_is_the_one_in_the_zone_of_now() -> None:
    after_midnight_in_berlin = datetime(2026, 7, 1, 22, 30, tzinfo=UTC).astimezone(BERLIN)
    frame = parse_timeframe("today", after_midnight_in_berlin)
    assert str(frame.start) == "2026-07-02 00:00:00+02:00"


# -- in a question: the words that were read, and what is left to search for

IN_QUESTIONS = [
    ("what did we decide about auth last week?", "last week", "what did we decide about auth?"),
    ("What did Anna say yesterday?", "yesterday", "What did Anna say?"),
    ("Summarise yesterday's standup", "yesterday's", "Summarise standup"),
    ("what do I know about this month’s invoice?", "this month’s", "what do I know about invoice?"),
    ("What did I do on Tuesday?", "Tuesday", "What did I do?"),
    ("what did I do on Tue?", "Tue", "what did I do?"),
    ("What did she say on Monday morning?", "Monday morning", "What did she say?"),
    ("Friday's deploy broke what?", "Friday's", "deploy broke what?"),
    ("Which bugs were fixed in the past 3 days?", "past 3 days", "Which bugs were fixed?"),
    ("errors in the last 24 hours", "last 24 hours", "errors"),
    ("What happened in the past 30 seconds?", "past 30 seconds", "What happened?"),
    ("What did I save 10 seconds ago?", "10 seconds ago", "What did I save?"),
    ("anything new since Monday?", "since Monday", "anything new?"),
    ("What was decided before March?", "before March", "What was decided?"),
    ("what happened since march?", "since march", "what happened?"),
    ("What did we ship in march?", "march", "What did we ship?"),
    ("What did we ship in March about search?", "March", "What did we ship about search?"),
    ("In March, what did we ship?", "March", "what did we ship?"),
    ("what did we do last may?", "last may", "what did we do?"),
    ("who joined in September?", "September", "who joined?"),
    ("what did Bob say in early March?", "early March", "what did Bob say?"),
    ("What came up in the last week of March?", "March", "What came up in the last week?"),
    ("What happened on May 5?", "May 5", "What happened?"),
    ("the March 3 deployment, why did it fail?", "March 3", "the deployment, why did it fail?"),
    ("What did I write on March 3rd about Postgres?", "March 3rd", "What did I write about Postgres?"),
    ("what did I pay on 3 March?", "3 March", "what did I pay?"),
    ("Did we discuss this in 2025?", "2025", "Did we discuss this?"),
    ("In 2025 Anna moved; where to?", "2025", "Anna moved; where to?"),
    ("what did we learn back in 2024 about caching?", "2024", "what did we learn about caching?"),
    ("what was planned in late 2025?", "late 2025", "what was planned?"),
    ("what did we agree in Q3?", "Q3", "what did we agree?"),
    ("goals of the first quarter of 2026", "first quarter of 2026", "goals"),
    ("Where did we go last summer?", "last summer", "Where did we go?"),
    ("how was my sleep over the weekend?", "weekend", "how was my sleep?"),
    ("which decisions fell between March and May?", "between March and May", "which decisions fell?"),
    ("Show notes from March 3 to March 10", "from March 3 to March 10", "Show notes"),
    ("notes from 2026-03-01", "2026-03-01", "notes"),
    ("logs 2026-03-01..2026-03-10 please", "2026-03-01..2026-03-10", "logs please"),
    ("about two weeks ago I read a book, which?", "two weeks ago", "I read a book, which?"),
    ("What did I tell you a few days ago about Eva?", "a few days ago", "What did I tell you about Eva?"),
    ("the day before yesterday you told me a joke", "day before yesterday", "you told me a joke"),
    ("who called (last week)?", "last week", "who called?"),
    ('did I mention "last week" yesterday?', "yesterday", 'did I mention "last week"?'),
    ("since Monday, what did we do yesterday?", "yesterday", "since Monday, what did we do?"),
    ("what did I say yesterday about the 2027-05-01 launch?", "yesterday", None),
    ("last week?", "last week", ""),
]


@pytest.mark.parametrize(("question", "phrase", "rest"), IN_QUESTIONS)
def test_found_in_a_question(question: str, phrase: str, rest: str | None) -> None:
    frame = find_timeframe(question, WEDNESDAY)
    assert frame is not None
    assert frame.phrase == phrase
    assert question[slice(*frame.span)] == phrase
    if rest is not None:
        assert without_timeframe(question, frame) == rest


def test_without_a_frame_of_another_question_nothing_is_lost() -> None:
    frame = Timeframe(None, None, "last week", (3, 12))
    assert without_timeframe("who  called?", frame) == "who called?"


NOT_IN_QUESTIONS = [
    # verbs, names and things
    *(
        "how do I march on Rome?",
        "who may approve the release?",
        "may I go?",
        "who will march in the parade?",
    ),
    *("is this may be wrong?", "may 5 people join the call?", "In May 5 people can join?", "the sun shines"),
    *("does it run on Sun hardware?", "who sat on the couch?", "we'd like it", "the fall of Rome"),
    *("did the price fall?", "an august company", "who is August?", "email from April about the budget"),
    *(
        "what does April think?",
        "after April joined the team, who left?",
        "jan said hi",
        "is it in May Street?",
    ),
    *(
        "spring boot configuration",
        "the last spring boot upgrade",
        "who is the summer intern?",
        "dec 10 to hex",
    ),
    *("a second opinion on the design", "give me a second", "he came in second", "who has the last word?"),
    *("what was the last commit?", "what is the last?", "in the past", "last minute changes to the plan"),
    *("what is the last day of the sprint?", "a quarter of the users left, why?", "this quarter of the data"),
    *("what was the answer to Q3 of the questionnaire?", "why did H1 shrink in the css?", "music of the 90s"),
    # numbers that are no years, and versions
    *("what is new in version 2025?", "why does HTTP 2025 appear?", "is port 2026 open?", "on 5 servers"),
    *(
        "timeout after 2000 ms",
        "resize from 1920 to 1080",
        "in 2000 lines of code",
        "version 3 May break this",
    ),
    *(
        "out of 2025 requests how many failed?",
        "after 2025 characters it stops",
        "what is in the 2025 budget?",
    ),
    # identifiers, paths, code, quotes
    *("does migration_2026_03_01 lock the table?", "where is release-2026-03-01.tar?", "who tagged v2026.3?"),
    *("open file_2025-01-01.log", "what is 10.03.2026-x?", "logs/2026-03-01/app", "call 2026-03-01x"),
    *(
        "room 2025-0301",
        "how do I call today() in SQL?",
        "what is today.py for?",
        "git log --since=yesterday",
    ),
    *(
        "what is on Monday.com?",
        'what does "last week" mean here?',
        "does `since Monday` parse?",
        "“in 2025”",
    ),
    *("how do I get the current month in Python?", "is 2026-13-45 a date?"),
    # habits, names of days, and the future
    *(
        "what happens on Fridays?",
        "who works Monday to Friday?",
        "Black Friday numbers",
        "Saturday Night Live",
    ),
    *(
        "friday the 13th",
        "what do we do on Monday mornings?",
        "what is due in 10 days?",
        "what is due tomorrow?",
    ),
    *("what is due before Friday?", "what do I need to finish until Friday?", "will we meet on Friday?"),
    *("what happens next Tuesday?", "plans for December 2026", "what will happen this Friday?"),
    # not sure which time is meant
    *("compare last week with this week", "was it two or three days ago?", "more than 3 days ago"),
    *("half an hour ago", "1.5 hours ago", "3,000 years ago", "2-3 weeks ago", "-5 days ago"),
    *("what happened two days before yesterday?", "the week after March 3", "between March and the parade"),
    *("what did we do a week ago Monday?", "a year and a half ago", "what happened in January and February?"),
    *("in June, July and August, where was I?", "did we meet on Monday or on Tuesday?", "in 2024 or 2025?"),
]


@pytest.mark.parametrize("question", NOT_IN_QUESTIONS)
def test_left_alone_in_a_question(question: str) -> None:
    assert find_timeframe(question, WEDNESDAY) is None


# -- a moment


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("2026-02-28", None, "2026-02-28T00:00:00+00:00"),
        (" 2026-02-28 14:00 ", None, "2026-02-28T14:00:00+00:00"),
        ("2026-02-28T14:00:05.5z", None, "2026-02-28T14:00:05.500000+00:00"),
        ("2026-02-28T14:00+0530", SUNDAY, "2026-02-28T14:00:00+05:30"),
        ("2026-07-01", datetime(2026, 1, 1, tzinfo=BERLIN), "2026-07-01T00:00:00+02:00"),
        ("0001-01-01", datetime(2026, 1, 1, tzinfo=BERLIN), "0001-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59-05:00", None, "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_moment(text: str, now: datetime | None, expected: str) -> None:
    moment = parse_moment(text, now)
    assert moment.isoformat() == expected
    assert moment.astimezone(UTC) == moment


@pytest.mark.parametrize(
    "text",
    ["31.02.2026", "2026-02-31", "0000-01-01", "2026-02-28T25:00", "2026", "", "٢٠٢٦-٠٢-٢٨", "yesterday"],
)
def test_no_moment(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_moment(text)
    assert str(caught.value) == f"{text!r} is not a date: write 2026-02-28 or 2026-02-28T14:00+01:00"


# -- whatever comes

VOCABULARY = (
    "a an the of in on from to between and since before after until up last this past previous few couple"
    " 3 31 2026 0000 99999999999 twenty second minutes hour day days weeks month quarter year years ago"
    " weekend night morning monday Fri may March dec early mid - – .. , ' 's q3 h2 first half summer now"
    " today tomorrow yesterday earlier 2026-03-01 2026-W10 9999-12-31 0001-01-01 2026-03-01T14:30+23:59"
    " 3rd ( ) ? x"
)
words = st.lists(st.sampled_from(VOCABULARY.split()), max_size=8)
texts = st.one_of(st.text(max_size=80), words.map(" ".join), words.map("".join))
moments = st.datetimes(
    timezones=st.sampled_from([UTC, BERLIN, ZoneInfo("Asia/Kathmandu"), timezone(timedelta(hours=-23))])
)


@settings(max_examples=120, deadline=None)
@given(texts, moments)
@example("since 9999-12-31", datetime.max.replace(tzinfo=BERLIN))
@example("last year", datetime.min.replace(tzinfo=BERLIN))
@example("an hour ago", datetime.min.replace(tzinfo=ZoneInfo("Asia/Kathmandu")))
def test_any_text_gives_an_interval_or_none(text: str, now: datetime) -> None:
    found = find_timeframe(text, now)
    try:
        parsed = parse_timeframe(text, now)
    except InvalidInput:
        parsed = None
    for frame in (found, parsed):
        if frame is None:
            continue
        assert frame.start is not None or frame.end is not None
        assert frame.start is None or frame.end is None or frame.start < frame.end
        assert text[slice(*frame.span)] == frame.phrase != ""
        for moment in (frame.start, frame.end):
            assert moment is None or moment.astimezone(UTC) == moment
    if found is not None:
        assert found.start is None or found.start <= now
        assert len(without_timeframe(text, found)) < len(text)


OTHERS = (
    "0 1 3 12 31 32 1969 1970 1999 2025 2026 2100 2101 20260301 1st 2nd 3RD 25th 2026-03 2026-W10 1850-05-05"
    " 2026-03-01T14:30 v2.19 #2878 x2025 the of to and in on over ago - .. , . 's ? gull"
)
SAID = st.sampled_from(sorted({*timegrammar._BEGINNINGS, *timegrammar._TELLING, *OTHERS.split()}))


@settings(max_examples=500, deadline=None)
@given(st.lists(SAID, max_size=7), st.sampled_from([" ", "", "-"]), moments)
def test_what_is_passed_over_names_no_time(said: list[str], between: str, now: datetime) -> None:
    text = between.join(said)
    if not timegrammar.may_name_a_time(text):
        reader = timegrammar.Reader(text, now, whole=False)
        found = [reader.read(at) for at in range(len(reader.tokens))]
        assert not [each for each in found if each and each.span]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_moment_or_invalid(text: str) -> None:
    try:
        assert parse_moment(text).tzinfo is not None
    except InvalidInput as error:
        assert "is not a date" in str(error)


@given(st.dates())
def test_every_day_can_be_named(day: object) -> None:
    assert parse_moment(str(day)).isoformat().startswith(str(day))
    assert parse_timeframe(str(day), WEDNESDAY).contains(parse_moment(str(day)))


@pytest.mark.parametrize(
    "piece",
    [
        "between ",
        "a ",
        "March 3 to ",
        "2026-03-01..",
        '"',
        "“",
        "from Monday to ",
        "today ",
        "0",
        ",",
        "\x00",
    ],
)
def test_long_texts_take_no_longer_than_their_length(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    frame = find_timeframe(text, WEDNESDAY)
    without_timeframe(text, frame or Timeframe(None, None, "", (50_000, 50_000)))
    with pytest.raises(InvalidInput):
        parse_timeframe(text, WEDNESDAY)
    assert time.process_time() - began < 5
