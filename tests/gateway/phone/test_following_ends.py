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
from tests.gateway.phone.office import Line, Office
from tests.sessions.support import line as record
from tests.sessions.support import lines

MANY = 300 * 1024


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def seqs(line: Line) -> list[int]:
    """The numbers of every message that the phone was sent, in order."""
    return [m["seq"] for each in line.of("session_history") for m in each["messages"]]


async def behind(office: Office, session: str) -> None:
    """Wait until the one phone that looks at a session has left its live frames."""
    channel = office.hub.services.channels.get(session)
    assert channel is not None
    while not all(each.behind for each in channel.subscriptions):
        await wait_all_tasks_blocked()


@asynccontextmanager
async def unfollowed(office: Office, session: str, fault: PodiumError) -> AsyncIterator[None]:
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
        patch.setattr(office.hub.services.service, "follow_session", refuse)
        await office.record(session, record(4))
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


async def half_ready(office: Office, session: str, commands: Gate) -> Line:
    """A phone that has asked for a session that was not there yet, and whose answer is held up
    now that it is."""
    line = await office.connected()
    line.say("subscribe", session_id=session)
    await line.hears("error")
    commands.reached = trio.Event()
    await office.record(session, record(1))
    await commands.reached.wait()
    return line


async def test_a_phone_that_subscribes_when_its_session_is_ready_has_one_subscription(
    office: Office, session: str, commands: Gate
) -> None:
    """P-6.16: its own message crosses what the daemon does by itself."""
    line = await half_ready(office, session, commands)
    line.say("subscribe", session_id=session)
    await line.hears("session_history")
    commands.opened.set()
    await wait_all_tasks_blocked()
    channel = office.hub.services.channels.get(session)
    assert channel is not None and len(channel.subscriptions) == 1
    await office.record(session, record(2))
    await line.until(lambda: 2 in seqs(line))
    await line.caught_up()
    assert seqs(line) == [1, 2]


async def test_a_phone_that_leaves_what_is_just_being_answered_hears_nothing_more(
    office: Office, session: str, commands: Gate
) -> None:
    """P-6.15."""
    line = await half_ready(office, session, commands)
    line.say("unsubscribe", session_id=session)
    await line.caught_up()
    line.forget()
    commands.opened.set()
    await wait_all_tasks_blocked()
    assert [each for each in line.sent if each["type"] != "recent_sessions"] == []
    assert office.hub.services.channels.get(session) is None


async def test_a_phone_that_hangs_up_meanwhile_leaves_no_feed_behind(
    office: Office, session: str, commands: Gate
) -> None:
    line = await half_ready(office, session, commands)
    line.hang_up()
    while office.hub.phones:
        await wait_all_tasks_blocked()
    commands.opened.set()
    await wait_all_tasks_blocked()
    assert office.hub.services.channels.get(session) is None


async def test_a_phone_whose_directory_does_not_answer_holds_no_other_up(
    office: Office, session: str, commands: Gate
) -> None:
    other = await office.connected()
    line = await half_ready(office, session, commands)
    await other.hears("recent_sessions")
    assert line.of("session_history") == []


async def forgotten(office: Office, session: str) -> None:
    """A person deletes a session's file and has the session forgotten."""
    root = office.daemon.machine.roots[0].directory / "-project"
    with office.daemon.service.sessions_changed() as changes:
        (root / f"{session}.jsonl").unlink()
        while session not in await changes.changed():
            pass
    await office.daemon.service.sessions_forget(session)


@pytest.mark.parametrize("count", [2, 20])
async def test_a_session_that_was_forgotten_and_comes_again_is_followed_from_its_beginning(
    office: Office, session: str, count: int
) -> None:
    """P-6.9, P-6.17."""
    await office.record(session, lines(1, 9))
    line = await office.looking(session)
    await forgotten(office, session)
    while office.hub.services.channels.get(session) is not None:
        await wait_all_tasks_blocked()
    line.forget()
    await office.record(session, lines(100, count))
    again = await line.hears("session_history")
    assert again["file_replaced"] is True and again["next_offset"] == 0 and seqs(line) == []
    line.say("subscribe", session_id=session, file_signature_seen=again["file_signature"])
    other = await office.looking(session)
    await office.record(session, record(200))
    for each in (line, other):
        await each.until(lambda each=each: seqs(each)[-1:] == [count + 1])  # type: ignore[misc]
        assert seqs(each) == list(range(1, count + 2))


async def test_a_phone_that_was_away_when_its_session_was_forgotten_begins_again(
    office: Office, session: str
) -> None:
    """P-6.9, P-6.17."""
    await office.record(session, lines(1, 3))
    line = await office.looking(session)
    seen = line.of("session_history")[0]["file_signature"]
    line.hang_up()
    await forgotten(office, session)
    await office.record(session, lines(100, 20))
    line = await office.connected()
    line.say("subscribe", session_id=session, from_offset=3, file_signature_seen=seen)
    assert (await line.hears("session_history"))["file_replaced"] is True


async def test_a_log_that_comes_again_as_it_was_is_gone_on_with(
    office: Office, session: str
) -> None:
    """P-6.8: a file that was put back has the same numbers, and nothing is sent twice."""
    await office.record(session, lines(1, 3))
    line = await office.looking(session)
    await forgotten(office, session)
    await office.record(session, lines(1, 5))
    await line.until(lambda: seqs(line)[-1] == 5)
    assert seqs(line) == [1, 2, 3, 4, 5]


