"""What an agent tells that a turn has used."""

from __future__ import annotations

import math

import pytest

from podiumd.core.reply.amounts import MOST_TOKENS, MOST_USD, dollars, tokens
from podiumd.core.reply.report import Tokens


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
    assert dollars(bad) is None
