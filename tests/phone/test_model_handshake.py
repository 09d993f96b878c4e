"""How a phone gets in: hello, connect, connected, and what makes it give up for good."""

import pytest

from tests.phone.fake_gateway import KEY, SESSION, hello
from tests.phone.handmade import CONNECTED, PONG, connected, feed, reasons, sent, types, without
from tests.phone_app.fields import Json
from tests.phone_app.model import PhoneModel
from tests.phone_app.variants import ANDROID, IOS, IOS_04, VARIANTS, Variant


@pytest.mark.parametrize(
    "version",
    ["0.3.9", "0.5", "0.5.0.1", "0.5.0-rc1", "0.5.x", "", "\u0660.\u0665.\u0660", None, 5],
)
def test_a_hello_of_an_unreadable_or_old_version_ends_it_for_the_swift_app(version: object) -> None:
    phone = PhoneModel(KEY)

    assert feed(phone, hello() | {"version": version}) == []
    assert phone.stopped == "upgrade required"
    assert reasons(phone) == [("hello", "version", "upgrade required, for good")]


@pytest.mark.parametrize("name", ["message", "version", "auth_version", "instructions"])
def test_the_kotlin_app_never_connects_without_all_of_hello(name: str) -> None:
    phone = PhoneModel(KEY, ANDROID)

    assert feed(phone, without(hello(), name)) == []
    assert reasons(phone) == [("hello", name, "frame dropped")]


def test_the_swift_app_needs_only_the_version_of_hello() -> None:
    phone = PhoneModel(KEY)

    assert types(feed(phone, {"type": "hello", "version": "0.5.0"})) == ["connect"]
    assert phone.faults == []


def test_a_second_hello_is_a_fault() -> None:
    phone = PhoneModel(KEY)
    feed(phone, hello(), hello())

    assert reasons(phone) == [("hello", "type", "misread")]


@pytest.mark.parametrize(
    ("variant", "version", "by_offset", "faults"),
    [
        (IOS, "0.5.0", True, 0),
        (IOS, "0.4.0", False, 0),
        (IOS_04, "0.4.0", False, 0),
        (IOS_04, "0.5.0", False, 1),
        (IOS, "0.6.0", False, 1),
        (IOS, "newest", False, 1),
        (IOS, None, False, 0),
    ],
)
def test_the_version_agreed_on_chooses_the_shapes(
    variant: Variant, version: str | None, by_offset: bool, faults: int
) -> None:
    phone = PhoneModel(KEY, variant)
    feed(phone, hello(), CONNECTED | {"negotiated_protocol_version": version})

    assert phone.sync.by_offset is by_offset
    assert len(phone.faults) == faults


@pytest.mark.parametrize("change", [{"session_id": None}, {"message": None}])
def test_the_kotlin_app_needs_its_id_back_and_a_message(change: Json) -> None:
    phone = PhoneModel(KEY, ANDROID)
    feed(phone, hello(), CONNECTED | change)

    assert not phone.connected
    assert [fault.effect for fault in phone.faults] == ["frame dropped"]


def test_a_wrong_key_stops_it_for_good() -> None:
    phone = PhoneModel(KEY)
    feed(phone, hello(), {"type": "auth_error", "message": "Authentication failed"})

    assert phone.stopped == "authentication failed"


def test_a_version_that_is_not_spoken_stops_it_for_good() -> None:
    phone = PhoneModel(KEY)
    error = {
        "type": "error",
        "code": "unsupported_protocol_version",
        "required": "0.4.0",
        "received": "0.3.0",
        "message": "Please update",
    }
    feed(phone, hello(), error)

    assert phone.stopped == "upgrade required"


def test_after_a_lost_connection_it_begins_anew_and_subscribes_again() -> None:
    phone = connected()
    phone.sync.open(SESSION)
    sent(phone)
    phone.closed()

    assert not phone.connected
    assert phone.negotiated == (0, 4, 0)
    assert types(feed(phone, hello(), CONNECTED)) == [
        "connect",
        "set_max_message_size",
        "subscribe",
    ]
    assert phone.faults == []


def test_what_is_sent_without_a_connection_is_lost() -> None:
    phone = PhoneModel(KEY)
    phone.sync.open(SESSION)
    phone.say("hello?")
    phone.sync.ping()

    assert sent(phone) == []
    assert types(feed(phone, hello(), CONNECTED)) == [
        "connect",
        "set_max_message_size",
        "subscribe",
    ]


def test_a_pong_that_was_not_asked_for_is_a_fault() -> None:
    phone = connected()
    phone.sync.ping()
    feed(phone, PONG)
    assert phone.faults == []

    feed(phone, PONG)
    assert reasons(phone) == [("pong", "type", "misread")]


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", '"text"', "null", '{"type": 5}', "{}", '{"type": NaN}', b"\xff", "[" * 9999],
)
def test_what_is_no_frame_is_dropped(data: str | bytes) -> None:
    phone = connected()

    assert phone.received(data) is None
    assert [fault.effect for fault in phone.faults] == ["frame dropped"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_unknown_types_and_fields_are_ignored(variant: str) -> None:
    phone = connected(variant)
    feed(phone, {"type": "tts_speak", "text": 5}, {"type": "ack", "message": "ok", "more": {}})

    assert phone.ignored == {"tts_speak": 1}
    assert phone.faults == []


def test_a_frame_over_the_limit_of_the_apps_is_a_fault() -> None:
    phone = connected()
    feed(phone, {"type": "ack", "message": "x" * 256 * 1024})

    assert reasons(phone) == [("frame", "size", "frame dropped")]
