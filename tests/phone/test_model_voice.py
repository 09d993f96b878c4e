"""An app that speaks: pieces in order, and a sentence that outlives a lost connection."""

from __future__ import annotations

import json

from tests.phone.fake_gateway import SESSION, hello
from tests.phone.handmade import CONNECTED, connected, feed, reasons
from tests.phone_app.fields import Json
from tests.phone_app.model import PhoneModel

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
