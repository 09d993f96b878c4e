"""A run with conversations, as its events tell it: its phase, and whose turn it is.

The daemon tells a snapshot wherever these change, and first of all to whoever begins to follow.
Stored events that come after one put it in doubt; then the run itself is asked for, once.
"""

from __future__ import annotations

from typing import Any

from podium import text
from podium.errors import ConnectionLost
from podium.rpc.connection import Connection

Json = dict[str, Any]


class Phase:
    """What is known of a run that is followed.

    ``name``: the phase that it is in; ``None`` where it is in none, or nothing is known of one.
    ``run``: the run, as it was told last. ``talks``: it is known to have conversations.
    """

    def __init__(self, *, talks: bool = False) -> None:
        self.name: str | None = None
        self.run: Json = {}
        self._talks = talks
        self._doubtful = talks
        self._told = False
        self._at_work = False

    def event(self, event: Json) -> None:
        """Take note of an event."""
        if event.get("type") == "snapshot":
            data: Json = event.get("data") or {}
            self._talks, self._doubtful = True, False
            self.run, self.name = data.get("run") or {}, data.get("phase")
        elif event.get("seq") is not None:
            self._doubtful, self._told = self._talks, False
            kind = event.get("type")
            if kind in ("turn.intended", "turn.ended"):
                self._at_work = kind == "turn.intended"
            elif kind == "run.ended":
                self.name, self._doubtful = None, False

    def again(self) -> None:
        """What was told of it has been written over: it is told once more."""
        self._doubtful, self._told = self._talks, False

    def stands(self, connection: Connection, run_id: str) -> bool:
        """Whether the run waits for its person from now on, for words or for an answer.

        To be asked when no more events are there; true once each time.
        """
        if self._doubtful:
            try:
                self.run = connection.call("runs.get", {"run_id": run_id})
            except ConnectionLost:
                return False  # whoever reads the events finds it out, too
            self._doubtful = False
        asked = any(map(of_phase, self.run.get("questions") or []))
        now = not self._at_work and (
            waits_for_words(self.run) or (self.run.get("status") == "waiting" and asked)
        )
        before, self._told = self._told, now
        return now and not before


class Carried:
    """One message of a conversation. ``begun``: it has been told; ``answered``: a turn has ended
    since. ``told`` is what the daemon said when it took the message."""

    def __init__(self, told: Json) -> None:
        self.begun = self.answered = False
        self._turn, self._uuid = told.get("turn_id"), told.get("uuid")

    def event(self, event: Json) -> None:
        """Take note of an event; again is harmless."""
        data: Json = event.get("data") or {}
        received = event.get("type") == "message.received" and data.get("uuid") == self._uuid
        self.begun |= received or (data.get("turn_id") == self._turn and self._turn is not None)
        self.answered |= self.begun and event.get("type") == "turn.ended"


def waits_for_words(run: Json) -> bool:
    """Whether a conversation waits for what its person says next."""
    return run.get("status") == "waiting" and not run.get("questions")


def of_phase(question: Json) -> bool:
    """Whether an agent has ended its turn with this question, and does not wait within it."""
    return question.get("kind") == "ask" and not question.get("tool")


def say_command(run: Json) -> str:
    """The command that says something in a conversation."""
    return f"podium prompt --session {run.get('session_id')} TEXT"


def talk_command(run: Json) -> str:
    """The command with which a conversation goes on at a terminal."""
    return f"podium attach {text.short(run.get('run_id'))}"
