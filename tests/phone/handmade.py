"""Frames by hand, as the protocol writes them, and phones that are fed with them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.phone.fake_gateway import KEY, SESSION, hello
from tests.phone_app.fields import Json
from tests.phone_app.model import PhoneModel
from tests.phone_app.sessions import LegacySession, Session
from tests.phone_app.variants import VARIANTS

CONNECTED = {
    "type": "connected",
    "message": "Connected",
    "session_id": "11111111-1111-4111-8111-111111111111",
    "negotiated_protocol_version": "0.5.0",
}
PONG = {"type": "pong"}


def feed(phone: PhoneModel, *frames: Json) -> list[Json]:
    """Hand in frames; returns what the phone sends for them."""
    for frame in frames:
        phone.received(json.dumps(frame))
    return sent(phone)


def sent(phone: PhoneModel) -> list[Json]:
    """What the phone has sent since it was asked last."""
    frames = [frame for frame in phone.out if not isinstance(frame, bytes)]
    phone.out.clear()
    return frames


def connected(variant: str = "ios", version: str | None = None) -> PhoneModel:
    """A phone that was let in, with nothing left to send."""
    phone = PhoneModel(KEY, VARIANTS[variant])
    agreed = version or phone.variant.announces or "0.4.0"
    feed(phone, hello(), CONNECTED | {"negotiated_protocol_version": agreed})
    return phone


def reasons(phone: PhoneModel) -> list[tuple[str, str, str]]:
    """The faults, without their words."""
    return [(fault.frame, fault.field, fault.effect) for fault in phone.faults]


def session_of(phone: PhoneModel) -> Session:
    """The session that these tests use, in an app that counts."""
    session = phone.session(SESSION)
    assert isinstance(session, Session)
    return session


def legacy_session_of(phone: PhoneModel) -> LegacySession:
    """The session that these tests use, in an app that does not."""
    session = phone.session(SESSION)
    assert isinstance(session, LegacySession)
    return session


def without(frame: Json, *names: str) -> Json:
    """The frame without some fields."""
    return {name: value for name, value in frame.items() if name not in names}


def types(frames: Iterable[Json]) -> list[str]:
    """The types of frames."""
    return [frame["type"] for frame in frames]
