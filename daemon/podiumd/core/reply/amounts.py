"""Amounts that an agent tells of a turn, as far as they can be: what cannot is not told. Pure."""

from __future__ import annotations

from typing import Final

from podiumd.core.reply.report import Tokens

MOST_TOKENS: Final = 10**10
"""Of one turn, or request; sums of many of them stay within what databases and clients can hold."""
MOST_USD: Final = 1_000_000.0


def tokens(read: int, cached: int, written: int) -> Tokens | None:
    """Return tokens, ``None`` where one of the numbers is none that can be."""
    told = (read, cached, written)
    return Tokens(*told) if all(0 <= one <= MOST_TOKENS for one in told) else None


def dollars(amount: float) -> float | None:
    """Return an amount of money, ``None`` where it is none that can be."""
    return amount if 0 <= amount <= MOST_USD else None
