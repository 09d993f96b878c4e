"""Conversation state of a run, from its events: its phase, and whose turn it is.

The daemon sends a snapshot wherever these change, and as the first event to a new follower. Stored
events that come after one put it in doubt; then the run itself is asked for, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import text
from podium.errors import ConnectionLost
from podium.rpc.connection import Connection

if TYPE_CHECKING:
    from podium import protocol


class ConversationState:
    """State of a run that is followed, as far as it is known.

    ``name``: the phase that it is in; ``None`` where it is in none, or nothing is known of one.
    ``run``: the run, as last reported, if it was. ``talks``: it is known to have conversations.
    """

    def __init__(self, *, talks: bool = False) -> None:
        self.name: str | None = None
        self.run: protocol.Run | None = None
        self._talks = talks
        self._doubtful = talks
        self._told = False
        self._at_work = False

    def event(self, event: protocol.Event) -> None:
        """Take note of an event."""
        if event.get("type") == "snapshot":
            data: protocol.Snapshot = event["data"]
            self._talks, self._doubtful = True, False
            self.run, self.name = data["run"], data["phase"]
        elif event.get("seq") is not None:
            self._doubtful, self._told = self._talks, False
            kind = event.get("type")
            if kind in ("turn.intended", "turn.ended"):
                self._at_work = kind == "turn.intended"
            elif kind == "run.ended":
                self.name, self._doubtful = None, False

    def again(self) -> None:
        """Reset what was reported, as it has been written over: it is reported once more."""
        self._doubtful, self._told = self._talks, False

    def stands(self, connection: Connection, run_id: str) -> bool:
        """Return whether the run waits for its person from now on, for words or for an answer.

        To be asked when no more events are there; true once each time.
        """
        if self._doubtful:
            try:
                self.run = connection.call("runs.get", {"run_id": run_id})
            except ConnectionLost:
                return False  # the reader of the events finds it out, too
            self._doubtful = False
        now = not self._at_work and _waits_for_person(self.run)
        before, self._told = self._told, now
        return now and not before


class Carried:
    """Message of a conversation, on its way.

    ``begun``: it has been reported; ``answered``: a turn has ended since. ``told`` is the daemon's
    answer when it took the message.
    """

    def __init__(self, told: protocol.Went | protocol.Turn) -> None:
        self.begun = self.answered = False
        self._turn, self._uuid = told.get("turn_id"), told.get("uuid")

    def event(self, event: protocol.Event) -> None:
        """Take note of an event; again is harmless."""
        data = event["data"]
        received = event.get("type") == "message.received" and data.get("uuid") == self._uuid
        self.begun |= received or (data.get("turn_id") == self._turn and self._turn is not None)
        self.answered |= self.begun and event.get("type") == "turn.ended"


def _waits_for_person(run: protocol.Run | None) -> bool:
    """Return whether a run waits for words, or for an answer that a phase has ended with."""
    if run is None or run.get("status") != "waiting":
        return False
    return not run["questions"] or any(map(ends_turn, run["questions"]))


def waits_for_words(run: protocol.Run | None) -> bool:
    """Return whether a conversation waits for its person's next words."""
    return run is not None and run.get("status") == "waiting" and not run.get("questions")


def ends_turn(question: protocol.Question | protocol.QuestionOpenedData) -> bool:
    """Return whether an agent has ended its turn with this question, not waiting within it."""
    return question.get("kind") == "ask" and not question.get("tool")


def say_command(run: protocol.Run) -> str:
    """Build the command that sends a message to a conversation."""
    return f"podium prompt --session {run.get('session_id')} TEXT"


def attach_command(run: protocol.Run) -> str:
    """Build the command with which a conversation goes on at a terminal."""
    return f"podium attach {text.short(run.get('run_id'))}"
