"""Subscriptions, the barrier of ping and pong, prompts, and what is read aloud."""

import pytest

from tests.phone.fake_gateway import OTHER, SESSION, hello, history, message, row
from tests.phone.handmade import CONNECTED, PONG, connected, feed, reasons, sent, types
from tests.phone_app.fields import Json
from tests.phone_app.speech import speakable
from tests.phone_app.sync import Spoken

READY = {"type": "session_ready", "session_id": SESSION, "message": "ready"}
DONE = {"type": "turn_complete", "session_id": SESSION}
BOTH = pytest.mark.parametrize("variant", ["ios", "ios-0.4"])


def told(seq: int, *texts: str, role: str = "assistant", complete: bool = True) -> Json:
    """A frame of messages from ``seq`` on."""
    messages = [message(SESSION, seq + at, role, text) for at, text in enumerate(texts)]
    return history(SESSION, messages, seq + len(texts), complete=complete)


def test_a_history_that_was_never_subscribed_to_is_a_fault() -> None:
    phone = connected()
    feed(phone, told(1, "a"))

    assert phone.session(SESSION).texts == []
    assert reasons(phone) == [("session_history", "session_id", "misread")]


def test_a_push_may_still_come_until_the_pong() -> None:
    phone = connected()
    phone.sync.open(SESSION)
    phone.sync.leave()
    feed(phone, told(1, "a"))
    phone.sync.ping()
    feed(phone, told(2, "b"))
    assert phone.faults == []

    feed(phone, PONG, told(3, "c"))
    assert reasons(phone) == [("session_history", "session_id", "misread")]


def test_a_ping_of_before_proves_nothing() -> None:
    phone = connected()
    phone.sync.open(SESSION)
    phone.sync.ping()
    phone.sync.leave()
    phone.sync.ping()
    feed(phone, PONG, told(1, "a"))
    assert phone.faults == []

    feed(phone, PONG, told(2, "b"))
    assert len(phone.faults) == 1


def test_a_deleted_session_is_to_be_silent() -> None:
    phone = connected()
    phone.sync.open(SESSION)
    phone.sync.delete(SESSION)
    phone.sync.ping()
    assert (
        types(sent(phone)) == ["set_max_message_size", "subscribe", "session_deleted", "ping"][1:]
    )

    feed(phone, PONG, told(1, "a"))
    assert len(phone.faults) == 1


def test_an_error_that_names_the_session_answers_its_subscription() -> None:
    phone = connected()
    phone.sync.open(SESSION)
    assert not phone.sync.settled(SESSION)
    feed(phone, {"type": "error", "message": f"Session not found: {SESSION}"})

    assert phone.sync.settled(SESSION)


def test_a_known_session_is_resumed_and_an_empty_one_is_new() -> None:
    phone = connected()
    rows = [row(SESSION, 3), row(OTHER, 0)]
    feed(phone, {"type": "session_list", "sessions": rows, "total_count": 2})
    for session_id in (SESSION, OTHER):
        phone.sync.open(session_id)
        phone.say("hello", provider="claude")

    assert [frame for frame in sent(phone) if frame["type"] == "prompt"] == [
        {
            "type": "prompt",
            "text": "hello",
            "resume_session_id": SESSION,
            "provider": "claude",
        },
        {
            "type": "prompt",
            "text": "hello",
            "new_session_id": OTHER,
            "working_directory": "/home/ada/project",
            "provider": "claude",
        },
    ]


@pytest.mark.parametrize("ready", [READY, DONE])
def test_a_new_session_is_subscribed_to_when_it_is_ready(ready: Json) -> None:
    phone = connected()
    phone.new_id = lambda: SESSION
    assert phone.new("/home/ada/project", "hello") == SESSION
    assert types(sent(phone)) == ["prompt"]

    assert types(feed(phone, ready)) == ["subscribe"]
    assert feed(phone, ready) == []


@BOTH
def test_only_what_comes_after_the_first_reply_is_read_aloud(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    feed(phone, told(1, "old"), told(2, "mine", role="user"), told(3, "new"), told(3, "new"))

    assert phone.sync.spoken == [Spoken(SESSION, "new", heard=True)]


@BOTH
def test_of_several_in_one_frame_only_the_last_is_heard(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    feed(phone, told(1, "old"), told(2, "one", "two"))

    assert phone.sync.spoken == [
        Spoken(SESSION, "one", heard=False),
        Spoken(SESSION, "two", heard=True),
    ]


@BOTH
def test_a_session_off_the_screen_is_not_read_aloud(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    feed(phone, told(1, "old"))
    phone.sync.leave()
    feed(phone, told(2, "new"))

    assert phone.sync.spoken == []


def test_an_empty_first_reply_sets_no_boundary_in_0_5() -> None:
    """Prompt and answer in one frame after it: the answer is not spoken."""
    phone = connected("ios")
    phone.sync.open(SESSION)
    feed(phone, history(SESSION, [], 1), told(1, "answer"), told(2, "more"))

    assert [one.text for one in phone.sync.spoken] == ["more"]


def test_an_empty_first_reply_is_the_boundary_in_0_4() -> None:
    phone = connected("ios-0.4")
    phone.sync.open(SESSION)
    feed(phone, history(SESSION, [], 1), told(1, "answer"))

    assert [one.text for one in phone.sync.spoken] == ["answer"]


@BOTH
def test_old_messages_of_a_chained_first_subscription_read_aloud_are_a_fault(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    feed(phone, told(1, "old", complete=False), told(2, "older than you think"))

    assert [one.text for one in phone.sync.spoken] == ["older than you think"]
    assert reasons(phone)[-1] == ("session_history", "messages", "misread")


def test_in_a_chain_of_0_4_that_tells_the_next_number_only_what_is_new_is_read_aloud() -> None:
    phone = connected("ios-0.4")
    phone.sync.open(SESSION)
    feed(phone, told(1, "old", complete=False) | {"next_seq": 4}, told(2, "old", "old", "new"))

    assert [one.text for one in phone.sync.spoken] == ["new"]


@BOTH
def test_what_was_missed_in_one_reply_is_not_read_aloud(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    feed(phone, told(1, "old"))
    phone.closed()
    version = {"negotiated_protocol_version": phone.variant.announces}
    feed(phone, hello(), CONNECTED | version, told(2, "missed", "missed too"), told(4, "new"))

    assert [one.text for one in phone.sync.spoken] == ["new"]
    assert phone.faults == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain words", "plain words"),
        ("see `makeItSo` there", "see make It So there"),
        ("a\n```py\nx = 1\n```\nb", "a\n[code block]\nb"),
        ("a ```never closed", "a [code block]"),
    ],
)
def test_code_is_not_read_aloud(text: str, said: str) -> None:
    assert speakable(text) == said
