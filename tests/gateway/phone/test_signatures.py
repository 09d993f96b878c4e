"""A log has a word of its own, by which a phone knows that its cursor is of this one."""

from __future__ import annotations

import uuid

import pytest

from podiumd.formats.session import identity_of, uuid_of
from podiumd.gateway.phone.feed import channels, history
from podiumd.gateway.phone.protocol.requests import Subscribe
from podiumd.wire.sessions import MessagesPage
from tests.gateway.phone.app import App, app
from tests.gateway.phone.phone_server import PhoneServer
from tests.gateway.phone.samples import SESSION, a_log, messages, read
from tests.gateway.phone.test_prompts import answer
from tests.sessions.support import line as record
from tests.sessions.support import lines, replace

KB = 1024


def word(first_uuid: str | None, last: int = 5, generation: int = 1, gone: int = 0) -> str:
    """The signature of a log."""
    page = MessagesPage(
        messages=(),
        first_seq=1,
        first_uuid=first_uuid,
        last_seq=last,
        next_seq=last,
        complete=True,
        generation=generation,
        gone=gone,
    )
    return history.signature(page)


def test_a_rewrite_that_took_messages_out_is_another_log_to_phones() -> None:
    """P-6.8"""
    uuid = "0ba82fac-b61d-4d50-88f2-000000000001"
    plain = word(uuid)
    assert word(uuid, generation=2) == plain  # every message was found again
    rewritten = word(uuid, generation=2, gone=3)
    assert rewritten != plain
    assert word(uuid, last=9, generation=2, gone=3) == rewritten  # it grew
    assert word(uuid, generation=3, gone=3) not in (plain, rewritten)
    assert word(uuid, last=5, generation=2, gone=5) == plain  # its transcript is not there


def test_a_session_that_grows_keeps_its_signature() -> None:
    """P-6.8"""
    signatures = {
        read(history.window(a_log(last), messages(1, last), 100 * KB).frame)["file_signature"]
        for last in (0, 1, 60)
    }

    assert signatures == {"log-1"}
    assert (
        history.plan(
            Subscribe(session_id=SESSION, file_signature_seen="log-1"), "0.5.0", a_log(3)
        ).kind
        == "window"
    )


@pytest.mark.parametrize("cursor", [0, 3, 99])
def test_a_foreign_signature_makes_the_phone_begin_again(cursor: int) -> None:
    """P-6.9"""
    subscribe = Subscribe(session_id=SESSION, from_offset=cursor, file_signature_seen="4711:first")
    reply = history.replaced(a_log(3))
    shown = read(reply.frame)

    assert history.plan(subscribe, "0.5.0", a_log(3)) == ("replaced", 0, None)
    assert shown["file_replaced"] is shown["end_of_file"] is shown["is_complete"] is True
    assert (shown["messages"], shown["next_offset"], shown["next_seq"]) == ([], 0, 1)
    assert shown["file_signature"] == "log-1"
    assert reply[1:] == (0, False)  # nothing is pushed until it has


@pytest.mark.parametrize("version", ["0.4.0", "0.3.0"])
def test_to_an_older_app_another_log_is_as_one_that_it_is_ahead_of(version: str) -> None:
    """P-6.17"""
    foreign = Subscribe(session_id=SESSION, last_seq=2, file_signature_seen="log-0")
    gap = {"requested_last_seq": 2, "min_available_seq": 1, "reason": "client_ahead"}

    assert history.plan(foreign, version, a_log(3)) == ("window", 0, gap)
    assert (
        history.plan(
            Subscribe(session_id=SESSION, file_signature_seen="log-0"), version, a_log(3)
        ).kind
        == "window"
    )


def test_a_log_is_known_by_its_first_message_and_an_empty_one_is_foreign_to_nobody() -> None:
    """P-6.8, P-6.18"""
    uuid = "0ba82fac-b61d-4d50-88f2-000000000001"
    empty = Subscribe(session_id=SESSION, from_offset=2, file_signature_seen=word(None))

    assert word(uuid) == word(uuid.upper())
    assert word("msg_1") == word(uuid_of(identity_of("msg_1")))
    assert len({word(each) for each in (None, uuid, "msg_1", "msg_2")}) == 4
    assert history.plan(empty, "0.5.0", a_log(3)) == ("delta", 2, None)


# -- A transcript that is rewritten while apps follow it: all of them come to show the same --


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
