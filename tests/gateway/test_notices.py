"""Strangers cannot fill the log."""

import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.access.notices import KeyNotices, Notices


async def test_so_many_lines_a_minute_and_a_count_of_the_rest(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = Notices(a_minute=3)
    for number in range(10):
        notices.tell("Host refused", host=f"{number}.evil.com")
    await trio.sleep(60)
    notices.tell("Host refused", host="later.evil.com")

    told = [(record.args, record.podium) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [
        (("Host refused",), {"host": "0.evil.com"}),
        (("Host refused",), {"host": "1.evil.com"}),
        (("Host refused",), {"host": "2.evil.com"}),
        (("Warnings left out",), {"count": 7}),
        (("Host refused",), {"host": "later.evil.com"}),
    ]


async def test_keys_of_an_address_are_told_once_a_second_with_how_many_were_left_out(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = KeyNotices()
    for _ in range(4):
        notices.tell("Wrong key", "10.0.0.1")
    notices.tell("Wrong key", "10.0.0.2")
    await trio.sleep(1)
    notices.tell("Key not looked at", "10.0.0.1")

    told = [(record.args, record.podium) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [
        (("Wrong key",), {"peer": "10.0.0.1"}),
        (("Wrong key",), {"peer": "10.0.0.2"}),
        (("Key not looked at",), {"peer": "10.0.0.1", "left_out": 3}),
    ]


async def test_keys_of_many_addresses_fill_neither_the_log_nor_memory(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = KeyNotices()
    for number in range(2000):
        notices.tell("Wrong key", f"10.0.{number // 250}.{number % 250}")

    assert len(caplog.records) == 60
    assert len(notices._told) == 1000
