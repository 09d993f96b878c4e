"""A phone that takes its time is sent no more at once than its socket has room for."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone.feed import channels
from podiumd.gateway.phone.feed.channels import HIGH_WATER
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.sessions.support import line as record

MESSAGES = range(2, 82)
LONG = "x" * 18_000


class SlowLine(PhoneClient):
    """Takes nothing of what it is sent until it is told to."""

    def send_frame(self, frame: bytes) -> None:
        self.pending += len(frame)
        super().send_frame(frame)


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def seqs(client: PhoneClient) -> list[int]:
    """The numbers of every message that the phone was sent, in order."""
    return [m["seq"] for each in client.of("session_history") for m in each["messages"]]


async def test_a_phone_that_catches_up_is_sent_what_it_has_room_for_and_then_the_rest(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.gateway.phone.phone_server.PhoneClient", SlowLine)
    await server.record(session, record(1))
    client = await server.connected()
    client.say("subscribe", session_id=session)
    await client.hears("session_history")
    await server.record(session, *(record(number, LONG) for number in MESSAGES))
    most = 0
    while not seqs(client) or seqs(client)[-1] != MESSAGES[-1]:
        client.take(0)
        await wait_all_tasks_blocked()
        most = max(most, client.pending)

    assert seqs(client) == [1, *MESSAGES]
    assert HIGH_WATER < most < 2 * HIGH_WATER


async def test_a_phone_that_takes_everything_is_not_sent_megabytes_in_one_go(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.record(session, record(1))
    client = await server.connected()
    client.say("subscribe", session_id=session)
    await client.hears("session_history")
    sizes: list[int] = []
    deliver = channels.Channel.deliver

    def measured(self: channels.Channel, *rest: Any) -> None:
        before = len(json.dumps(client.sent))
        deliver(self, *rest)
        sizes.append(len(json.dumps(client.sent)) - before)

    monkeypatch.setattr(channels.Channel, "deliver", measured)
    await server.record(session, *(record(number, LONG) for number in MESSAGES))
    await client.until(lambda: seqs(client)[-1] == MESSAGES[-1])

    assert seqs(client) == [1, *MESSAGES]
    assert HIGH_WATER / 2 < max(sizes) < 2 * HIGH_WATER
