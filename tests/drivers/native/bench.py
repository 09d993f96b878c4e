"""A native turn without a daemon around it: its facts are kept, and it can be entered again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from podiumd.agents.native.assembling import Workshop
from podiumd.agents.native.driver import NativeDriver
from podiumd.agents.native.kind import NativeSettings
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.run import commands as c
from podiumd.core.run.native_loop_commands import LoopCommand
from podiumd.core.run.native_loop_facts import Result, Words
from podiumd.core.run.native_loop_state import LoopState
from podiumd.drivers.base import TurnRequest
from tests.core.builders import Play
from tests.drivers.rig import Rig

ASK = ToolSpec("ask", "Asks the person.", {"type": "object"})
SAVE = ToolSpec("save", "Saves what is known.", {"type": "object", "required": ["key"]})


ENDS = {"when": "^Result", "text": "Done."}
"""Ends the turn in whatever life of the daemon: each begins with all replies of the script."""


def act(*actions: Mapping[str, Any]) -> str:
    """A reply with actions."""
    return f"So.\n```json\n{json.dumps(list(actions))}\n```\n"


class PlayedJournal:
    """The record of the one turn of a run that is decided here."""

    words: tuple[Words, ...] = ()

    def __init__(self) -> None:
        self.play = Play(agent="native")
        self.play.go()

    @property
    def loop(self) -> LoopState:
        assert self.play.state.turn is not None
        return self.play.state.turn.loop

    @property
    def results(self) -> list[Result]:
        """What came of all actions, in order."""
        return [one.result for r in self.loop.rounds for one in r.actions if one.result is not None]

    async def record(self, command: LoopCommand) -> LoopState:
        await trio.lowlevel.checkpoint()
        self.play.do(c.LoopStep, turn_id=self.play.turn.turn_id, step=command)
        return self.loop


class Bench:
    """A machine whose native agent plays replies from a script; every life is a new driver."""

    def __init__(self, root: Path, *replies: str | Mapping[str, Any], **settings: Any) -> None:
        self.rig = Rig(root)
        self.journal = PlayedJournal()
        script = root / "replies.json"
        whole = [{"text": one} if isinstance(one, str) else one for one in replies]
        script.write_text(json.dumps({"replies": whole}))
        given = {"mode": "allow-all", "sandbox": "off", **settings}
        self._settings = NativeSettings(provider="scripted", model=str(script), **given)
        self._request: TurnRequest | None = None

    @property
    def driver(self) -> NativeDriver:
        return NativeDriver(
            Workshop(
                agent="native",
                settings=lambda: self._settings,
                environ=os.environ,
                state=self.rig.root,
            )
        )

    def request(self, prompt: str = "go", **changes: Any) -> TurnRequest:
        """The one request of the turn; the next life of the daemon makes the same."""
        if self._request is None:
            turn = self.journal.play.turn.turn_id
            self._request = self.rig.request(prompt, turn_id=turn, journal=self.journal, **changes)
        return self._request
