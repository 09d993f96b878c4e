"""The agent's words, thoughts and actions while it works, as messages and calls of AG-UI. Pure.

Each piece belongs to what is open, or opens it: text, a thought, the result of a call. One of them
is open at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from podiumd.core.recipe.served_tools import OWN_TOOLS, SERVED_PREFIX
from podiumd.gateway.agui import events as e

Json = dict[str, Any]

MOST_RESULT: Final = 16_384
"""Characters of what a tool gave back that are shown; the transcript has it whole."""


@dataclass
class _Call:
    """A call of one of the agent's own tools. ``id`` is ``None`` for one that is reported
    otherwise."""

    id: str | None
    answered_by: str | None = None
    result: list[str] = field(default_factory=list)


class Outputs:
    """Open messages and calls of one stream. ``new_id`` makes ids of messages and calls; ``spoken``
    is the weight of the text that was sent since it was last set."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self.spoken = 0
        self._new_id = new_id
        self._text: tuple[str, str] | None = None
        self._thought: tuple[str, str] | None = None
        self._calls: deque[_Call] = deque()
        self._kinds: dict[str, Callable[[str, str], list[Json]]] = {
            "text": self._said,
            "thinking": self._thinks,
            "tool": self._calls_tool,
            "tool_result": self._gives_back,
        }

    def output(self, kind: str, uuid: str, delta: str) -> list[Json]:
        """Translate a piece; ``uuid`` names the message that it is part of."""
        told = self._kinds.get(kind)
        return [] if told is None else told(uuid, delta)

    def whole(self, text: str) -> list[Json]:
        """Build a message that is sent whole."""
        message = self._new_id()
        content = e.text_content(message, text)
        return [*self.close_words(), e.text_start(message), content, e.text_end(message)]

    def call(self, call_id: str, name: str, args: Json, result: str) -> list[Json]:
        """Build a call that is sent whole, with its result."""
        answered = e.tool_result(self._new_id(), call_id, result)
        return [*self.close_words(), *e.tool_call(call_id, name, args), answered]

    def _said(self, uuid: str, delta: str) -> list[Json]:
        if not delta:
            return []
        told = [*self._end_thought(), *self._end_result()]
        if self._text is None or self._text[0] != uuid:
            told += self._end_text()
            self._text = (uuid, self._new_id())
            told.append(e.text_start(self._text[1]))
        self.spoken += weight(delta)
        return [*told, e.text_content(self._text[1], delta)]

    def _thinks(self, uuid: str, delta: str) -> list[Json]:
        if not delta:
            return []
        told = [*self._end_text(), *self._end_result()]
        if self._thought is None or self._thought[0] != uuid:
            told += self._end_thought()
            self._thought = (uuid, self._new_id())
            told += e.reasoning_start(self._thought[1])
        return [*told, e.reasoning_content(self._thought[1], delta)]

    def _calls_tool(self, _uuid: str, line: str) -> list[Json]:
        told = self.close_words()
        name = line.split(maxsplit=1)[0].rstrip(":") if line.split() else "tool"
        if name.startswith(SERVED_PREFIX) or name in OWN_TOOLS:
            self._calls.append(_Call(None))
            return told
        call = _Call(self._new_id())
        self._calls.append(call)
        return [*told, *e.tool_call(str(call.id), name, {"description": line})]

    def _gives_back(self, uuid: str, text: str) -> list[Json]:
        """Add what the oldest call without a result gave back, or a further piece of it."""
        told = [*self._end_text(), *self._end_thought()]
        if self._calls and self._calls[0].answered_by not in (None, uuid):
            told += self._end_result()
        if self._calls:
            self._calls[0].answered_by = uuid
            self._calls[0].result.append(text)
        return told

    def _end_text(self) -> list[Json]:
        text, self._text = self._text, None
        return [] if text is None else [e.text_end(text[1])]

    def _end_thought(self) -> list[Json]:
        thought, self._thought = self._thought, None
        return [] if thought is None else e.reasoning_end(thought[1])

    def _end_result(self) -> list[Json]:
        """End the result that was being collected: it is whole."""
        if not self._calls or self._calls[0].answered_by is None:
            return []
        return self._answer(self._calls.popleft())

    def _answer(self, call: _Call) -> list[Json]:
        if call.id is None:
            return []
        content = "".join(call.result)
        if len(content) > MOST_RESULT:
            content = content[: MOST_RESULT - 1] + "…"
        return [e.tool_result(self._new_id(), call.id, content)]

    def close_words(self) -> list[Json]:
        """End what is open; calls may still get their results."""
        return [*self._end_text(), *self._end_thought(), *self._end_result()]

    def close_turn(self) -> list[Json]:
        """End the turn, and give each call a result: a client would take one without for its own to
        make."""
        told = [*self._end_text(), *self._end_thought()]
        while self._calls:
            told += self._answer(self._calls.popleft())
        return told


def weight(text: str) -> int:
    """Return the length of a text without its blanks: between pieces there may be more or fewer."""
    return sum(len(word) for word in text.split())