async def test_an_older_app_gets_the_newest_messages_of_a_log_that_is_not_the_one_it_followed(
    office: Office, session: str
) -> None:
    """P-6.17."""
    await office.record(session, lines(1, 3))
    line = await office.connected(version="0.4.0")
    line.say("subscribe", session_id=session, last_seq=0)
    await line.hears("session_history")
    await forgotten(office, session)
    line.forget()
    await office.record(session, lines(100, 20))
    again = await line.hears("session_history")
    assert again["gap"] == {
        "requested_last_seq": 3,
        "min_available_seq": 1,
        "reason": "client_ahead",
    }
    assert "file_replaced" not in again and seqs(line) == list(range(1, 21))


async def test_a_session_that_was_empty_when_it_was_opened_is_known_by_its_first_message(
    office: Office, session: str
) -> None:
    """P-6.18."""
    await office.record(session, b'{"type":"summary","summary":"nothing said yet"}\n')
    line = await office.looking(session)
    empty = line.of("session_history")[0]["file_signature"]
    await office.record(session, record(1))
    told = await line.hears("session_history", 2)
    assert told["file_signature"] != empty
    line.say("subscribe", session_id=session, from_offset=1, file_signature_seen=empty)
    again = await line.hears("session_history", 3)
    assert "file_replaced" not in again and seqs(line) == [1]


async def test_a_log_that_is_another_when_its_feed_is_opened_again_is_told_from_its_beginning(
    office: Office, session: str
) -> None:
    """P-6.17."""
    await office.record(session, lines(1, 3))
    line = await office.looking(session)
    async with unfollowed(office, session, Overloaded("it is being rewritten")):
        await forgotten(office, session)
        await office.record(session, lines(100, 20))
        line.forget()
    assert (await line.hears("session_history"))["file_replaced"] is True


async def test_a_session_that_is_gone_when_its_feed_is_opened_again_is_waited_for(
    office: Office, session: str
) -> None:
    await office.record(session, lines(1, 3))
    line = await office.looking(session)
    async with unfollowed(office, session, NotFound("session", session)):
        pass
    await office.record(session, record(5))
    await line.until(lambda: seqs(line)[-1] == 5)
    assert seqs(line) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [Overloaded("being rewritten"), OSError("broken")])
async def test_an_old_subscription_that_cannot_be_read_on_does_not_take_the_new_one_along(
    office: Office, session: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    await office.record(session, record(1))
    line = await office.looking(session)
    real = office.hub.services.service.sessions_messages

    async def failing(session_id: str, after: int | None, limit: int) -> Any:
        if after is None:
            return await real(session_id, after, limit)
        raise fault

    gate = Gate(failing)
    monkeypatch.setattr(office.hub.services.service, "sessions_messages", gate)
    line.take(MANY)
    await office.record(session, record(2))
    await behind(office, session)
    line.take(0)
    await gate.reached.wait()
    monkeypatch.setattr(office.hub.services.service, "sessions_messages", real)
    line.say("subscribe", session_id=session, from_offset=1)
    await line.hears("session_history", 2)
    gate.opened.set()
    await wait_all_tasks_blocked()
    await office.record(session, record(3))
    await line.until(lambda: seqs(line)[-1] == 3)
    assert seqs(line) == [1, 2, 3]


async def test_what_could_not_be_read_on_goes_on_from_where_the_phone_was(
    office: Office, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-6.16: nothing twice, and no hole."""
    await office.record(session, lines(1, 3))
    line = await office.looking(session)
    real = office.hub.services.service.sessions_messages
    refused = trio.Event()

    async def refuse(*_: object) -> Any:
        refused.set()
        raise Overloaded("being rewritten")

    monkeypatch.setattr(office.hub.services.service, "sessions_messages", refuse)
    line.take(MANY)
    await office.record(session, record(4))
    await behind(office, session)
    line.take(0)
    await refused.wait()
    monkeypatch.setattr(office.hub.services.service, "sessions_messages", real)
    await office.record(session, record(5))
    await line.until(lambda: seqs(line)[-1] == 5)
    assert seqs(line) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [Overloaded("too much"), RuntimeError("broken")])
async def test_a_session_whose_feed_cannot_be_opened_is_refused_and_the_phone_goes_on(
    office: Office, session: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    await office.record(session, record(1))
    line = await office.connected()

    def refuse(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(office.hub.services.service, "follow_session", refuse)
        line.say("subscribe", session_id=session)
        refused = await line.hears("error")
    said = fault.message if isinstance(fault, PodiumError) else "cannot be read"
    assert said in refused["message"]
    line.say("subscribe", session_id=session)
    assert (await line.hears("session_history"))["messages"][0]["seq"] == 1


async def test_a_phone_hears_nothing_at_all_of_a_session_that_it_deleted(
    office: Office, session: str
) -> None:
    """P-4.12: nor of the ends of turns, though it had spoken in it."""
    went = await office.daemon.prompt("Hi")
    turn, session = await office.daemon.turn(), went["session_id"]
    line, other = await office.connected(), await office.connected()
    for each in (line, other):
        each.say("prompt", text="more", resume_session_id=session)
        await each.hears("ack")
    line.say("session_deleted", session_id=session)
    await line.caught_up()
    line.forget()
    turn.complete()
    await other.hears("turn_complete")
    assert line.of("turn_complete") == []
