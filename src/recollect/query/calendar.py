"""Calendar arithmetic in one time zone, and the English names of its pieces.

Every moment that leaves this module carries the *fixed* offset its zone had then, so comparing and
subtracting two of them counts real time, also across a change of the clocks (two datetimes that share
a zoneinfo zone would be compared by the wall clock). Weeks begin on Monday.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, timezone

from recollect.errors import InvalidInput
from recollect.frozen import dataclass

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
SEASON_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each meteorological season of the northern hemisphere; each lasts three months."""

DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""From and to which hour of the day; a night lasts until 6 on the next morning."""

_COUNTING = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
)
NUMBERS = {word: number for number, word in enumerate(_COUNTING.split(), start=1)} | {
    "a": 1,
    "an": 1,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_DAYS_IN = {"day": 1, "week": 7}
UNITS = frozenset(_SECONDS) | frozenset(_MONTHS_IN) | frozenset(_DAYS_IN)

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` until just before ``end``; None is open."""

    start: datetime | None
    end: datetime | None

    def encloses(self, other: Span) -> bool:
        """Whether the whole of the other lies within this one."""
        begins = self.start is None or (other.start is not None and self.start <= other.start)
        ends = self.end is None or (other.end is not None and other.end <= self.end)
        return begins and ends

    @property
    def length(self) -> timedelta:
        """How long it lasts; `timedelta.max` when an end is open."""
        return timedelta.max if self.start is None or self.end is None else self.end - self.start

    @property
    def is_empty(self) -> bool:
        """Whether it ends where it begins, or before."""
        return self.start is not None and self.end is not None and self.end <= self.start


def with_fixed_offset(moment: datetime) -> datetime:
    """The same moment with the offset its zone has then, kept within what UTC can express.

    >>> with_fixed_offset(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))).isoformat()
    '0001-01-01T00:00:00+00:00'
    """
    if moment.tzinfo is UTC and not moment.fold:
        return moment
    fixed = moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta()), fold=0)
    return min(max(fixed, _EARLIEST), _LATEST)


def shift(day: date, count: int, unit: str) -> date:
    """That many days, weeks, months, quarters or years later (earlier when negative).

    >>> shift(date(2026, 3, 31), -1, "month").isoformat()
    '2026-02-28'
    """
    if unit in _DAYS_IN:
        return day + timedelta(days=count * _DAYS_IN[unit])
    year, month_before = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_IN[unit], 12)
    first = date(year, month_before + 1, 1)
    return first.replace(day=min(day.day, monthrange(first.year, first.month)[1]))


def first_day(day: date, unit: str) -> date:
    """The first day of the week, month, quarter or year in which this day lies."""
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1 if unit == "year" else (day.month - 1) // 3 * 3 + 1, day=1)


def latest_day_numbered(number: int, not_after: date) -> date:
    """The latest 3rd (or 31st) of any month; ValueError when no month has that many days."""
    for months_back in range(3):
        month = shift(not_after.replace(day=1), -months_back, "month")
        if number <= monthrange(month.year, month.month)[1] and month.replace(day=number) <= not_after:
            return month.replace(day=number)
    raise ValueError(f"no month has a day {number}")


@dataclass(frozen=True, slots=True)
class Weekly:
    """A day of the week; Monday is 0."""

    weekday: int

    def latest(self, not_after: date) -> tuple[date, date]:
        """The last one that begins on this day or before: its first day and the day after it."""
        day = not_after - timedelta(days=(not_after.weekday() - self.weekday) % 7)
        return day, day + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Yearly:
    """A stretch that comes back every year: a month or several, or some days of one month."""

    month: int
    months: int = 1
    first: int = 1
    last: int | None = None

    def in_year(self, year: int) -> tuple[date, date] | None:
        """Its first day and the day after it; None when that year has none (29 February)."""
        begin = date(year, self.month, 1)
        days = monthrange(year, self.month)[1]
        if self.first > days or (self.last or 1) > days:
            return None
        after = begin + timedelta(days=self.last) if self.last else shift(begin, self.months, "month")
        return begin.replace(day=self.first), after

    def latest(self, not_after: date) -> tuple[date, date]:
        """The last one that has begun by this day; ValueError when there never is one."""
        for year in range(not_after.year, max(not_after.year - 9, 0), -1):
            if (found := self.in_year(year)) and found[0] <= not_after:
                return found
        raise ValueError("no year has this day")

    def latest_ended(self, by: date) -> tuple[date, date]:
        """The last one that is over on this day."""
        found = self.latest(by)
        return found if found[1] <= by else self.latest(found[0] - timedelta(days=1))

    def soonest(self, not_before: date) -> tuple[date, date]:
        """The first one that begins on this day or later; ValueError when there never is one."""
        for year in range(not_before.year, not_before.year + 9):
            if (found := self.in_year(year)) and found[0] >= not_before:
                return found
        raise ValueError("no year has this day")


