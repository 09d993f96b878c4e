"""What an agent tells through the Agent Client Protocol, within bounds."""

from __future__ import annotations

import pytest

from podiumd.drivers.dialect import Ending
from podiumd.drivers.words import MESSAGE_CHARACTERS, Words
from tests.agents.acp.test_acp_dialect import Talk


def test_what_an_agent_says_is_bounded_however_small_its_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podiumd.agents.acp.ending.Words", lambda: Words(300))
    talk = Talk()
    talk.open()
    talk.prompted()
    for _ in range(100):
        talk.text("xx")
    (words,) = talk.dialect.report(Ending()).texts
    assert words == "x" * (300 - MESSAGE_CHARACTERS) + "…"


def test_what_it_cannot_have_used_is_not_told() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    for amount in (0.5, 1.7e308, -3):
        talk.update("usage_update", used=1, size=2, cost={"amount": amount, "currency": "USD"})
    talk.answer("prompt", {"stopReason": "end_turn", "usage": {"inputTokens": -5}})
    report = talk.dialect.report(Ending())
    assert (report.kind, report.cost_usd, report.tokens) == ("done", 0.5, None)
