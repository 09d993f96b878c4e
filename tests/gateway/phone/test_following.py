"""A phone follows sessions: one window at first, then what is new, without hole or repeat."""

from __future__ import annotations

import uuid

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone.feed import channels
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.sessions.support import line as record
from tests.sessions.support import lines

MANY = 300 * 1024


def seqs(client: PhoneClient) -> list[int]:
    """The numbers of every message that the phone was sent, in order."""
    return [m["seq"] for each in client.of("session_history") for m in each["messages"]]


async def reached(client: PhoneClient, seq: int) -> None:
    """Wait until the phone was sent a message."""
    await client.until(lambda: seqs(client)[-1] == seq)


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


async def test_a_fresh_phone_gets_the_newest_messages_whole_and_then_each_new_one(
    server: PhoneServer, session: str
) -> None:
    """P-6.16."""
    await server.record(session, lines(1, 70))
    client = await server.connected()
    client.say("subscribe", session_id=session)
    first = await client.hears("session_history")
    assert seqs(client) == list(range(21, 71))
    assert first["is_complete"] is first["end_of_file"] is True
    assert (first["next_seq"], first["next_offset"]) == (71, 70)
    await server.record(session, record(71), record(72))
    await client.until(lambda: seqs(client)[-1] == 72)
    assert seqs(client) == list(range(21, 73))


async def test_the_commands_of_the_sessions_directory_come_before_its_messages(
    server: PhoneServer, session: str
) -> None:
    """P-6.13."""
    await server.record(session, record(1))
    client = await server.looking(session)
    kinds = [each["type"] for each in client.sent]
    assert kinds.index("available_commands") < kinds.index("session_history")


@pytest.mark.parametrize("cursor", [{"last_seq": 5}, {"from_offset": 5}])
async def test_a_phone_that_was_here_before_gets_exactly_what_it_lacks(
    server: PhoneServer, session: str, cursor: dict[str, int]
) -> None:
    await server.record(session, lines(1, 9))
    client = await server.connected()
    client.say("subscribe", session_id=session, **cursor)
    await client.hears("session_history")
    assert seqs(client) == [6, 7, 8, 9]


async def test_a_long_delta_comes_in_answers_that_the_phone_asks_for_one_by_one(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, *(record(n, "x" * 1000) for n in range(1, 200)))
    client = await server.connected(version="0.4.0")
    client.say("set_max_message_size", size_kb=50)
    cursor, asked = 1, 0
    while True:
        client.say("subscribe", session_id=session, last_seq=cursor)
        asked += 1
        answer = await client.hears("session_history", asked)
        cursor = answer["last_seq"]
        if answer["is_complete"]:
            break
    assert seqs(client) == list(range(2, 200)) and asked > 3


async def test_nothing_is_pushed_into_an_answer_that_is_not_complete(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, *(record(n, "x" * 1000) for n in range(1, 200)))
    client = await server.connected(version="0.4.0")
    client.say("set_max_message_size", size_kb=50)
    client.say("subscribe", session_id=session, last_seq=1)
    answer = await client.hears("session_history")
    await server.record(session, record(200))
    await client.caught_up()
    assert len(client.of("session_history")) == 1 and not answer["is_complete"]


async def test_after_the_pong_nothing_comes_of_a_session_that_was_left(
    server: PhoneServer, session: str
) -> None:
    """P-6.15, P-1.4."""
    await server.record(session, record(1))
    client, other = await server.looking(session), await server.looking(session)
    client.say("unsubscribe", session_id=session)
    await client.caught_up()
    await server.record(session, record(2))
    await other.until(lambda: seqs(other) == [1, 2])
    assert seqs(client) == [1]


async def test_a_slow_phone_falls_behind_alone_and_catches_up_without_a_hole(
    server: PhoneServer, session: str
) -> None:
    """P-6.16."""
    await server.record(session, record(1))
    slow, quick = await server.looking(session), await server.looking(session)
    slow.take(MANY)
    for number in range(2, 6):
        await server.record(session, record(number))
        await reached(quick, number)
    assert seqs(slow) == [1]
    slow.take(0)
    await slow.until(lambda: seqs(slow)[-1] == 5)
    await server.record(session, record(6))
    await slow.until(lambda: seqs(slow)[-1] == 6)
    assert seqs(slow) == seqs(quick) == [1, 2, 3, 4, 5, 6]


