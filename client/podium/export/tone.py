"""The colours of a run's picture: what a visit led to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.render.history import RESTART, failed_checks

if TYPE_CHECKING:
    from podium import protocol

ENDS = {
    "completed": "done",
    "needs-user": "person",
    "blocked": "person",
    "cancelled": "stopped",
    "guardrail": "guardrail",
}

LEGEND = (
    ("onward", "went on to a new step"),
    ("back", "went back to an earlier step"),
    ("failed", "left because a check or command failed"),
    ("done", "ended well, or began again"),
    ("person", "ended: a person is needed"),
    ("guardrail", "ended by a limit"),
    ("stopped", "ended on request"),
    ("error", "ended in an error"),
    ("open", "still at work"),
)


def end_tone(run: protocol.Run) -> str:
    """Return the tone of a run's end by its class; ``open`` for a run that has none yet."""
    end = run.get("exit")
    return ENDS.get(end["class"], "error") if end else "open"


def how_it_stands(run: protocol.Run) -> str:
    """Return the reason of a run's end, else its status."""
    end = run.get("exit")
    return end["reason"] if end else run["status"]


def tone(step: protocol.WholeVisit, steps: list[protocol.WholeVisit], run: protocol.Run) -> str:
    """Return the tone of a visit."""
    if step["exit"] is not None or (step is steps[-1] and step["ended_at"] and run.get("exit")):
        return end_tone(run)
    if step["ended_at"] is None:
        return "open"
    if step["to"] == RESTART:
        return "done"
    if step["source"] in ("check", "command") and failed_checks(step):
        return "failed"
    return "back" if step["returned"] else "onward"
