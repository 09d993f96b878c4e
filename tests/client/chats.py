"""Chats as the daemon sees them: a fake one that answers prompts, and the real client with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.client import stories
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, Handler
from tests.client.terminal import Terminal

Json = Any

COME_BACK = f"Come back with: podium chat --session {SESSION_ID[:8]}"

CONFIGURATION = {
    "values": [
        {"key": "agents.native.mode", "value": "confirm"},
        {"key": "agents.claude.command", "value": "claude"},
    ]
}


def prompt_run(kind: str = "completed", **more: Any) -> Json:
    """How the run of a plain prompt ended."""
    run = stories.ended_run(kind, recipe=None, **more) | {"kind": "prompt"}
    if kind == "completed":
        run["exit"] |= {"reason": "turn-complete", "message": "Turn complete"}
    return run


def turn(*words: str, end: str = "completed", **report: Any) -> list[Json]:
    """The stored events of a prompt that is answered with these words."""
    return [
        stories.started(kind="prompt"),
        stories.turn_ended(2, "".join(words), **report),
        stories.event(3, "run.ended", run=prompt_run(end)),
    ]


class Chatty:
    """Makes a fake daemon one that answers each prompt with the next of ``turns``.

    The events of a run that has not ended by them are for the test to publish.
    """

    def __init__(self, daemon: FakeDaemon, *turns: Sequence[Json]) -> None:
        self._daemon = daemon
        self._turns = list(turns)
        daemon.answers["daemon.configuration"] = CONFIGURATION
        daemon.answers["sessions.prompt"] = self._prompted

    def _prompted(self, params: Json) -> Json:
        self._daemon.events = list(self._turns.pop(0)) if self._turns else []
        return {
            "run_id": RUN_ID,
            "turn_id": stories.TURN_ID,
            "session_id": SESSION_ID,
            "delivery": "sent",
        }

    def then(self, *turns: Sequence[Json]) -> None:
        """Answer the next prompts so."""
        self._turns += turns

    @property
    def prompts(self) -> list[str]:
        """What was sent, in order."""
        return [sent["text"] for sent in self._daemon.params_of("sessions.prompt")]


def at_terminal(
    daemon: FakeDaemon, home: Path, *arguments: str, **more: str
) -> AbstractContextManager[Terminal]:
    """``podium chat`` at a terminal, without colours, its history below ``home``."""
    settings = {"NO_COLOR": "1", "XDG_STATE_HOME": str(home), **more}
    return Terminal(daemon, "chat", *arguments, columns=100, **settings)


def at_narrow_terminal(daemon: FakeDaemon, home: Path) -> AbstractContextManager[Terminal]:
    """As ``at_terminal``, as wide as a telephone."""
    return Terminal(daemon, "chat", columns=40, NO_COLOR="1", XDG_STATE_HOME=str(home))


def answering(daemon: FakeDaemon, *events: Json) -> Handler:
    """A handler of ``questions.answer`` after which these events happen."""

    def answered(params: Json) -> Json:
        daemon.publish(*events)
        return {}

    return answered
