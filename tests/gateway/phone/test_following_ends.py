"""Subscriptions that end, are made twice, or lose their session: no phone hears too much or
nothing any more."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone import connection
from podiumd.gateway.phone.feed import channels
from podiumd.runtime.errors import NotFound, Overloaded, PodiumError
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.sessions.support import line as record
from tests.sessions.support import lines

MANY = 300 * 1024


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def seqs(client: PhoneClient) -> list[int]:
    """The numbers of every message that the phone was sent, in order."""
    return [m["seq"] for each in client.of("session_history") for m in each["messages"]]


async def behind(server: PhoneServer, session: str) -> None:
    """Wait until the one phone that looks at a session has left its live frames."""
    channel = server.hub.services.channels.get(session)
    assert channel is not None
    while not all(each.behind for each in channel.subscriptions):
        await wait_all_tasks_blocked()


@asynccontextmanager
async def unfollowed(server: PhoneServer, session: str, fault: PodiumError) -> AsyncIterator[None]:
    """A feed that has broken at message 4, and cannot be opened again before this is left."""
    asked = trio.Event()

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    def refuse(*_: object) -> None:
        asked.set()
        raise fault

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channels, "AGAIN_SECONDS", 0.0)
        patch.setattr(channels.Channel, "deliver", broken)
        patch.setattr(server.hub.services.service, "follow_session", refuse)
        await server.record(session, record(4))
        await asked.wait()
        yield


class Gate:
    """Holds the first call up until it is opened."""

    def __init__(self, real: Callable[..., Awaitable[Any]]) -> None:
        self.reached = trio.Event()
        self.opened = trio.Event()
        self._real = real

    async def __call__(self, *args: Any) -> Any:
        if not self.reached.is_set():
            self.reached.set()
            await self.opened.wait()
        return await self._real(*args)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Holds up the first look at a directory: it may be on a disk that does not answer."""
    gate = Gate(connection.Phone.commands)

    async def held(self: connection.Phone, directory: str | None) -> Any:
        return await gate(self, directory)

    gate.reached.set()  # not while phones connect
    monkeypatch.setattr(connection.Phone, "commands", held)
    return gate


async def half_ready(server: PhoneServer, session: str, commands: Gate) -> PhoneClient:
    """A phone that has asked for a session that was not there yet, and whose answer is held up
    now that it is."""
    client = await server.connected()
    client.say("subscribe", session_id=session)
    await client.hears("error")
    commands.reached = trio.Event()
    await server.record(session, record(1))
    await commands.reached.wait()
    return client


async def test_a_phone_that_subscribes_when_its_session_is_ready_has_one_subscription(
    server: PhoneServer, session: str, commands: Gate
) -> None:
    """P-6.16: its own message crosses what the daemon does by itself."""
    client = await half_ready(server, session, commands)
    client.say("subscribe", session_id=session)
    await client.hears("session_history")
    commands.opened.set()
    await wait_all_tasks_blocked()
    channel = server.hub.services.channels.get(session)
    assert channel is not None and len(channel.subscriptions) == 1
    await server.record(session, record(2))
    await client.until(lambda: 2 in seqs(client))
    await client.caught_up()
    assert seqs(client) == [1, 2]


async def test_a_phone_that_leaves_what_is_just_being_answered_hears_nothing_more(
    server: PhoneServer, session: str, commands: Gate
) -> None:
    """P-6.15."""
    client = await half_ready(server, session, commands)
    client.say("unsubscribe", session_id=session)
    await client.caught_up()
    client.forget()
    commands.opened.set()
    await wait_all_tasks_blocked()
    assert [each for each in client.sent if each["type"] != "recent_sessions"] == []
    assert server.hub.services.channels.get(session) is None


async def test_a_phone_that_hangs_up_meanwhile_leaves_no_feed_behind(
    server: PhoneServer, session: str, commands: Gate
) -> None:
    client = await half_ready(server, session, commands)
    client.hang_up()
    while server.hub.phones:
        await wait_all_tasks_blocked()
    commands.opened.set()
    await wait_all_tasks_blocked()
    assert server.hub.services.channels.get(session) is None