class Clock:
    """The calendar as it stands at ``now``, in the time zone of ``now``."""

    def __init__(self, now: datetime) -> None:
        if now.utcoffset() is None or now.tzinfo is None:
            raise InvalidInput("now has no time zone: give an aware datetime, such as datetime.now(UTC)")
        self.zone = now.tzinfo
        self.now = with_fixed_offset(now)
        self.today = now.date()

    def at(self, wall: datetime) -> datetime:
        """The moment at which the clocks of this zone show this (a naive datetime)."""
        return with_fixed_offset(wall.replace(tzinfo=self.zone))

    def midnight(self, day: date) -> datetime:
        """The moment at which this day begins."""
        return self.at(datetime(day.year, day.month, day.day))

    def days(self, first: date, after: date) -> Span:
        """From the beginning of the first day to the beginning of the other."""
        return Span(self.midnight(first), self.midnight(after))

    def whole(self, unit: str, day: date) -> Span:
        """The day, calendar week, month, quarter or year in which this day lies."""
        first = first_day(day, unit)
        try:
            return self.days(first, shift(first, 1, unit))
        except (OverflowError, ValueError):  # the last one there is: nothing comes after the year 9999
            return Span(self.midnight(first), None)

    def weekend(self, day: date) -> Span:
        """Saturday and Sunday of the week in which this day lies."""
        monday = first_day(day, "week")
        return self.days(shift(monday, 5, "day"), shift(monday, 7, "day"))

    def part_of_day(self, day: date, part: str) -> Span:
        """The morning, afternoon, evening or night of this day."""
        ends: list[datetime] = []
        for hour in DAY_PARTS[part]:
            wall_day = shift(day, hour // 24, "day")
            ends.append(self.at(datetime(wall_day.year, wall_day.month, wall_day.day, hour % 24)))
        return Span(*ends)

    def earlier(self, seconds: float) -> datetime:
        """The moment that lies that many seconds of real time before now."""
        past = self.now.astimezone(UTC) - timedelta(seconds=seconds)
        return with_fixed_offset(past.astimezone(self.zone))

    def rolling(self, count: int, unit: str) -> Span:
        """The last so many units up to now; from days on it begins with the midnight of its first day."""
        if unit in _SECONDS:
            return Span(self.earlier(count * _SECONDS[unit]), self.now)
        return Span(self.midnight(shift(self.today, -count, unit)), self.now)

    def ago(self, near: int, far: int, unit: str) -> Span:
        """The units between so many ago and so many ago, whole ones (`near` and `far` may be the same).

        Minutes and seconds are said loosely: these reach from half as long to half as long again.
        """
        if unit in ("minute", "second"):
            step = _SECONDS[unit]
            return Span(self.earlier(far * step * 1.5), self.earlier(near * step * 0.5))
        if unit == "hour":
            return Span(self._hour_ago(far), self._hour_ago(near - 1))
        first = self.whole(unit, shift(self.today, -far, unit))
        return Span(first.start, self.whole(unit, shift(self.today, -near, unit)).end)

    def _hour_ago(self, count: int) -> datetime:
        since_the_hour = self.now.minute * 60 + self.now.second + self.now.microsecond / 1_000_000
        return self.earlier(count * 3600 + since_the_hour)
