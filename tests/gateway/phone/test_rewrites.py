"""A transcript that is rewritten while apps follow it: all of them come to show the same."""

from __future__ import annotations

import uuid

import pytest

from podiumd.gateway.phone.feed import channels
from tests.gateway.phone.app import App, app
from tests.gateway.phone.phone_server import PhoneServer
from tests.gateway.phone.test_prompts import answer
from tests.sessions.support import line as record
from tests.sessions.support import lines, replace


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(channels, "AGAIN_SECONDS", 0.0)
    return str(uuid.uuid4())


async def rewritten(server: PhoneServer, session: str, *records: bytes) -> None:
    """The transcript holds these records, and the daemon knows it."""
    folder = server.daemon.machine.roots[0].directory / "-project"
    with server.daemon.service.sessions_changed() as changes:
        replace(folder / f"{session}.jsonl", b"".join(records))
        page = None
        while page is None or not page.generation > 1 or not page.gone < page.last_seq:
            await changes.changed()
            page = await server.daemon.service.sessions_messages(session, None, 1)


async def opened(server: PhoneServer, session: str, variant: str = "ios") -> App:
    phone = await app(server, variant)
    phone.model.sync.open(session)
    await phone.settled()
    return phone


async def converged(phone: App, session: str, texts: list[str]) -> None:
    """Wait until an app shows this."""
    await phone.shows(lambda: phone.model.session(session).texts == texts)


async def test_who_follows_is_told_once_and_shows_what_a_fresh_phone_shows(
    server: PhoneServer, session: str
) -> None:
    """P-6.19, P-6.9"""
    await server.record(session, lines(1, 48))
    first, second = [await opened(server, session) for _ in range(2)]
    new = [answer(n, f"new {n}", str(uuid.UUID(int=n))) for n in (60, 61)]
    await rewritten(server, session, lines(1, 3), *new)
    shown = ["hello"] * 3 + ["new 60", "new 61"]
    for phone in (first, second):
        await converged(phone, session, shown)
        told = [one for one in phone.client.of("session_history") if one.get("file_replaced")]
        assert len(told) == 1 and told[0]["next_offset"] == 0
        assert phone.model.sync.spoken == [] and phone.model.faults == []
    fresh = await opened(server, session)
    assert fresh.model.session(session).texts == shown
    assert not any(one.get("file_replaced") for one in fresh.client.of("session_history"))
    await server.record(session, answer(62, "then", str(uuid.UUID(int=62))))
    for phone in (first, second, fresh):
        await converged(phone, session, [*shown, "then"])
        assert [one.text for one in phone.model.sync.spoken] == ["then"]
        assert phone.model.faults == []


async def test_who_was_away_meanwhile_begins_anew(server: PhoneServer, session: str) -> None:
    """P-6.19"""
    await server.record(session, lines(1, 48))
    phone = await opened(server, session)
    phone.client.hang_up()
    phone.model.closed()
    await rewritten(server, session, lines(1, 3), record(60, "new"))
    phone.call()
    await phone.up()
    assert phone.model.session(session).texts == ["hello"] * 3 + ["new"]
    assert phone.model.faults == []


async def test_a_transcript_written_anew_with_all_that_it_had_is_not_told(
    server: PhoneServer, session: str
) -> None:
    """P-6.8"""
    await server.record(session, lines(1, 8))
    phone = await opened(server, session)
    await rewritten(server, session, lines(1, 8), record(9, "more"))
    await converged(phone, session, ["hello"] * 8 + ["more"])
    assert not any(one.get("file_replaced") for one in phone.client.of("session_history"))
    assert phone.model.faults == []


async def test_behind_many_messages_that_are_gone_a_fresh_phone_sees_those_that_are_not(
    server: PhoneServer, session: str
) -> None:
    """P-8.7"""
    await server.record(session, lines(1, 80))
    await opened(server, session)
    await rewritten(server, session, lines(1, 20), record(90, "new"))
    fresh = await opened(server, session)
    assert fresh.model.session(session).texts == ["hello"] * 20 + ["new"]


async def test_an_app_of_0_4_goes_on(server: PhoneServer, session: str) -> None:
    """P-6.19: it keeps what it has."""
    await server.record(session, lines(1, 5))
    phone = await opened(server, session, "ios-0.4")
    await rewritten(server, session, lines(1, 2), record(9, "new"))
    await converged(phone, session, ["hello"] * 5 + ["new"])
    assert phone.model.sync.spoken == []