async def test_a_phone_whose_directory_does_not_answer_holds_no_other_up(
    server: PhoneServer, session: str, commands: Gate
) -> None:
    other = await server.connected()
    client = await half_ready(server, session, commands)
    await other.hears("recent_sessions")
    assert client.of("session_history") == []


async def forgotten(server: PhoneServer, session: str) -> None:
    """A person deletes a session's file and has the session forgotten."""
    root = server.daemon.machine.roots[0].directory / "-project"
    with server.daemon.service.sessions_changed() as changes:
        (root / f"{session}.jsonl").unlink()
        while session not in await changes.changed():
            pass
    await server.daemon.service.sessions_forget(session)


@pytest.mark.parametrize("count", [2, 20])
async def test_a_session_that_was_forgotten_and_comes_again_is_followed_from_its_beginning(
    server: PhoneServer, session: str, count: int
) -> None:
    """P-6.9, P-6.17."""
    await server.record(session, lines(1, 9))
    client = await server.looking(session)
    await forgotten(server, session)
    while server.hub.services.channels.get(session) is not None:
        await wait_all_tasks_blocked()
    client.forget()
    await server.record(session, lines(100, count))
    again = await client.hears("session_history")
    assert again["file_replaced"] is True and again["next_offset"] == 0 and seqs(client) == []
    client.say("subscribe", session_id=session, file_signature_seen=again["file_signature"])
    other = await server.looking(session)
    await server.record(session, record(200))
    for each in (client, other):
        await each.until(lambda each=each: seqs(each)[-1:] == [count + 1])  # type: ignore[misc]
        assert seqs(each) == list(range(1, count + 2))


async def test_a_phone_that_was_away_when_its_session_was_forgotten_begins_again(
    server: PhoneServer, session: str
) -> None:
    """P-6.9, P-6.17."""
    await server.record(session, lines(1, 3))
    client = await server.looking(session)
    seen = client.of("session_history")[0]["file_signature"]
    client.hang_up()
    await forgotten(server, session)
    await server.record(session, lines(100, 20))
    client = await server.connected()
    client.say("subscribe", session_id=session, from_offset=3, file_signature_seen=seen)
    assert (await client.hears("session_history"))["file_replaced"] is True


async def test_a_log_that_comes_again_as_it_was_is_gone_on_with(
    server: PhoneServer, session: str
) -> None:
    """P-6.8: a file that was put back has the same numbers, and nothing is sent twice."""
    await server.record(session, lines(1, 3))
    client = await server.looking(session)
    await forgotten(server, session)
    await server.record(session, lines(1, 5))
    await client.until(lambda: seqs(client)[-1] == 5)
    assert seqs(client) == [1, 2, 3, 4, 5]


async def test_an_older_app_gets_the_newest_messages_of_a_log_that_is_not_the_one_it_followed(
    server: PhoneServer, session: str
) -> None:
    """P-6.17."""
    await server.record(session, lines(1, 3))
    client = await server.connected(version="0.4.0")
    client.say("subscribe", session_id=session, last_seq=0)
    await client.hears("session_history")
    await forgotten(server, session)
    client.forget()
    await server.record(session, lines(100, 20))
    again = await client.hears("session_history")
    assert again["gap"] == {
        "requested_last_seq": 3,
        "min_available_seq": 1,
        "reason": "client_ahead",
    }
    assert "file_replaced" not in again and seqs(client) == list(range(1, 21))


async def test_a_session_that_was_empty_when_it_was_opened_is_known_by_its_first_message(
    server: PhoneServer, session: str
) -> None:
    """P-6.18."""
    await server.record(session, b'{"type":"summary","summary":"nothing said yet"}\n')
    client = await server.looking(session)
    empty = client.of("session_history")[0]["file_signature"]
    await server.record(session, record(1))
    told = await client.hears("session_history", 2)
    assert told["file_signature"] != empty
    client.say("subscribe", session_id=session, from_offset=1, file_signature_seen=empty)
    again = await client.hears("session_history", 3)
    assert "file_replaced" not in again and seqs(client) == [1]


