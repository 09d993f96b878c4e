"""Tools that an agent called in each turn of a run, read from its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import text
from podium.errors import Failure
from podium.render.history import History
from podium.render.messages import telling
from podium.rpc.connection import Connection

if TYPE_CHECKING:
    from podium import protocol

MOST_MESSAGES = 20_000
MOST_CALLS = 200
"""That are kept of one turn."""
SLACK_SECONDS = 1.0
"""How far the clock of an agent's transcript may be from the daemon's."""


def add_calls(connection: Connection, history: History) -> None:
    """Give each turn its calls. Those of a session without a transcript are not known."""
    sessions = dict.fromkeys(step["session_id"] for step in history.steps if step["session_id"])
    for session_id in sessions:
        turns = [
            turn
            for step in history.steps
            if step["session_id"] == session_id
            for turn in step["turns"]
        ]
        for at, call in _calls(connection, session_id):
            for turn in turns:
                began, ended = text.epoch(turn["began_at"]), text.epoch(turn["ended_at"])
                inside = began is not None and began - SLACK_SECONDS <= at
                if inside and (ended is None or at <= ended + SLACK_SECONDS):
                    if len(turn["calls"]) < MOST_CALLS:
                        turn["calls"].append(call)
                    else:
                        turn["more_calls"] += 1
                    break


def _calls(connection: Connection, session_id: str) -> list[tuple[float, protocol.VisitCall]]:
    """List the calls of a session with their times."""
    found: list[tuple[float, protocol.VisitCall]] = []
    after = 0
    while after < MOST_MESSAGES:
        asked: protocol.SessionMessages = {
            "session_id": session_id,
            "after_seq": after,
            "limit": 1000,
        }
        try:
            page = connection.call("sessions.messages", asked)
        except Failure:
            return found
        for message in page["messages"]:
            at = text.epoch(message["timestamp"])
            for block in message["blocks"]:
                if at is None or block["kind"] != "tool_use" or _is_plumbing(block["name"]):
                    continue
                found.append((at, {"tool": block["name"], "message": telling(block)}))
        if page["complete"] or page["next_seq"] <= after:
            return found
        after = page["next_seq"]
    return found


def _is_plumbing(name: str) -> bool:
    """Return whether a call is the agent's report to Podium, which is shown in other words."""
    return name == "StructuredOutput" or name.startswith("mcp__podium__")
