"""The time grammar: words in, stretches of time out. `recollect.query.timeframe` is its front.

A `Reader` tries to read a time phrase at one token. Read as a whole phrase nearly everything counts;
in a question (``whole=False``) a word with another meaning counts only where its neighbours leave no
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from recollect.query.calendar import (
    DAY_PARTS,
    MONTHS,
    NUMBERS,
    SEASON_MONTHS,
    UNITS,
    WEEKDAYS,
    Span,
    Weekly,
    Yearly,
    first_day,
    shift,
)
from recollect.query.timenames import CLEAR_MONTHS, ORDINALS, THIRDS, VERB_MONTHS, Named
from recollect.query.timewords import RANGE_MARKS, UNIT_WORDS, Reading, word_set

_OPENERS = {"since": "since", "after": "after", "before": "before", "until": "until", "till": "until"}
_LAST = word_set("last past previous prior")
_CALENDAR_UNITS = word_set("week month quarter year weekend")
_CLOCK_UNITS = word_set("day hour minute second")
_QUARTERS = word_set("q1 q2 q3 q4")
_NAMES = MONTHS.keys() | WEEKDAYS.keys() | _QUARTERS
_LISTING = word_set("and or & ,")
_HARD_TO_COUNT = word_set("or half than over under – -")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\b[0-9]")
_VAGUE = {"couple": (2, 2, 3), "few": (5, 2, 5), "several": (7, 3, 7)}
"""How many units "the last few" reaches back, and between which two "a few ago" lies."""


class Reader(Named):
    """Reads the time phrases of one text."""

    def read(self, i: int) -> Reading | None:
        """The time phrase that begins with token i; None when none does."""
        word = self.word(i)
        if word not in _BEGINNINGS and not "0" <= word[:1] <= "9":
            return None
        try:
            found = self._range(i) or self._open(i) or self._stretch(i)
        except (OverflowError, ValueError):  # outside the years 1 to 9999, or a day that does not exist
            return None
        if found and found.span and found.span.is_empty:
            return None
        if found and self.word(found.after) == "'s":
            return found._replace(after=found.after + 1)
        return found

    # -- two ends, one end

    def _range(self, i: int) -> Reading | None:
        opener = self.word(i)
        if opener not in ("between", "from", "since"):
            return None
        first = self._end_of_range(i + 1)
        if first is None or first.span is None:
            return None
        joined = self._joined(first, word_set("and") if opener == "between" else RANGE_MARKS)
        return joined or (Reading(None, first.after) if opener == "between" else None)

    def _stretch(self, i: int) -> Reading | None:
        first = self._point(i)
        if first is None or first.span is None:
            return first
        joined = self._joined(first, RANGE_MARKS)
        if joined and isinstance(first.recurs, Weekly) and not self.whole:
            return Reading(None, joined.after)  # "Monday to Friday" may say how often, not when
        return joined or self._unless_listed(first)

    def _unless_listed(self, first: Reading) -> Reading:
        """What was read, but nothing usable for the first of several ("in January and February")."""
        at = self.past_article(first.after + 1)
        is_another = self.word(at) in _NAMES or self.year_number(at) is not None
        if self.whole or not is_another or self.word(first.after) not in _LISTING:
            return first
        return Reading(None, at + 1)

    def _joined(self, first: Reading, marks: frozenset[str]) -> Reading | None:
        """The range from a point already read to the one behind the mark that follows, if one does."""
        last = self._end_of_range(first.after + 1) if self.word(first.after) in marks else None
        if last is None or last.span is None:
            return last
        span = self._from_to(first, last)
        self.is_backwards |= span.is_empty
        return Reading(None if span.is_empty else span, last.after)

    def _end_of_range(self, i: int) -> Reading | None:
        self._joined_at = self.past_article(i)
        try:
            return self._point(self._joined_at)
        finally:
            self._joined_at = -1

    def _from_to(self, first: Reading, last: Reading) -> Span:
        """From the beginning of one to the end of the other; what comes back yearly or weekly fits in."""
        start, end = first.span or Span(None, None), last.span or Span(None, None)
        if isinstance(last.recurs, Weekly) and isinstance(first.recurs, Weekly):
            last_day, after = last.recurs.latest(self.clock.today)
            start = self.clock.days(*first.recurs.latest(last_day))
            end = self.clock.days(last_day, after)
        elif isinstance(last.recurs, Yearly) and start.start:
            end = self.clock.days(*last.recurs.soonest(start.start.date()))
        elif first.recurs and end.start:
            start = self.clock.days(*first.recurs.latest(end.start.date()))
        return Span(start.start, end.end)

    def _open(self, i: int) -> Reading | None:
        """Since, after, before, until, up to, prior to."""
        if self.word(i) in ("up", "prior") and self.word(i + 1) == "to":
            opener, point = ("until" if self.word(i) == "up" else "before"), self._end_of_range(i + 2)
        elif self.word(i) in _OPENERS:
            opener, point = _OPENERS[self.word(i)], self._point(self.past_article(i + 1))
        else:
            return None
        if point is None or point.span is None:
            return point
        if self.word(i - 1) in UNIT_WORDS:
            return Reading(None, point.after)  # "two days before yesterday"
        looks_back = opener in ("since", "after")
        if not (self.whole or looks_back or self.tells_of_past or point.recurs is None):
            return Reading(None, point.after)  # "what is left to do before Friday?"
        border = point.span.start if opener in ("since", "before") else point.span.end
        if border is None:
            return Reading(None, point.after)
        return Reading(Span(border, None) if looks_back else Span(None, border), point.after)

    # -- points: everything that has a length of its own

    def _point(self, i: int) -> Reading | None:
        word = self.word(i)
        rule = _RULES.get(word)
        if rule is not None:
            return rule(self, i)
        if not (word.isascii() and word[:1].isdigit()):
            return None
        return self.iso(i) if "-" in word else self._ago(i) or self.day_first(i) or self.year(i)

    def _near_day(self, i: int) -> Reading | None:
        word, today = self.word(i), self.clock.today
        if word == "now":
            return Reading(Span(self.clock.now, self.clock.now), i + 1)
        if word == "tonight":
            return Reading(self.clock.part_of_day(today, "night"), i + 1)
        if word == "today":
            return Reading(self.clock.whole("day", today), i + 1)
        return self.day_or_part(shift(today, -1, "day"), i + 1)

    def _unit_first(self, i: int) -> Reading | None:
        """The day before yesterday, the week before last; over the weekend."""
        unit, today = self.word(i), self.clock.today
        if self.word(i + 1) != "before":
            is_led = self.lead(i) in ("over", "on", "during", "at") and self.word(i - 1) == "the"
            is_past = unit == "weekend" and is_led and self.stops(i + 1) and not self.tells_of_future
            return (
                Reading(self._calendar_unit(unit, 0 if today.weekday() > 4 else -1), i + 1)
                if is_past
                else None
            )
        when = self.word(i + 2)
        if unit == "day" and when == "yesterday":
            return self.day_or_part(shift(today, -2, "day"), i + 3)
        if unit not in _CALENDAR_UNITS or when != "last":
            return None
        return Reading(self._calendar_unit(unit, -2), i + 4 if self.word(i + 3) == unit else i + 3)

    def _calendar_unit(self, unit: str, offset: int) -> Span:
        """This week (0), the last (-1), the one before (-2); so for every unit."""
        if unit == "weekend":
            return self.clock.weekend(shift(self.clock.today, offset, "week"))
        return self.clock.whole(unit, shift(first_day(self.clock.today, unit), offset, unit))

    def _so_far(self, i: int) -> Reading | None:
        """Earlier today, earlier this week."""
        if self.word(i + 1) == "today":
            return Reading(Span(self.clock.midnight(self.clock.today), self.clock.now), i + 2)
        is_unit = self.word(i + 2) in UNITS or self.word(i + 2) in DAY_PARTS
        point = self._relative(i + 1) if self.word(i + 1) == "this" and is_unit else None
        if point is None or point.span is None:
            return None
        return Reading(Span(point.span.start, self.clock.now), point.after)

    # -- last, this, past

    def _relative(self, i: int) -> Reading | None:
        at = i + 2 if self.word(i) == "this" and self.word(i + 1) == "past" else i + 1
        which, name = self.word(at - 1), self.word(at)
        if name in WEEKDAYS:
            return self._relative_weekday(which, at)
        if name in MONTHS or name in SEASON_MONTHS:
            return self._relative_yearly(which, at)
        counted = self._count(at) if which in _LAST else None
        if counted:
            (reach, _, _), unit_at = counted
            return Reading(self.clock.rolling(reach, self.unit(unit_at)), unit_at + 1)
        if self.word(at + 1) == "of" or not self._is_surely_unit(which, at):
            return None
        span = self._this(name) if which in ("this", "current") else self._last(which, name)
        return Reading(span, at + 1) if span else None

    def _is_surely_unit(self, which: str, i: int) -> bool:
        """Whether it is none of "the current month in SQL", "the last day", "last minute changes"."""
        name = self.word(i)
        if self.whole or (which != "current" and name not in ("day", "minute", "second")):
            return True
        is_led = self.lead(i - 1) in ("in", "within", "over", "during") and which not in ("current", "this")
        return is_led and self.stops(i + 1) and name != "second"

    def _this(self, name: str) -> Span | None:
        if name in ("morning", "afternoon", "evening"):
            return self.clock.part_of_day(self.clock.today, name)
        if name == "hour":
            return self.clock.ago(0, 0, "hour")
        return self._calendar_unit(name, 0) if name in _CALENDAR_UNITS else None

    def _last(self, which: str, name: str) -> Span | None:
        if which == "last" and name in ("night", "evening"):
            return self.clock.part_of_day(shift(self.clock.today, -1, "day"), name)
        if name in _CLOCK_UNITS or (which == "past" and name in UNITS):
            return self.clock.rolling(1, name)
        return self._calendar_unit(name, -1) if name in _CALENDAR_UNITS else None

    def _relative_weekday(self, which: str, i: int) -> Reading | None:
        if len(self.word(i)) < 6 and not self.is_short_day(i):
            return None
        today, weekday = self.clock.today, WEEKDAYS[self.word(i)]
        if which in ("this", "current"):
            return self.day_or_part(shift(first_day(today, "week"), weekday, "day"), i + 1)
        return self.day_or_part(Weekly(weekday).latest(shift(today, -1, "day"))[0], i + 1)

    def _relative_yearly(self, which: str, i: int) -> Reading | None:
        """Last January, this summer."""
        name = self.word(i)
        is_verb = name in VERB_MONTHS and not self.tokens[i].is_capital and which != "last"
        is_sure = name in CLEAR_MONTHS or (self.stops(i + 1) and not is_verb)
        if not (self.whole or is_sure) or self.number(i + 1):
            return None
        yearly = Yearly(SEASON_MONTHS[name], 3) if name in SEASON_MONTHS else Yearly(MONTHS[name])
        if which not in ("this", "current"):
            return Reading(self.clock.days(*yearly.latest_ended(self.clock.today)), i + 1)
        if name in MONTHS:
            return self._yearly(yearly, self.clock.today.year, i + 1)
        begin, after = yearly.latest(self.clock.today)
        is_recent = shift(after, 6, "month") > self.clock.today
        return Reading(self.clock.days(begin, after), i + 1) if is_recent else None

    # -- counted units

    def _count(self, i: int) -> tuple[tuple[int, int, int], int] | None:
        """How many units ("3", "a couple of"; see _VAGUE), and where the unit stands."""
        at = i + 1 if self.word(i) == "a" and self.word(i + 1) in _VAGUE else i
        number = self.number(at)
        how_many = (number, number, number) if number else _VAGUE.get(self.word(at))
        unit_at = at + 2 if self.word(at) == "couple" and self.word(at + 1) == "of" else at + 1
        if how_many is None or not self.unit(unit_at):
            return None
        is_idiom = self.word(unit_at) == "second" and not (self.whole or self.word(at).isdigit())
        return None if is_idiom else (how_many, unit_at)

    def _ago(self, i: int) -> Reading | None:
        counted = self._count(i)
        if counted is None or self.word(counted[1] + 1) != "ago":
            return None
        (_, near, far), unit_at = counted
        after = unit_at + 2
        is_more_precise = self.word(after) in WEEKDAYS or self.word(after) in ("today", "yesterday")
        if is_more_precise or (self.word(i - 1) in _HARD_TO_COUNT and i != self._joined_at):
            return Reading(None, after)  # "a week ago Monday", "two or three days ago"
        return Reading(self.clock.ago(near, far, self.unit(unit_at)), after)


_RULES: dict[str, Callable[[Reader, int], Reading | None]] = {
    **dict.fromkeys(("today", "yesterday", "tonight", "now"), Reader._near_day),
    **dict.fromkeys(_CALENDAR_UNITS | {"day"}, Reader._unit_first),
    **dict.fromkeys(_LAST | {"this", "current"}, Reader._relative),
    **dict.fromkeys(NUMBERS.keys() | _VAGUE.keys(), Reader._ago),
    **dict.fromkeys(MONTHS, Reader.month),
    **dict.fromkeys(WEEKDAYS, Reader.weekday),
    **dict.fromkeys(_QUARTERS, Reader.quarter),
    **dict.fromkeys(("h1", "h2"), Reader.half),
    **dict.fromkeys(ORDINALS, Reader.ordinal),
    **dict.fromkeys(SEASON_MONTHS, Reader.season),
    **dict.fromkeys(THIRDS, Reader.third),
    "earlier": Reader._so_far,
}
_BEGINNINGS = _RULES.keys() | _OPENERS.keys() | {"between", "from", "up", "prior"}


_TELLING = (
    MONTHS.keys()
    | WEEKDAYS.keys()
    | SEASON_MONTHS.keys()
    | DAY_PARTS.keys()
    | UNIT_WORDS
    | _QUARTERS
    | word_set("today yesterday tonight now half")
)
"""Without one of these or a date, there is no time phrase."""
_DATE = re.compile(r"\b(?:19[7-9][0-9]|20[0-9]{2}|2100|[0-9]{4}(?=-)|[0-9]{1,2}(?:st|nd|rd|th))\b")


def may_name_a_time(text: str) -> bool:
    """Whether words of a text could be a time phrase; few texts need a closer look."""
    lowered = text.lower()
    words = _WORD.findall(lowered)
    if not _TELLING.isdisjoint(words) and (
        not _BEGINNINGS.isdisjoint(words) or _NUMBER.search(lowered) is not None
    ):
        return True
    return _DATE.search(lowered) is not None
