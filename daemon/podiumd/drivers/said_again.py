"""The agent's output before its turn was taken up, gathered for clients that missed it."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from podiumd.drivers.base import Output, TurnEvent

_FLOWING: Final = frozenset({"text", "thinking"})
"""Kinds that come in pieces; all else is whole."""

PIECE_CHARACTERS: Final = 4096
"""How long a piece is let grow."""


def say_again(events: list[TurnEvent], said: Output) -> None:
    """Add earlier output, in larger pieces than it came in: a turn of hours has many."""
    last = events[-1] if events else None
    if (
        isinstance(last, Output)
        and said.kind in _FLOWING
        and (last.again, last.uuid, last.kind) == (True, said.uuid, said.kind)
        and len(last.delta) < PIECE_CHARACTERS
    ):
        events[-1] = replace(last, delta=last.delta + said.delta)
    else:
        events.append(replace(said, again=True))