async def test_a_phone_that_falls_behind_again_and_again_catches_up_each_time(
    server: PhoneServer, session: str
) -> None:
    """P-6.16."""
    await server.record(session, record(1))
    slow, quick = await server.looking(session), await server.looking(session)
    for number in range(2, 5):
        slow.take(MANY)
        await server.record(session, record(number))
        await reached(quick, number)
        assert seqs(slow)[-1] == number - 1
        slow.take(0)
        await reached(slow, number)
    assert seqs(slow) == [1, 2, 3, 4]


async def test_phones_with_different_frames_each_get_their_own(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, record(1))
    small, large = await server.connected(), await server.connected()
    small.say("set_max_message_size", size_kb=16)
    for each in (small, large):
        each.say("subscribe", session_id=session)
        await each.hears("session_history")
    await server.record(session, record(2, "é" * 9000), record(3, "ü" * 9000))
    for each in (small, large):
        await reached(each, 3)
        assert seqs(each) == [1, 2, 3]
    assert all(m["is_complete"] for m in small.of("session_history"))


async def test_an_older_app_goes_on_after_the_message_that_it_names(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, lines(1, 5))
    client = await server.connected(version=None)
    named = "00000000-0000-4000-8000-000000000003"
    client.say("subscribe", session_id=session, last_message_id=named)
    await client.hears("session_history")
    assert seqs(client) == [4, 5]


async def test_a_session_that_does_not_exist_yet_is_followed_from_its_first_line(
    server: PhoneServer, session: str
) -> None:
    """P-6.14."""
    client = await server.connected()
    client.say("subscribe", session_id=session)
    assert session in (await client.hears("error"))["message"]
    await server.record(session, record(1))
    await client.hears("session_history")
    assert seqs(client) == [1]


async def test_a_session_that_its_person_deleted_on_the_phone_is_quiet_until_it_is_opened_again(
    server: PhoneServer, session: str
) -> None:
    """P-4.12."""
    await server.record(session, record(1))
    client = await server.looking(session)
    client.say("session_deleted", session_id=session)
    await client.caught_up()
    await server.record(session, record(2))
    await client.caught_up()
    assert seqs(client) == [1]
    client.say("subscribe", session_id=session)
    await client.until(lambda: seqs(client)[-1] == 2)


async def test_one_feed_serves_every_phone_and_ends_with_the_last(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, record(1))
    phones = [await server.connected() for _ in range(3)]
    for each in phones:
        each.say("subscribe", session_id=session)
        await each.hears("session_history")
    channel = server.hub.services.channels.get(session)
    assert channel is not None and len(channel.subscriptions) == 3
    for each in phones:
        each.hang_up()
    while server.hub.phones:
        await wait_all_tasks_blocked()
    assert server.hub.services.channels.get(session) is None


async def test_a_feed_that_breaks_is_opened_again_and_nothing_is_missed(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "AGAIN_SECONDS", 0.0)
    await server.record(session, record(1))
    client = await server.looking(session)
    channel = server.hub.services.channels.get(session)
    assert channel is not None

    def broken(*_: object) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(channels, "AGAIN_SECONDS", 0.0)
        raise RuntimeError("broken")

    monkeypatch.setattr(channels.Channel, "deliver", broken)
    await server.record(session, record(2))
    await client.until(lambda: seqs(client)[-1] == 2)
    assert seqs(client) == [1, 2]


async def test_lists_are_sent_again_when_a_session_changes(
    server: PhoneServer, session: str
) -> None:
    """P-4.11."""
    client = await server.connected(recent_sessions_limit=7)
    await server.record(session, record(1))
    recent = await client.hears("recent_sessions")
    assert recent["limit"] == 7 and recent["sessions"][0]["session_id"] == session


async def test_messages_are_carried_out_in_their_order(server: PhoneServer, session: str) -> None:
    """P-1.3, P-1.4."""
    await server.record(session, record(1))
    client = await server.connected()
    client.say("ping")
    client.say("subscribe", session_id=session)
    client.say("ping")
    client.say("get_available_recipes")
    client.say("ping")
    await client.hears("pong", 3)
    unasked = ("available_commands", "recent_sessions")
    told = [each["type"] for each in client.sent if each["type"] not in unasked]
    assert told == ["pong", "session_history", "pong", "available_recipes", "pong"]
