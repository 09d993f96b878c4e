"""What an agent tells that a turn has used."""

from __future__ import annotations

import json
import math

import pytest

from podiumd.core.reply.report import Tokens
from podiumd.formats.acp.wire import Cost
from podiumd.formats.amounts import MOST_TOKENS, MOST_USD, dollars, tokens
from podiumd.formats.claude_events import Result
from podiumd.formats.claude_stream import decode


def test_tokens_that_can_be_are_taken() -> None:
    assert tokens(3, 2, 0) == Tokens(3, 2, 0)
    assert tokens(MOST_TOKENS, 0, 1) == Tokens(MOST_TOKENS, 0, 1)


@pytest.mark.parametrize("bad", [-1, MOST_TOKENS + 1, 10**30])
def test_tokens_that_cannot_be_are_not_told(bad: int) -> None:
    assert tokens(bad, 0, 0) is tokens(0, bad, 0) is tokens(0, 0, bad) is None


def test_money_that_can_be_is_taken() -> None:
    assert (dollars(0.0), dollars(1.5), dollars(MOST_USD)) == (0.0, 1.5, MOST_USD)


@pytest.mark.parametrize("bad", [-0.01, 1.7e308, math.inf, math.nan])
def test_money_that_cannot_be_is_not_told(bad: float) -> None:
    assert dollars(bad) is None and Cost(amount=bad, currency="USD").in_usd is None


def test_a_result_of_claude_code_tells_no_more_than_can_be() -> None:
    used = {"m": {"inputTokens": 10**30, "costUSD": 1.7e308}, "n": {"costUSD": 0.25}}
    found = decode(json.dumps({"type": "result", "model_usage_since_last_result": used}).encode())
    assert isinstance(found, Result) and (found.tokens, found.cost_usd) == (None, 0.25)
