"""What a trial is: one run, and its kills."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.faults.scenario import Scenario

Kind = Literal["daemon", "agent", "both"]
KINDS: tuple[Kind, ...] = ("daemon", "agent", "both")


@dataclass(frozen=True)
class Trial:
    """One run and its kills. ``point``: a failpoint (``hit`` counts), "moment", "away", "unread".

    ``first``: what is killed at the first agent's start, before the failpoint is armed. ``part``:
    the moment as a part of the duration of an undisturbed run. ``marks``: whether the daemon asks
    agents what has arrived.
    """

    name: str
    point: str
    kind: Kind
    hit: int = 0
    first: Kind | None = None
    scenario: Scenario = field(default=Scenario())
    part: float = 0.0
    marks: bool = True

    @property
    def armed(self) -> list[str]:
        """What each of the first lives of the daemon is armed with."""
        if self.hit == 0:
            return []
        action = "" if self.kind == "daemon" else ":stop"
        return [*([""] if self.first else []), f"{self.point}:{self.hit}{action}"]
