"""Strangers cannot fill the log."""

import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.notices import Notices


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
