"""Podium's side of a turn whose agent is served tools: a small record in place of a run's facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podiumd.core.prompts.tools import ToolSpec
from podiumd.drivers.base import HookPoint, HookRaised, ToolCalled, Turn, TurnEvent

SAVE = ToolSpec(
    "save",
    "Keep a value.",
    {
        "type": "object",
        "properties": {"key": {"enum": ["goal", "plan"]}, "value": {}},
        "required": ["key", "value"],
    },
)
ASK = ToolSpec(
    "ask", "Ask the person.", {"type": "object", "properties": {"question": {"type": "string"}}}
)
EVERY_TOOL = (HookPoint("before-tool"), HookPoint("after-tool"))


def call(tool: str, text: str = "", **args: Any) -> dict[str, object]:
    """A scripted answer of the model that calls one of Podium's tools."""
    used = {"name": f"mcp__podium__{tool}", "input": args}
    return {"text": text, "tools": [used]} if text else {"tools": [used]}


def save(value: object, text: str = "") -> dict[str, object]:
    return call("save", text, key="goal", value=value)


class Podium:
    """Answers calls and settles hooks; what it did stands in a file, one line a call."""

    def __init__(
        self, record: Path, refuses: Callable[[HookRaised], str | None] | None = None
    ) -> None:
        self._record = record
        self._refuses = refuses or (lambda hook: None)
        self.hooks: list[HookRaised] = []

    @property
    def done(self) -> list[dict[str, Any]]:
        """The calls that were done, each once."""
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        return [json.loads(line) for line in lines]

    async def __call__(self, turn: Turn, event: TurnEvent) -> None:
        """React to one event of the turn."""
        if isinstance(event, ToolCalled):
            self._do(event)
            await turn.reply_tool(event.call_id, f"Saved {event.args.get('value')}.", success=True)
        elif isinstance(event, HookRaised):
            self.hooks.append(event)
            await turn.settle_hook(event.hook_id, self._refuses(event))

    def _do(self, called: ToolCalled) -> None:
        if any(done["call_id"] == called.call_id for done in self.done):
            return
        entry = {"call_id": called.call_id, "tool": called.tool, "args": called.args}
        with self._record.open("a") as file:
            file.write(json.dumps(entry) + "\n")
