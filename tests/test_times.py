"""A moment is the same however it is read, and one that there is not is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.query.timeframe import parse_moment
from recollect.times import moment


@given(st.datetimes(), st.sampled_from(["Z", "+00:00", "+02:00", "", "z", " Z"]), st.sampled_from("T "))
def test_plain_moments_are_read_as_any_others(at: datetime, zone: str, between: str) -> None:
    text = at.replace(microsecond=0).isoformat(between) + zone
    expected = at.replace(microsecond=0, tzinfo=UTC)
    if zone == "+02:00" and expected < datetime(1, 1, 2, tzinfo=UTC):
        return
    assert moment(text) == expected - timedelta(hours=2 if zone == "+02:00" else 0)
    assert moment(text) == parse_moment(text)
    assert moment(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T00:00:60+00:00"],
)
def test_a_moment_that_there_is_not_is_no_date(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a date"):
        moment(text)
