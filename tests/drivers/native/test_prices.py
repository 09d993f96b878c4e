"""What replies cost."""

from __future__ import annotations

import pytest

from podiumd.agents.native.model.anthropic import DEFAULT_MODEL
from podiumd.agents.native.model.base import Usage
from podiumd.agents.native.model.prices import cost_usd, known

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-sonnet-4-5", 3.0),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("claude-sonnet-4-5@20250929", 3.0),
        ("anthropic/claude-sonnet-4-5", 3.0),
        ("gpt-5", 1.25),
        ("gpt-5-2025-08-07", 1.25),
        ("gpt-5-mini", 0.25),
        ("gpt-4o-latest", 2.5),
    ],
)
def test_a_model_is_known_by_its_name_whatever_its_release(model: str, dollars: float) -> None:
    assert cost_usd(model, Usage(input=MILLION)) == pytest.approx(dollars)


@pytest.mark.parametrize("model", ["", "llama3", "gpt-5-turbo", "claude-sonnet-4-5-fast"])
def test_a_name_that_only_begins_alike_has_no_price(model: str) -> None:
    assert known(model) is None and cost_usd(model, Usage(input=MILLION)) is None


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = Usage(input=100_000, output=200_000, cached=300_000, cache_written=400_000)

    assert cost_usd("claude-opus-4-5", usage) == pytest.approx(0.5 + 5.0 + 0.15 + 2.5)


def test_a_long_prompt_may_cost_more() -> None:
    short, long = Usage(input=100_000), Usage(input=1_000, cached=99_001)

    assert cost_usd("claude-haiku-5-5", short) == pytest.approx(0.01)
    assert cost_usd("claude-haiku-5-5", long) == pytest.approx((500 + 99_001 * 0.05) / MILLION)


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_the_default_model_is_known() -> None:
    assert known(DEFAULT_MODEL) is not None
