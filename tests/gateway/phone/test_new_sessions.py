"""A session that was begun anywhere can be opened on every phone."""

from __future__ import annotations

import uuid

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.phone import hub as hubs
from podiumd.gateway.phone.phone_link import SessionIds
from tests.gateway.phone.office import Json, Line, Office
from tests.runtime.harness import Machine
from tests.sessions.support import line as record

NO_MESSAGE = b'{"type":"summary","summary":"Nothing yet","leafUuid":"x"}\n'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists come without a pause between them."""
    monkeypatch.setattr(hubs, "LIST_SECONDS", 0.0)


def ids(frames: list[Json]) -> list[str]:
    return [frame["session_id"] for frame in frames]


async def begins(office: Office, **fields: int) -> Line:
    """A phone connects; nothing of what it is told is forgotten."""
    line = office.dial()
    _, key = await office.devices.pair(None)
    line.say("connect", api_key=key, protocol_version="0.5.0", **fields)
    return line


async def grown(office: Office, session_id: str, number: int, line: Line) -> None:
    """The session gets a message more, and the phone has heard of it."""
    count = len(line.of("recent_sessions"))
    await office.record(session_id, record(number))
    await line.hears("recent_sessions", count + 1)


async def test_a_session_begun_in_a_terminal_is_told_to_every_phone_once(office: Office) -> None:
    """P-4.9: the app makes its row of it from this alone."""
    lines = [await office.connected(version=version) for version in ("0.5.0", "0.4.0", None)]
    mine = str(uuid.uuid4())
    await office.record(mine, record(1, "Hi"))
    for line in lines:
        created = await line.hears("session_created")
        assert (created["session_id"], created["message_count"]) == (mine, 1)
        assert (await line.hears("session_ready"))["session_id"] == mine
        recents = await line.hears("recent_sessions")
        assert ids(recents["sessions"]) == [mine]
        assert [each["type"] for each in line.sent[:3]] == [
            "session_created",
            "session_ready",
            "recent_sessions",
        ]
    for number in (2, 3):
        for line in lines:
            line.forget()
        await grown(office, mine, number, lines[0])
        for line in lines:
            assert line.of("session_created") == line.of("session_ready") == []


async def test_a_session_without_messages_is_told_when_it_has_some(office: Office) -> None:
    """P-4.9"""
    line = await office.connected()
    empty, mine = str(uuid.uuid4()), str(uuid.uuid4())
    await office.record(empty, NO_MESSAGE)
    await office.record(mine, record(1))
    await line.hears("session_created")
    await office.record(empty, record(1))
    await line.hears("session_created", 2)
    assert ids(line.of("session_created")) == [mine, empty]


async def test_a_session_that_the_command_line_began_is_told(
    office: Office, machine: Machine
) -> None:
    """P-4.9"""
    line = await office.connected()
    went = await office.daemon.prompt("Hi")
    turn = await office.daemon.turn()
    await office.record(went["session_id"], record(1, "Hi"))
    turn.complete()
    assert (await line.hears("session_created"))["session_id"] == went["session_id"]
    assert (await line.hears("session_ready"))["session_id"] == went["session_id"]


async def test_sessions_that_a_phone_was_listed_are_not_told_again(office: Office) -> None:
    """P-4.9"""
    known, new = str(uuid.uuid4()), str(uuid.uuid4())
    await office.record(known, record(1))
    line = await office.connected()
    await grown(office, known, 2, line)
    await office.record(new, record(1))
    await line.hears("session_created")
    assert ids(line.of("session_created")) == [new]


async def test_what_began_while_nobody_was_there_is_in_the_list_alone(office: Office) -> None:
    """P-4.9"""
    mine = str(uuid.uuid4())
    (await office.connected()).hang_up()
    await wait_all_tasks_blocked()
    assert not office.hub.phones
    await office.record(mine, record(1))
    line = await begins(office)
    listed = await line.hears("session_list")
    await grown(office, mine, 2, line)
    assert ids(listed["sessions"]) == [mine]
    assert line.of("session_created") == []


async def test_an_old_session_that_goes_on_is_told_to_a_phone_whose_list_has_it_not(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9: it moves to the top of the recent ones, and could not be opened from there."""
    old, newer = str(uuid.uuid4()), str(uuid.uuid4())
    await office.record(old, record(1))
    await office.record(newer, record(5))
    monkeypatch.setattr("podiumd.gateway.phone.feed.lists.MOST_ROWS", 1)
    monkeypatch.setattr(hubs, "MOST_ROWS", 1)
    line = await begins(office, recent_sessions_limit=1)
    assert ids((await line.hears("session_list"))["sessions"]) == [newer]
    await office.record(old, record(9))
    await line.hears("session_created")
    await grown(office, old, 10, line)
    assert ids(line.of("session_created")) == [old]


async def test_a_session_that_is_new_here_and_older_than_all_is_told(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9: its transcript was copied from another machine."""
    monkeypatch.setattr(hubs, "MOST_ROWS", 1)
    await office.record(str(uuid.uuid4()), record(9))
    line = await office.connected()
    copied = str(uuid.uuid4())
    await office.record(copied, record(1))
    assert (await line.hears("session_created"))["session_id"] == copied


async def test_a_session_that_began_while_the_lists_were_made_is_told_with_the_recent_ones(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4.9"""
    mine = str(uuid.uuid4())
    frames = office.hub.services.lists.frames

    async def stale(recents: int, budget: int) -> object:
        lists = await frames(recents, budget)
        await office.record(mine, record(1))
        return lists

    monkeypatch.setattr(office.hub.services.lists, "frames", stale)
    line = await begins(office)
    assert (await line.hears("session_list"))["sessions"] == []
    assert (await line.hears("session_created"))["session_id"] == mine
    assert (await line.hears("session_ready"))["session_id"] == mine
    monkeypatch.undo()
    await grown(office, mine, 2, line)
    assert len(line.of("session_created")) == 1


async def test_a_deleted_session_is_not_told_again(office: Office) -> None:
    """P-4.12"""
    line = await office.connected()
    mine, other = str(uuid.uuid4()), str(uuid.uuid4())
    line.say("session_deleted", session_id=mine)
    await line.caught_up()
    await office.record(mine, record(1))
    await office.record(other, record(1))
    await line.hears("session_created")
    assert ids(line.of("session_created")) == [other]


def test_what_was_told_is_remembered_within_bounds() -> None:
    known = SessionIds(2)
    known.add("a", "b", "c")
    known.add("b", "d")
    assert [one for one in "abcd" if one in known] == ["b", "d"]
