"""Moments: what callers may give, and how stores keep them (microseconds since 1970, UTC)."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from recollect.errors import InvalidInput
from recollect.types import When

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|\+00:00)").fullmatch
"""How programs write moments."""


def moment(value: When) -> datetime:
    """A moment in UTC from what a caller gave.

    >>> moment("2026-03-01T10:00+01:00").isoformat()
    '2026-03-01T09:00:00+00:00'
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, (datetime, str)):
        raise InvalidInput(f"{value!r} is no moment: give a datetime or ISO 8601 text, such as 2026-03-01.")
    given = value if isinstance(value, datetime) else _read(value)
    if given.tzinfo is None:
        return given.replace(tzinfo=UTC)
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{value} lies outside the years 1 to 9999: give a date within them.") from None


def _read(text: str) -> datetime:
    if _PLAIN(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:  # there is no such day or hour: what follows says so
            pass
    from recollect.query.timeframe import parse_moment

    return parse_moment(text)


def moment_or_none(value: When | None) -> datetime | None:
    """The same, where nothing may be given."""
    return None if value is None else moment(value)


def to_micros(value: datetime) -> int:
    """Microseconds since 1970; exact."""
    return (value - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    """The inverse of `to_micros`."""
    return EPOCH + value * MICROSECOND


def micros_or_none(value: datetime | None) -> int | None:
    """The same, where there may be nothing."""
    return None if value is None else to_micros(value)


def from_micros_or_none(value: int | None) -> datetime | None:
    """The same, where there may be nothing."""
    return None if value is None else from_micros(value)