async def test_a_log_that_is_another_when_its_feed_is_opened_again_is_told_from_its_beginning(
    server: PhoneServer, session: str
) -> None:
    """P-6.17."""
    await server.record(session, lines(1, 3))
    client = await server.looking(session)
    async with unfollowed(server, session, Overloaded("it is being rewritten")):
        await forgotten(server, session)
        await server.record(session, lines(100, 20))
        client.forget()
    assert (await client.hears("session_history"))["file_replaced"] is True


async def test_a_session_that_is_gone_when_its_feed_is_opened_again_is_waited_for(
    server: PhoneServer, session: str
) -> None:
    await server.record(session, lines(1, 3))
    client = await server.looking(session)
    async with unfollowed(server, session, NotFound("session", session)):
        pass
    await server.record(session, record(5))
    await client.until(lambda: seqs(client)[-1] == 5)
    assert seqs(client) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [Overloaded("being rewritten"), OSError("broken")])
async def test_an_old_subscription_that_cannot_be_read_on_does_not_take_the_new_one_along(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    await server.record(session, record(1))
    client = await server.looking(session)
    real = server.hub.services.service.sessions_messages

    async def failing(session_id: str, after: int | None, limit: int) -> Any:
        if after is None:
            return await real(session_id, after, limit)
        raise fault

    gate = Gate(failing)
    monkeypatch.setattr(server.hub.services.service, "sessions_messages", gate)
    client.take(MANY)
    await server.record(session, record(2))
    await behind(server, session)
    client.take(0)
    await gate.reached.wait()
    monkeypatch.setattr(server.hub.services.service, "sessions_messages", real)
    client.say("subscribe", session_id=session, from_offset=1)
    await client.hears("session_history", 2)
    gate.opened.set()
    await wait_all_tasks_blocked()
    await server.record(session, record(3))
    await client.until(lambda: seqs(client)[-1] == 3)
    assert seqs(client) == [1, 2, 3]


async def test_what_could_not_be_read_on_goes_on_from_where_the_phone_was(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-6.16: nothing twice, and no hole."""
    await server.record(session, lines(1, 3))
    client = await server.looking(session)
    real = server.hub.services.service.sessions_messages
    refused = trio.Event()

    async def refuse(*_: object) -> Any:
        refused.set()
        raise Overloaded("being rewritten")

    monkeypatch.setattr(server.hub.services.service, "sessions_messages", refuse)
    client.take(MANY)
    await server.record(session, record(4))
    await behind(server, session)
    client.take(0)
    await refused.wait()
    monkeypatch.setattr(server.hub.services.service, "sessions_messages", real)
    await server.record(session, record(5))
    await client.until(lambda: seqs(client)[-1] == 5)
    assert seqs(client) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [Overloaded("too much"), RuntimeError("broken")])
async def test_a_session_whose_feed_cannot_be_opened_is_refused_and_the_phone_goes_on(
    server: PhoneServer, session: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    await server.record(session, record(1))
    client = await server.connected()

    def refuse(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(server.hub.services.service, "follow_session", refuse)
        client.say("subscribe", session_id=session)
        refused = await client.hears("error")
    said = fault.message if isinstance(fault, PodiumError) else "cannot be read"
    assert said in refused["message"]
    client.say("subscribe", session_id=session)
    assert (await client.hears("session_history"))["messages"][0]["seq"] == 1


async def test_a_phone_hears_nothing_at_all_of_a_session_that_it_deleted(
    server: PhoneServer, session: str
) -> None:
    """P-4.12: nor of the ends of turns, though it had spoken in it."""
    went = await server.daemon.prompt("Hi")
    turn, session = await server.daemon.turn(), went["session_id"]
    client, other = await server.connected(), await server.connected()
    for each in (client, other):
        each.say("prompt", text="more", resume_session_id=session)
        await each.hears("ack")
    client.say("session_deleted", session_id=session)
    await client.caught_up()
    client.forget()
    turn.complete()
    await other.hears("turn_complete")
    assert client.of("turn_complete") == []
