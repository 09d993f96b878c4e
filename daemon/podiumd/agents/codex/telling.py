"""The output of a turn of Codex for people who watch it."""

from __future__ import annotations

from typing import Final

from podiumd.agents.codex.ending import answer_in
from podiumd.agents.codex.leave import change_tool, script_of
from podiumd.core.excerpt import beginning
from podiumd.core.recipe.served_tools import SERVER
from podiumd.drivers.base import Output, TurnEvent
from podiumd.formats.codex import wire

DETAIL_CHARACTERS: Final = 200
RESULT_CHARACTERS: Final = 2000


class Telling:
    """The words of one turn. Those of sub-agents are left out, what they do is told by name.

    ``structured``: the last message is JSON for Podium, of which people see what it says in words.
    """

    def __init__(self, *, structured: bool) -> None:
        self._structured = structured
        self._held: set[str] = set()
        self._names: dict[str, str] = {}
        self._streamed: set[str] = set()

    def thread(self, thread: wire.Thread) -> None:
        """Note a thread that has begun."""
        if thread.parent_thread_id is not None:
            self._names[thread.id] = thread.agent_nickname or ""

    def name_of(self, thread_id: str) -> str:
        """Return what the sub-agent of a thread is called, empty where that is not known."""
        return self._names.get(thread_id, "")

    def delta(self, delta: wire.DeltaNotification, *, words: bool) -> list[TurnEvent]:
        """Tell a piece of the model's words, or of its thoughts."""
        first = delta.item_id not in self._streamed | self._held
        if self._structured and words and first and delta.delta.lstrip().startswith("{"):
            self._held.add(delta.item_id)
        if delta.item_id in self._held:
            return []
        self._streamed.add(delta.item_id)
        return [Output(delta.item_id, "text" if words else "thinking", delta.delta)]

    def again(self, why: str) -> Output:
        """Tell that a request is tried once more."""
        return Output("", "status", beginning(f"trying again: {why}", DETAIL_CHARACTERS))

    def item(self, found: wire.ItemNotification, *, done: bool, ours: bool) -> list[TurnEvent]:
        """Tell a piece of the turn that has begun or is done."""
        item = found.item
        if item.type == "agentMessage":
            if not (done and ours) or item.id in self._streamed:
                return []
            answer = answer_in(item.text) if self._structured else None
            words = item.text if answer is None else str(answer.get("detail", ""))
            return [Output(item.id, "text", words)] if words else []
        if done and item.type == "contextCompaction":
            return [Output(item.id, "status", "the conversation so far was summed up")]
        if done and item.type == "commandExecution" and item.aggregated_output:
            return [Output(item.id, "tool_result", item.aggregated_output[:RESULT_CHARACTERS])]
        line = _line(item, done=done)
        if not line:
            return []
        name = "" if ours else f"{self.name_of(found.thread_id) or 'sub-agent'}: "
        return [Output(item.id, "tool", _cut(name + " ".join(line.split())))]


def _line(item: wire.ThreadItem, *, done: bool) -> str:
    """Describe what is done in one line; empty where there is nothing to tell, or not yet."""
    if item.type == "webSearch":  # what it looks for is known when it is done
        return f"WebSearch: {item.query}" if done else ""
    if done:
        return ""
    match item.type:
        case "commandExecution":
            return f"Bash: {script_of(item.command)}"
        case "fileChange":
            paths = ", ".join(change.path for change in item.changes)
            return f"{change_tool(item)}: {paths}"
        case "mcpToolCall":
            return item.tool if item.server == SERVER else f"{item.server}.{item.tool}"
        case "collabAgentToolCall":
            return f"{item.tool}: {item.prompt or ''}" if item.tool == "spawnAgent" else item.tool
        case _:
            return ""


def _cut(line: str) -> str:
    return line if len(line) <= DETAIL_CHARACTERS else line[: DETAIL_CHARACTERS - 1] + "…"
