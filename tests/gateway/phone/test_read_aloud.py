"""What the apps read aloud, and what the untyped one shows: their own code decides it."""

from __future__ import annotations

import uuid

import pytest

from podiumd.gateway.phone.feed import subscriptions
from tests.gateway.phone.app import App, app
from tests.gateway.phone.phone_server import PhoneServer
from tests.gateway.phone.test_prompts import answer
from tests.sessions.support import line as record

NUMBERED = pytest.mark.parametrize("variant", ["ios", "ios-0.4"])


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def answers(first: int, last: int, size: int = 1500) -> list[bytes]:
    """What an agent says in these messages."""
    return [answer(at, f"{at} " + "x" * size, str(uuid.UUID(int=at))) for at in range(first, last)]


async def came_back(server: PhoneServer, variant: str, session: str, *missed: bytes) -> App:
    """An app that has three messages of a session, was away, and has caught up."""
    await server.record(session, record(1), record(2), record(3))
    phone = await app(server, variant)
    phone.model.sync.open(session)
    await phone.settled()
    phone.client.hang_up()
    phone.model.closed()
    await server.record(session, *missed)
    phone.call()
    await phone.up()
    return phone


@NUMBERED
async def test_nothing_that_was_missed_is_read_aloud_however_much_it_was(
    server: PhoneServer, session: str, variant: str
) -> None:
    """P-6.4: what does not fit one answer is one window of the newest in 0.5.0, a chain in 0.4.0
    whose frames all tell where the new begins."""
    phone = await came_back(server, variant, session, *answers(4, 301))
    assert phone.model.sync.spoken == []
    assert phone.model.session(session).texts[-1].startswith("300 ")
    frames = phone.client.of("session_history")
    if variant == "ios":
        assert [each["end_of_file"] for each in frames] == [True]
        assert (frames[0]["first_seq"], frames[0]["next_offset"]) == (251, 300)
    else:
        assert [each["is_complete"] for each in frames[-2:]] == [False, True]
        assert {each["next_seq"] for each in frames} == {301}
        assert [m["seq"] for each in frames for m in each["messages"]] == list(range(4, 301))
    await server.record(session, *answers(301, 302))
    await phone.client.until(lambda: len(phone.client.of("session_history")) > len(frames))
    phone.turn()
    assert [one.text[:4] for one in phone.model.sync.spoken] == ["301 "]
    assert phone.model.faults == []


@NUMBERED
async def test_more_than_a_page_of_small_messages_is_not_read_aloud_either(
    server: PhoneServer, session: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-6.4"""
    monkeypatch.setattr(subscriptions, "PAGE", 8)
    phone = await came_back(server, variant, session, *answers(4, 40, 1))
    assert phone.model.sync.spoken == [] and phone.model.faults == []
    assert len(phone.model.session(session).texts) == 39


async def test_what_the_phone_has_is_not_sent_again_with_the_newest(
    server: PhoneServer, session: str
) -> None:
    """P-6.4: ten results of tools are more than an answer holds, and less than a window has."""
    phone = await came_back(server, "ios", session, *answers(4, 18, 19_000))
    (frame,) = phone.client.of("session_history")
    assert [m["seq"] for m in frame["messages"]] == list(range(4, 18))
    assert phone.model.sync.spoken == [] and phone.model.faults == []


async def test_an_older_app_gets_one_answer_too(server: PhoneServer, session: str) -> None:
    """P-6.4: it asks once and never on."""
    await server.record(session, record(1), *answers(2, 301))
    client = await server.connected(version=None)
    first = "00000000-0000-4000-8000-000000000001"
    client.say("subscribe", session_id=session, last_message_id=first)
    history = await client.hears("session_history")
    assert (history["is_complete"], history["messages"][-1]["seq"]) == (True, 300)


@pytest.mark.parametrize("variant", ["android", "rn"])
async def test_an_app_without_a_version_keeps_what_it_shows_while_the_session_goes_on(
    server: PhoneServer, session: str, variant: str
) -> None:
    """P-6.12: of these apps one puts what comes in the place of all, the other shows one's own
    words twice."""
    await server.record(session, record(1, "Hi"), *answers(2, 3))
    phone = await app(server, variant)
    phone.model.sync.open(session)
    await phone.settled()
    shown = phone.model.session(session).texts
    assert [text[:2] for text in shown] == ["Hi", "2 "]
    watching = await server.looking(session)
    phone.model.session(session).add_unsent("More")
    await server.record(session, record(3, "More"), *answers(4, 5))
    await watching.until(lambda: watching.of("session_history")[-1]["next_seq"] == 5)
    await phone.settled()
    assert phone.model.session(session).texts == shown
    assert len(phone.client.of("session_history")) == 1
    assert phone.model.faults == []
    phone.model.sync.open(session)  # the person pulls
    await phone.settled()
    assert [text[:2] for text in phone.model.session(session).texts] == ["Hi", "2 ", "Mo", "4 "]
    assert phone.model.faults == []
