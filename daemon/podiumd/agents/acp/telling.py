"""The output of a turn for people who watch it."""

from __future__ import annotations

from typing import Any, Final

from podiumd.agents.acp import leave
from podiumd.agents.acp.rows import ENDED
from podiumd.drivers.base import Output, TurnEvent
from podiumd.drivers.words import Words
from podiumd.formats.acp.wire import SessionUpdate, ToolCall, text_of

DETAIL_CHARACTERS: Final = 200
RESULT_CHARACTERS: Final = 2000

_SIGNS: Final = {"completed": "✓", "in_progress": "▶"}
_TELLING: Final = ("file_path", "path", "pattern", "query", "url")


class Telling:
    """The words of one turn: the pieces of its messages are gathered in ``texts``."""

    def __init__(self, texts: Words) -> None:
        self._texts = texts
        self._open = ""
        self._message = 0
        self._told: set[str] = set()

    def words(self, update: SessionUpdate) -> list[TurnEvent]:
        """Tell a piece of the agent's words."""
        piece = text_of(update.content)
        if not piece:
            return []
        name = update.message_id or ""
        if not self._open or (name and name != self._open):
            self._message += 1
            self._open = name or f"message {self._message}"
            self._texts.begin()
        self._texts.add(piece)
        return [Output(self._open, "text", piece)]

    def thoughts(self, update: SessionUpdate) -> list[TurnEvent]:
        """Tell a piece of what it thinks."""
        piece = text_of(update.content)
        return [Output(update.message_id or "thoughts", "thinking", piece)] if piece else []

    def close(self) -> None:
        """Note that what is said from now on is another message."""
        self._open = ""

    def tool(self, call: ToolCall) -> list[TurnEvent]:
        """Tell of a tool: in one line, as soon as it is known what it is given; then its result."""
        self.close()
        events: list[TurnEvent] = []
        over = call.status in ENDED
        detail = _detail(call.raw_input)
        begun = over or call.status == "in_progress"
        if call.tool_call_id not in self._told and (detail or begun):
            self._told.add(call.tool_call_id)
            line = " ".join(f"{leave.tool_of(call)}: {detail or call.title or ''}".split())
            events.append(Output(call.tool_call_id, "tool", _cut(line)))
        if over and (result := text_of(call.content)):
            events.append(Output(call.tool_call_id, "tool_result", result[:RESULT_CHARACTERS]))
        return events

    def plan(self, update: SessionUpdate) -> list[TurnEvent]:
        """Tell the agent's plan, in one line."""
        steps = "; ".join(f"{_SIGNS.get(one.status, '-')} {one.content}" for one in update.entries)
        return [Output("", "status", _cut(f"plan: {' '.join(steps.split())}"))] if steps else []

    def context(self, update: SessionUpdate) -> list[TurnEvent]:
        """Tell how full the agent's context is."""
        if update.used is None or update.size is None:
            return []
        words = f"the context holds {update.used} of {update.size} tokens"
        return [Output("", "status", words)]


def _detail(given: Any) -> str:
    if not isinstance(given, dict) or not given:
        return ""
    command = given.get("command")
    if isinstance(command, str):
        return command
    told = next((given[key] for key in _TELLING if isinstance(given.get(key), str)), "")
    return told or ", ".join(given)


def _cut(line: str) -> str:
    return line if len(line) <= DETAIL_CHARACTERS else line[: DETAIL_CHARACTERS - 1] + "…"
