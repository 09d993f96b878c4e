"""Sum of what turns have taken so far: money and tokens, as far as their agents tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import text

if TYPE_CHECKING:
    from podium import protocol


class Spending:
    """A sum; as text what is shown of it."""

    def __init__(self) -> None:
        self.cost_usd = 0.0
        self.tokens: protocol.TokensUsed = {"read": 0, "cached": 0, "written": 0, "untold": 0}

    def turn(self, ended: protocol.TurnEndedData) -> None:
        """Add a turn that has ended."""
        self.add(ended.get("cost_usd"), _of_turn(ended))

    def add(self, cost_usd: float | None, tokens: protocol.TokensUsed) -> None:
        """Add a sum."""
        self.cost_usd += cost_usd or 0.0
        self.tokens = added(self.tokens, tokens)

    def __str__(self) -> str:
        told = text.price(self.cost_usd, self.tokens)
        return "" if told == "-" else told

    @property
    def so_far(self) -> str:
        """Return it as a sum that may grow; empty where no agent tells any."""
        return f"{self} so far" if str(self) else ""


def _of_turn(ended: protocol.TurnEndedData) -> protocol.TokensUsed:
    told = ended["report"].get("tokens")
    if told is None:
        return {"read": 0, "cached": 0, "written": 0, "untold": 1}
    return {**told, "untold": 0}


def added(one: protocol.TokensUsed, other: protocol.TokensUsed) -> protocol.TokensUsed:
    """Sum up two sums."""
    return {
        "read": one["read"] + other["read"],
        "cached": one["cached"] + other["cached"],
        "written": one["written"] + other["written"],
        "untold": one["untold"] + other["untold"],
    }
