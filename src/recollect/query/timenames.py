"""Time that is named: ISO dates, years, quarters, months, days and seasons."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo

from recollect.query.calendar import (
    DAY_PARTS,
    MONTHS,
    SEASON_MONTHS,
    WEEKDAYS,
    Span,
    Weekly,
    Yearly,
    latest_day_numbered,
    shift,
    with_fixed_offset,
)
from recollect.query.timewords import ISO_MOMENT, RANGE_MARKS, Reading, Words, word_set

_LEADS = word_set("in on during since before after until till from between throughout within over of through")
_MONTH_LEADS = word_set("in during since before after until till throughout within between")
_VERB_MONTH_LEADS = word_set("in during since between")
_DAY_LEADS = word_set("on since before after until till from between through")
_YEAR_LEADS = word_set("in during since before after until till from between throughout")
_PARTS = word_set("end beginning start middle rest course most week weeks day days weekend month")
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
THIRDS = {"early": 0, "mid": 1, "late": 2}
_DAYS_OF_THIRD: tuple[tuple[int, int | None], ...] = ((1, 10), (11, 20), (21, None))
VERB_MONTHS = word_set("may march mar dec")
CLEAR_MONTHS = word_set("january february july september october november december")
_CLEAR_SHORT_DAYS = word_set("tue tues thu thur thurs fri")


def iso_moment(text: str, zone: tzinfo) -> datetime | None:
    """The moment an ISO date or datetime names; None when it is not written like one.

    ValueError when it is, but there is no such day or hour.
    """
    found = re.fullmatch(ISO_MOMENT, text)
    if found is None:
        return None
    day, minute, second, offset = found.groups(default="")
    written = f"{day}T{minute or '00:00'}{second}{offset.upper()}"
    moment = datetime.fromisoformat(written)
    return with_fixed_offset(moment if moment.tzinfo else moment.replace(tzinfo=zone))


class Named(Words):
    """Reads the names that the calendar has for its parts; each method reads at one token."""

    def iso(self, i: int) -> Reading | None:
        """2026-03-01, 2026-03-01T14:30, 2026-03, 2026-W10."""
        text = self.word(i)
        moment = iso_moment(text, self.clock.zone)
        if moment and ":" in text:
            length = timedelta(seconds=1) if _names_second(text) else timedelta(minutes=1)
            start = moment.replace(microsecond=0)
            return Reading(Span(start, start + length), i + 1)
        if moment:
            return Reading(self.clock.whole("day", date.fromisoformat(text)), i + 1)
        year, part = int(text[:4]), text[5:]
        if not self.whole and not 1900 <= year <= 2100:
            return None
        if part.startswith("w"):
            return Reading(self.clock.whole("week", date.fromisocalendar(year, int(part[1:]), 1)), i + 1)
        return Reading(self.clock.whole("month", date(year, int(part), 1)), i + 1)

    def year(self, i: int) -> Reading | None:
        """2025."""
        year = self.year_number(i)
        if year is None or not (self.whole or self._is_surely_year(i, year)):
            return None
        return Reading(self.clock.whole("year", date(year, 1, 1)), i + 1)

    def _is_surely_year(self, i: int, year: int) -> bool:
        lead = self.lead(i)
        if self.word(i + 1) in RANGE_MARKS and self.number(i + 2) and not self.year_number(i + 2):
            return False
        if year % 100 == 0:
            return lead in _VERB_MONTH_LEADS and self.stops(i + 1)
        is_led = lead in _YEAR_LEADS or self._is_named_in_part(i)
        return is_led and (self.stops(i + 1) or self.tokens[i + 1].is_capital)

    def _is_named_in_part(self, i: int) -> bool:
        """Whether it is the 2025 of "the end of 2025"."""
        return self.word(i - 1) == "of" and self.word(i - 2) in _PARTS

    def quarter(self, i: int) -> Reading | None:
        """Q3, Q3 2026."""
        return self._months_of_year(int(self.word(i)[1]), 3, i + 1, self.lead(i))

    def half(self, i: int) -> Reading | None:
        """H1 2026."""
        return self._months_of_year(int(self.word(i)[1]), 6, i + 1, "")

    def ordinal(self, i: int) -> Reading | None:
        """First quarter, second half of 2026; 3rd of March."""
        which, unit = ORDINALS[self.word(i)], self.word(i + 1)
        if unit == "quarter":
            return self._months_of_year(which, 3, i + 2, self.lead(i))
        if unit == "half" and which <= 2:
            return self._months_of_year(which, 6, i + 2, "")
        return self.day_first(i)

    def _months_of_year(self, which: int, months: int, i: int, lead: str) -> Reading | None:
        year, after = self.year_after(i)
        if not year and self.word(i) == "of":
            return None
        is_led = lead in _YEAR_LEADS and self.stops(after) and not self.tells_of_future
        if not (year or self.whole or is_led):
            return None
        return self._yearly(Yearly((which - 1) * months + 1, months), year, after)

    def season(self, i: int) -> Reading | None:
        """Summer 2026; without a year only as a whole phrase."""
        year, after = self.year_after(i + 1)
        if not (year or self.whole):
            return None
        return self._yearly(Yearly(SEASON_MONTHS[self.word(i)], 3), year, after)

    def third(self, i: int) -> Reading | None:
        """Early March, mid-2025."""
        third = THIRDS[self.word(i)]
        at = i + 2 if self.word(i + 1) == "-" else i + 1
        if whole_year := self.year_number(at):
            months = Yearly(third * 4 + 1, 4)
            return (
                self._yearly(months, whole_year, at + 1) if whole_year % 100 or self.stops(at + 1) else None
            )
        name = self.word(at)
        if name not in MONTHS:
            return None
        year, after = self.year_after(at + 1)
        is_name = name not in VERB_MONTHS or self.tokens[at].is_capital
        if not (self.whole or year or name in CLEAR_MONTHS or (is_name and self.stops(after))):
            return None
        first, last = _DAYS_OF_THIRD[third]
        return self._yearly(Yearly(MONTHS[name], first=first, last=last), year, after)

    def month(self, i: int) -> Reading | None:
        """March, March 2026, March 3, March 3-10, 2026."""
        at = i + 2 if self.word(i + 1) == "." and self.number(i + 2) else i + 1
        days, after_days = self._days(at)
        year, after = self.year_after(after_days)
        if not self.whole and not self._is_surely_month(i, at, days is not None, year, after):
            return Reading(None, after) if days else None
        return self._days_of_month(self.word(i), days, year, after)

    def _is_surely_month(self, i: int, at: int, has_day: bool, year: int | None, after: int) -> bool:
        name, lead = self.word(i), self.lead(i)
        is_verb = name in VERB_MONTHS and not self.tokens[i].is_capital
        if year:
            return not is_verb or lead in _LEADS or self.stops(after)
        if has_day:
            is_led = lead in _DAY_LEADS or (self.word(i - 1) == "the" and not is_verb)
            return is_led or (not is_verb and (self.is_ordinal(at) or self.stops(after)))
        if self.tells_of_future:
            return False
        if name in CLEAR_MONTHS:
            return lead in _LEADS or self.word(after) == "'s"
        leads = _VERB_MONTH_LEADS if is_verb else _MONTH_LEADS
        is_led = lead in leads or (self._is_named_in_part(i) and not is_verb)
        return is_led and self.stops(after) and self.word(after) != "'s"

    def _days(self, i: int) -> tuple[tuple[int, int] | None, int]:
        """The days of a month that token i begins to name ("3", "3rd to 10th"), and what follows."""
        first = self.day_number(i)
        if first is None:
            return None, i
        at = i + 2 if self.word(i + 1) in RANGE_MARKS else i + 1
        last = self.day_number(self.past_article(at)) if at == i + 2 else None
        after = self.past_article(at) + 1
        if last is None or self.word(after) in MONTHS or self.unit(after):
            return (first, first), i + 1
        return (first, last), after

    def _days_of_month(
        self, month: str, days: tuple[int, int] | None, year: int | None, after: int
    ) -> Reading | None:
        if days is None:
            return self._yearly(Yearly(MONTHS[month]), year, after)
        self.is_backwards |= days[1] < days[0]
        if days[1] < days[0]:
            return Reading(None, after)
        return self._yearly(Yearly(MONTHS[month], first=days[0], last=days[1]), year, after)

    def _yearly(self, yearly: Yearly, year: int | None, after: int) -> Reading | None:
        if year is None:
            return Reading(self.clock.days(*yearly.latest(self.clock.today)), after, yearly)
        found = yearly.in_year(year)
        return Reading(self.clock.days(*found), after) if found else None

    def day_first(self, i: int) -> Reading | None:
        """3 March 2026, 3rd of March, 3 to 10 March; "on the 3rd"."""
        first = self.day_number(i)
        if first is None:
            return None
        last_at = i + 2 if self.word(i + 1) in RANGE_MARKS and self.day_number(i + 2) else i
        month_at = last_at + 2 if self.word(last_at + 1) == "of" else last_at + 1
        name = self.word(month_at)
        if name not in MONTHS:
            return self._day_alone(i, first)
        year, after = self.year_after(month_at + 1)
        is_verb = name in VERB_MONTHS and not self.tokens[month_at].is_capital
        is_day = self.is_ordinal(i) or (not is_verb and (self.lead(i) in _DAY_LEADS or self.stops(after)))
        if not (self.whole or year or is_day):
            return Reading(None, after)
        return self._days_of_month(name, (first, self.day_number(last_at) or first), year, after)

    def _day_alone(self, i: int, day: int) -> Reading | None:
        is_led = self.word(i - 1) == "the" and self.lead(i) == "on" and self.stops(i + 1)
        if not self.is_ordinal(i) or not (self.whole or is_led) or self.word(i + 1) == "of":
            return None
        return Reading(self.clock.whole("day", latest_day_numbered(day, self.clock.today)), i + 1)

    def weekday(self, i: int) -> Reading | None:
        """Tuesday, Tuesday morning, Tuesday, March 3."""
        at = i + 2 if self.word(i + 1) == "," else i + 1
        dated = self.month(at) if self.word(at) in MONTHS else self.day_first(at)
        if dated:
            return dated
        if not self.whole and not self._is_surely_weekday(i):
            return None
        weekly = Weekly(WEEKDAYS[self.word(i)])
        return self.day_or_part(weekly.latest(shift(self.clock.today, -1, "day"))[0], i + 1, weekly)

    def _is_surely_weekday(self, i: int) -> bool:
        follows, is_led = self.word(i + 1), self.lead(i) in _DAY_LEADS
        if self.tells_of_future or (follows == "the" and self.day_number(i + 2)):
            return False  # "Friday the 13th"
        if self.is_short_day(i):
            return is_led
        is_full = len(self.word(i)) >= 6
        return is_full and (is_led or follows == "'s" or (follows in DAY_PARTS and self.stops(i + 2)))

    def is_short_day(self, i: int) -> bool:
        """Whether token i is "Mon" or "fri", and no other word."""
        is_clear = self.tokens[i].is_capital or self.word(i) in _CLEAR_SHORT_DAYS
        return len(self.word(i)) < 6 and (self.whole or (is_clear and self.stops(i + 1)))

    def day_or_part(self, day: date, i: int, recurs: Weekly | None = None) -> Reading | None:
        """The day, or the part of it that token i names."""
        part = self.word(i)
        if part in DAY_PARTS:
            return Reading(self.clock.part_of_day(day, part), i + 1)
        if part[:-1] in DAY_PARTS:
            return Reading(None, i + 1)  # "Monday mornings"
        return Reading(self.clock.whole("day", day), i, recurs)


def _names_second(text: str) -> bool:
    found = re.fullmatch(ISO_MOMENT, text)
    return found is not None and found[3] is not None
