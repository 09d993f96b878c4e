"""The three forms of a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone.protocol import dates


def test_a_time_in_each_form() -> None:
    time = "2026-01-02T05:04:05.6789+02:00"

    assert dates.number(time) == 1_767_323_045_678
    assert dates.fractional(time) == "2026-01-02T03:04:05.678Z"
    assert dates.whole(time) == "2026-01-02T03:04:05Z"
    assert dates.minute(time) == "2026-01-02 03:04"
    assert dates.readable(time)


@pytest.mark.parametrize("time", [None, "", "yesterday", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_becomes_the_first(time: str | None) -> None:
    assert not dates.readable(time)
    assert dates.number(time) == 0
    assert dates.fractional(time) == dates.UNKNOWN
    assert dates.whole(time) == "1970-01-01T00:00:00Z"
    assert dates.minute(time) == "1970-01-01 00:00"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_before_or_after_all_years_is_none(time: str) -> None:
    assert not dates.readable(time)


def test_a_whole_second_has_its_zeros() -> None:
    assert dates.fractional("2026-01-02T03:04:05Z") == "2026-01-02T03:04:05.000Z"


@given(st.integers(-(10**13), 10**14))
def test_a_time_stays_the_same_in_every_form(milliseconds: int) -> None:
    second, thousandth = divmod(milliseconds, 1000)
    text = dates.fractional(dates.fractional(_text(second, thousandth)))

    assert dates.number(text) == milliseconds
    assert dates.number(dates.whole(text)) == second * 1000


def _text(second: int, thousandth: int) -> str:
    from datetime import UTC, datetime, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    return (
        moment.strftime("%Y").zfill(4) + moment.strftime("-%m-%dT%H:%M:%S") + f".{thousandth:03}Z"
    )
