"""What an agent tells that a turn has used."""

from __future__ import annotations

import json

import pytest

from podiumd.formats.acp.wire import Cost
from podiumd.formats.claude_events import Result
from podiumd.formats.claude_stream import decode


@pytest.mark.parametrize("bad", [-0.01, 1.7e308])
def test_a_cost_that_cannot_be_is_not_told(bad: float) -> None:
    assert Cost(amount=bad, currency="USD").in_usd is None


def test_a_result_of_claude_code_tells_no_more_than_can_be() -> None:
    used = {"m": {"inputTokens": 10**30, "costUSD": 1.7e308}, "n": {"costUSD": 0.25}}
    found = decode(json.dumps({"type": "result", "model_usage_since_last_result": used}).encode())
    assert isinstance(found, Result) and (found.tokens, found.cost_usd) == (None, 0.25)
