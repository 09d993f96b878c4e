"""The end of a turn, as a driver reports it and the core judges it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from podiumd.core.structs import replace

EndKind = Literal[
    "done",  # the agent is idle and its last result is no error
    "api_error",  # the model's API refused or failed (after the agent's own retries)
    "usage_limit",  # the account's limit; ``resets_at`` says until when
    "budget",  # the money for this turn is spent
    "interrupted",  # stopped because we asked
    "timeout",  # over its deadline, or silent for too long; ``detail`` says which
    "broken",  # cut off: the process died, or its record has a hole
    "failed",  # the agent could not be run, or ended with an error of its own
    "stopped",  # a rule of the agent's loop ended it; ``reason`` is the run's exit reason
]

CUT_OFF: frozenset[EndKind] = frozenset({"broken", "interrupted"})
"""The ends that leave a turn half done."""


class Denial(msgspec.Struct, frozen=True):
    """A tool call that was not allowed."""

    tool: str
    tool_use_id: str


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of a turn: what the model read, how much of that it had cached, what it wrote."""

    read: int = 0
    cached: int = 0
    written: int = 0


class TokensUsed(Tokens, frozen=True):
    """The tokens of several turns, as far as these tell; ``untold`` are the turns that do not."""

    untold: int = 0

    def plus(self, told: Tokens | None) -> TokensUsed:
        """Return the sum with one more turn."""
        if told is None:
            return replace(self, untold=self.untold + 1)
        return replace(
            self,
            read=self.read + told.read,
            cached=self.cached + told.cached,
            written=self.written + told.written,
        )


class TurnReport(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one turn.

    ``texts`` are the agent's own messages of this turn in order (no sub-agents, no synthetic ones);
    ``result_text`` its last words. ``cost_usd`` and ``tokens`` are this turn's alone (a delta), 0
    and ``None`` where the agent does not tell them. ``seconds`` is the monotonic length of the
    turn, time of open questions included. ``mark`` describes the transcript when the process had
    ended ({"size", "last_uuid"}). ``undelivered`` are uuids of steers the agent never began with.
    ``files`` are what the turn changed, each with ``created``, ``modified`` or ``deleted``, as far
    as the agent reports it; ``commit`` is the commit that it made of them. ``limit`` is the number
    that ``reason`` speaks of.
    """

    kind: EndKind
    detail: str = ""
    texts: tuple[str, ...] = ()
    result_text: str = ""
    structured: dict[str, Any] | None = None
    tool_outcome: dict[str, Any] | None = None
    denials: tuple[Denial, ...] = ()
    cost_usd: float = 0.0
    tokens: Tokens | None = None
    seconds: float = 0.0
    exit_status: int | None = None
    api_status: int | None = None
    resets_at: str | None = None
    background_stopped: tuple[str, ...] = ()
    prompt_recorded: bool = False
    tool_begun: bool = False
    bad_lines: int = 0
    undelivered: tuple[str, ...] = ()
    mark: dict[str, Any] | None = None
    files: tuple[tuple[str, str], ...] = ()
    commit: str | None = None
    reason: str = ""
    limit: int | None = None
