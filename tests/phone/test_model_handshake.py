"""How a phone gets in: hello, connect, connected, and what makes it give up for good."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.phone.fake_gateway import KEY, SESSION, hello, history, message
from tests.phone.handmade import CONNECTED, PONG, connected, feed, reasons, sent, types, without
from tests.phone.test_model_decoding import FRAMES, OUTPUT
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


# -- an app that speaks: pieces in order, and a sentence that outlives a lost connection


READY: Json = {"type": "voice_ready", "utterance_id": "u", "next_frame": 0, "state": "ready"}
TRANSCRIPT: Json = {
    "type": "voice_transcript",
    "utterance_id": "u",
    "text": "go on",
    "language": "en",
    "duration_ms": 800,
    "latency_ms": 90,
    "delivered": True,
    "session_id": SESSION,
}


def out(phone: PhoneModel, *frames: Json) -> list[Json | bytes]:
    """Hand in frames; everything the phone sends for them, pieces of speech too."""
    for frame in frames:
        phone.received(json.dumps(frame))
    sent = list(phone.out)
    phone.out.clear()
    return sent


def piece(number: int, sound: bytes) -> bytes:
    return number.to_bytes(4, "big") + sound


def test_a_sentence_goes_on_where_the_gateway_lost_it() -> None:
    phone = connected()
    said = phone.voice.begin("u", "ogg")
    for sound in (b"a", b"b", b"c"):
        phone.voice.add(said, sound)
    out(phone, READY)
    phone.closed()
    phone.voice.add(said, b"d")
    phone.voice.end(said)
    assert out(phone) == []
    again = out(phone, hello(), CONNECTED)
    assert again[-1] == {
        "type": "voice_start",
        "utterance_id": "u",
        "format": "ogg",
        "from_frame": 4,
    }
    end = {"type": "voice_end", "utterance_id": "u"}
    wanted = [piece(1, b"b"), piece(2, b"c"), piece(3, b"d"), end]
    assert out(phone, READY | {"next_frame": 1}) == wanted
    assert phone.faults == []


def test_what_an_app_would_misread_is_a_fault() -> None:
    phone = connected()
    said = phone.voice.begin("u", "pcm16")
    feed(
        phone,
        READY | {"utterance_id": "x"},
        READY | {"state": "soon"},
        READY | {"next_frame": 1},
        READY | {"state": "unavailable"},
    )
    said.state = ""
    command = {"type": "voice_command", "utterance_id": "u", "command": "stop", "read_back": ""}
    feed(
        phone,
        TRANSCRIPT,
        {"type": "voice_partial", "utterance_id": "u", "text": "late"},
        command | {"state": "done"},
        {"type": "voice_transcript", "utterance_id": "u", "text": "x"},
        {"type": "voice_error", "utterance_id": None, "code": "invalid_frame", "message": "No."},
    )
    phone.voice.cancel(said)
    feed(phone, TRANSCRIPT)
    assert reasons(phone) == [
        ("voice_ready", "utterance_id", "misread"),
        ("voice_ready", "state", "misread"),
        ("voice_ready", "next_frame", "misread"),
        ("voice_ready", "message", "misread"),
        ("voice_partial", "utterance_id", "misread"),
        ("voice_command", "state", "misread"),
        ("voice_transcript", "language", "frame dropped"),
        ("voice_transcript", "utterance_id", "misread"),
    ]


# -- whatever a server sends, the phone itself never fails: it finds faults


KNOWN: list[Json] = [
    *({"type": kind, **frame} for kind, frame in FRAMES.items()),
    OUTPUT,
    hello(),
    CONNECTED,
    {"type": "pong"},
    {"type": "connect_ack"},
    {"type": "session_locked", "session_id": SESSION, "message": "busy"},
    {"type": "session_updated", "session_id": SESSION, "messages": []},
    {"type": "recipe_step_started", "session_id": SESSION, "step": "a", "step_count": 1},
    {"type": "command_complete", "command_session_id": "cmd-1", "exit_code": 0, "duration_ms": 1},
    history(SESSION, [message(SESSION, 1, "user", "a"), message(SESSION, 2, "assistant", "b")], 3),
    history(SESSION, [], 1)
    | {"gap": {"requested_last_seq": 1, "min_available_seq": 2, "reason": "pruned"}},
    history(SESSION, [], 1) | {"file_replaced": True},
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a frame but its type."""
    pairs = list(
        value.items() if isinstance(value, dict) else enumerate(value)
        if isinstance(value, list) else ()
    )  # fmt: skip
    own = [(value, key) for key, _ in pairs if key != "type"]
    return own + [place for _, inner in pairs for place in places(inner)]


@st.composite
def spoilt(draw: st.DrawFn) -> Json:
    """A known frame with one thing in it replaced or taken away."""
    frame = copy.deepcopy(draw(st.sampled_from(KNOWN)))
    found = places(frame)
    if found:
        holder, key = draw(st.sampled_from(found))
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(VALUES)
    return frame


@given(st.sampled_from(sorted(VARIANTS)), st.lists(spoilt(), max_size=8))
def test_no_frame_breaks_the_phone(variant: str, frames: list[Json]) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    phone.say("hello")
    for frame in frames:
        phone.received(json.dumps(frame))

    assert phone.counts.total() == len(frames) + 2
