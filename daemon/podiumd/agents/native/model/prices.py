"""The known facts on models by name: the size of their context, of a reply, and list prices.

The prices are the providers' published ones of autumn 2026, in US dollars; what an account really
pays may differ. A name that is not here has no price: its cost counts as 0 and is reported as
unknown.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from podiumd.agents.native.model.base import Usage


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float
    cache_written: float


class Known(NamedTuple):
    """``window`` and ``reply`` in tokens. Prompts above ``long_from`` tokens cost ``long``."""

    window: int
    reply: int
    price: Price
    long_from: int = 0
    long: Price | None = None


def _claude(window: int, reply: int, input: float, output: float, cached: float) -> Known:
    return Known(window, reply, Price(input, output, cached, input * 1.25))


def _gpt(window: int, reply: int, input: float, output: float, cached: float) -> Known:
    return Known(window, reply, Price(input, output, cached, input))


_MILLION: Final = 1_000_000
_HAIKU = _claude(_MILLION, 128_000, 0.10, 0.50, 0.01)._replace(
    long_from=100_000, long=Price(0.50, 2.50, 0.05, 0.625)
)
_MODELS: Final[dict[str, Known]] = {
    "claude-fable-5-1": _claude(_MILLION, 128_000, 10, 50, 0.25),
    "claude-fable-5": _claude(_MILLION, 128_000, 10, 50, 1),
    "claude-opus-5-5": _claude(_MILLION, 128_000, 4, 20, 0.20),
    "claude-opus-5": _claude(_MILLION, 128_000, 5, 25, 0.50),
    "claude-opus-4-8": _claude(_MILLION, 128_000, 5, 25, 0.50),
    "claude-opus-4-7": _claude(_MILLION, 128_000, 5, 25, 0.50),
    "claude-opus-4-6": _claude(200_000, 128_000, 5, 25, 0.50),
    "claude-opus-4-5": _claude(200_000, 64_000, 5, 25, 0.50),
    "claude-opus-4-1": _claude(200_000, 32_000, 15, 75, 1.50),
    "claude-sonnet-5-5": _claude(_MILLION, 128_000, 2, 10, 0.20),
    "claude-sonnet-5": _claude(_MILLION, 128_000, 2, 10, 0.20),
    "claude-sonnet-4-6": _claude(200_000, 64_000, 3, 15, 0.30),
    "claude-sonnet-4-5": _claude(200_000, 64_000, 3, 15, 0.30),
    "claude-sonnet-4": _claude(200_000, 64_000, 3, 15, 0.30),
    "claude-haiku-5-5": _HAIKU,
    "claude-haiku-4-5": _claude(200_000, 64_000, 1, 5, 0.10),
    "gpt-5.5-pro": _gpt(400_000, 128_000, 30, 180, 30),
    "gpt-5.5": _gpt(400_000, 128_000, 5, 30, 0.50),
    "gpt-5.4-pro": _gpt(400_000, 128_000, 30, 180, 30),
    "gpt-5.4-mini": _gpt(400_000, 128_000, 0.75, 4.50, 0.075),
    "gpt-5.4-nano": _gpt(400_000, 128_000, 0.20, 1.25, 0.02),
    "gpt-5.4": _gpt(400_000, 128_000, 2.50, 15, 0.25),
    "gpt-5.2": _gpt(400_000, 128_000, 1.75, 14, 0.175),
    "gpt-5-mini": _gpt(400_000, 128_000, 0.25, 2, 0.025),
    "gpt-5-nano": _gpt(400_000, 128_000, 0.05, 0.40, 0.005),
    "gpt-5": _gpt(400_000, 128_000, 1.25, 10, 0.125),
    "gpt-4.1-mini": _gpt(_MILLION, 32_768, 0.40, 1.60, 0.10),
    "gpt-4.1-nano": _gpt(_MILLION, 32_768, 0.10, 0.40, 0.025),
    "gpt-4.1": _gpt(_MILLION, 32_768, 2, 8, 0.50),
    "gpt-4o-mini": _gpt(128_000, 16_384, 0.15, 0.60, 0.075),
    "gpt-4o": _gpt(128_000, 16_384, 2.50, 10, 1.25),
    "o4-mini": _gpt(200_000, 100_000, 1.10, 4.40, 0.275),
    "o3": _gpt(200_000, 100_000, 2, 8, 0.50),
}
# How providers mark a release of a model: claude-sonnet-4-5-20250929, gpt-5-2025-08-07.
_RELEASE: Final = re.compile(r"(-latest|[-@][0-9]{8}|-[0-9]{4}-[0-9]{2}-[0-9]{2})\Z")


def known(model: str) -> Known | None:
    """Look up a model; a release's mark and a gateway's prefix (``x/``) do not count."""
    return _MODELS.get(_RELEASE.sub("", model.rpartition("/")[2]))


def cost_usd(model: str, usage: Usage) -> float | None:
    """Compute the cost of the tokens by list price; ``None`` where the prices are unknown."""
    found = known(model)
    if found is None:
        return None
    price = found.price
    if found.long is not None and usage.prompt > found.long_from:
        price = found.long
    total = (
        usage.input * price.input
        + usage.output * price.output
        + usage.cached * price.cached
        + usage.cache_written * price.cache_written
    )
    return total / _MILLION
