"""A session that was begun anywhere can be opened on every phone."""

from __future__ import annotations

import uuid

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone import hub as hubs
from podiumd.gateway.phone.phone_link import SessionIds
from tests.gateway.phone.phone_server import Json, PhoneClient, PhoneServer
from tests.runtime.harness import Machine
from tests.sessions.support import line as record

NO_MESSAGE = b'{"type":"summary","summary":"Nothing yet","leafUuid":"x"}\n'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists come without a pause between them."""
    monkeypatch.setattr(hubs, "LIST_SECONDS", 0.0)


def ids(frames: list[Json]) -> list[str]:
    return [frame["session_id"] for frame in frames]


async def begins(server: PhoneServer, **fields: int) -> PhoneClient:
    """A phone connects; nothing of what it is told is forgotten."""
    client = server.dial()
    _, key = await server.devices.pair(None)
    client.say("connect", api_key=key, protocol_version="0.5.0", **fields)
    return client


async def grown(server: PhoneServer, session_id: str, number: int, client: PhoneClient) -> None:
    """The session gets a message more, and the phone has heard of it."""
    count = len(client.of("recent_sessions"))
    await server.record(session_id, record(number))
    await client.hears("recent_sessions", count + 1)


async def test_a_session_begun_in_a_terminal_is_told_to_every_phone_once(
    server: PhoneServer,
) -> None:
    """P-4.9: the app makes its row of it from this alone."""
    lines = [await server.connected(version=version) for version in ("0.5.0", "0.4.0", None)]
    mine = str(uuid.uuid4())
    await server.record(mine, record(1, "Hi"))
    for client in lines:
        created = await client.hears("session_created")
        assert (created["session_id"], created["message_count"]) == (mine, 1)
        assert (await client.hears("session_ready"))["session_id"] == mine
        recents = await client.hears("recent_sessions")
        assert ids(recents["sessions"]) == [mine]
        assert [each["type"] for each in client.sent[:3]] == [
            "session_created",
            "session_ready",
            "recent_sessions",
        ]
    for number in (2, 3):
        for client in lines:
            client.forget()
        await grown(server, mine, number, lines[0])
        for client in lines:
            assert client.of("session_created") == client.of("session_ready") == []


async def test_a_session_without_messages_is_told_when_it_has_some(server: PhoneServer) -> None:
    """P-4.9"""
    client = await server.connected()
    empty, mine = str(uuid.uuid4()), str(uuid.uuid4())
    await server.record(empty, NO_MESSAGE)
    await server.record(mine, record(1))
    await client.hears("session_created")
    await server.record(empty, record(1))
    await client.hears("session_created", 2)
    assert ids(client.of("session_created")) == [mine, empty]


async def test_a_session_that_the_command_line_began_is_told(
    server: PhoneServer, machine: Machine
) -> None:
    """P-4.9"""
    client = await server.connected()
    went = await server.daemon.prompt("Hi")
    turn = await server.daemon.turn()
    await server.record(went["session_id"], record(1, "Hi"))
    turn.complete()
    assert (await client.hears("session_created"))["session_id"] == went["session_id"]
    assert (await client.hears("session_ready"))["session_id"] == went["session_id"]


async def test_sessions_that_a_phone_was_listed_are_not_told_again(server: PhoneServer) -> None:
    """P-4.9"""
    known, new = str(uuid.uuid4()), str(uuid.uuid4())
    await server.record(known, record(1))
    client = await server.connected()
    await grown(server, known, 2, client)
    await server.record(new, record(1))
    await client.hears("session_created")
    assert ids(client.of("session_created")) == [new]


async def test_what_began_while_nobody_was_there_is_in_the_list_alone(server: PhoneServer) -> None:
    """P-4.9"""
    mine = str(uuid.uuid4())
    (await server.connected()).hang_up()
    await wait_all_tasks_blocked()
    assert not server.hub.phones
    await server.record(mine, record(1))
    client = await begins(server)
    listed = await client.hears("session_list")
    await grown(server, mine, 2, client)
    assert ids(listed["sessions"]) == [mine]
    assert client.of("session_created") == []


async def test_an_old_session_that_goes_on_is_told_to_a_phone_whose_list_has_it_not(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9: it moves to the top of the recent ones, and could not be opened from there."""
    old, newer = str(uuid.uuid4()), str(uuid.uuid4())
    await server.record(old, record(1))
    await server.record(newer, record(5))
    monkeypatch.setattr("podiumd.gateway.phone.feed.lists.MOST_ROWS", 1)
    monkeypatch.setattr(hubs, "MOST_ROWS", 1)
    client = await begins(server, recent_sessions_limit=1)
    assert ids((await client.hears("session_list"))["sessions"]) == [newer]
    await server.record(old, record(9))
    await client.hears("session_created")
    await grown(server, old, 10, client)
    assert ids(client.of("session_created")) == [old]


async def test_a_session_that_is_new_here_and_older_than_all_is_told(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9: its transcript was copied from another machine."""
    monkeypatch.setattr(hubs, "MOST_ROWS", 1)
    await server.record(str(uuid.uuid4()), record(9))
    client = await server.connected()
    copied = str(uuid.uuid4())
    await server.record(copied, record(1))
    assert (await client.hears("session_created"))["session_id"] == copied


async def test_a_session_that_began_while_the_lists_were_made_is_told_with_the_recent_ones(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9"""
    mine = str(uuid.uuid4())
    frames = server.hub.services.lists.frames

    async def stale(recents: int, budget: int) -> object:
        lists = await frames(recents, budget)
        await server.record(mine, record(1))
        return lists

    monkeypatch.setattr(server.hub.services.lists, "frames", stale)
    client = await begins(server)
    assert (await client.hears("session_list"))["sessions"] == []
    assert (await client.hears("session_created"))["session_id"] == mine
    assert (await client.hears("session_ready"))["session_id"] == mine
    monkeypatch.undo()
    await grown(server, mine, 2, client)
    assert len(client.of("session_created")) == 1


async def test_a_deleted_session_is_not_told_again(server: PhoneServer) -> None:
    """P-4.12"""
    client = await server.connected()
    mine, other = str(uuid.uuid4()), str(uuid.uuid4())
    client.say("session_deleted", session_id=mine)
    await client.caught_up()
    await server.record(mine, record(1))
    await server.record(other, record(1))
    await client.hears("session_created")
    assert ids(client.of("session_created")) == [other]


def test_what_was_told_is_remembered_within_bounds() -> None:
    known = SessionIds(2)
    known.add("a", "b", "c")
    known.add("b", "d")
    assert [one for one in "abcd" if one in known] == ["b", "d"]
