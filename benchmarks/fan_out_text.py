"""The message that a fan-out is measured with: one of an agent's, as a phone gets it."""

from __future__ import annotations

from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.feed.history import Message

SESSION = history.Session("0192f0c1-7d1e-4cc0-8a52-2f4b6f1f9a01", "claude", 7, "signature")
CHARACTERS = 1000


def fan_out_messages() -> list[Message]:
    """What the session has grown by."""
    return [
        Message(
            seq=7,
            uuid="5b2c6f8e-93a1-4d0e-8f6b-2a7c1d9e4f30",
            role="assistant",
            text="x" * CHARACTERS,
            timestamp="2026-04-01T08:00:00.000Z",
        )
    ]


def fan_out_text() -> bytes:
    """The bytes of the message."""
    return next(iter(history.pushes(SESSION, fan_out_messages(), 100_000))).frame
