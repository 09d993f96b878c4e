"""Rows of a session's record: the words and deeds of one turn. No I/O.

The pieces of one message are one row, and so are all that an agent tells of one use of a tool.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

import msgspec

from podiumd.agents.acp import leave
from podiumd.agents.acp.script import Script
from podiumd.formats.acp.session import Row, RowKind
from podiumd.formats.acp.wire import SessionUpdate, ToolCall, text_of
from podiumd.formats.message import RESULT_LIMIT

ENDED: Final = frozenset({"completed", "failed"})
"""What a use of a tool has come to when it is over."""

ONLY_OURS: Final = (
    "Here stands what Podium ran of this session, and nothing else: the agent's own record of it "
    "Podium cannot read."
)
_NAMES: Final = uuid.UUID("5b0d2b1e-6c0f-5c7a-9f3e-3a1f0c1f6f11")


class _Part(msgspec.Struct):
    """A row that is not complete yet."""

    type: RowKind
    message: str | None = None
    pieces: list[str] = []
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    failed: bool = False


class Rows:
    """The rows of one turn, in their order."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._parts = [_Part("prompt", pieces=[script.asked])]
        self._tools: dict[str, _Part] = {}

    def words(self, kind: RowKind, update: SessionUpdate) -> None:
        """Take a piece of a message, or of a thought."""
        last = self._parts[-1]
        if last.type != kind or (update.message_id or last.message) != last.message:
            last = _Part(kind, update.message_id, [])
            self._parts.append(last)
        last.pieces.append(text_of(update.content))

    def tool(self, call: ToolCall) -> None:
        """Take all that is known of a use of a tool."""
        known = self._tools.get(call.tool_call_id)
        if known is None:
            known = _Part("tool", id=call.tool_call_id)
            self._tools[call.tool_call_id] = known
            self._parts.append(known)
        known.name, known.input = leave.tool_of(call), leave.input_of(call)
        if call.status in ENDED and known.message is None:
            known.message = call.status
            text = text_of(call.content)[:RESULT_LIMIT]
            failed = call.status == "failed"
            self._parts.append(_Part("result", None, [text], call.tool_call_id, failed=failed))

    def made(self, turn: str, timestamps: tuple[str, str], *, first: bool) -> list[Row]:
        """Return the rows, with the times at which the turn began and ended.

        ``first``: they begin the record, which says what it holds.
        """
        began, ended = timestamps
        rows = [
            Row(
                type=part.type,
                uuid=str(uuid.uuid5(_NAMES, f"{turn}:{place}")) if place else self._script.uuid,
                turn=turn,
                timestamp=ended if place else began,
                text="".join(part.pieces),
                cwd="" if place else self._script.cwd,
                id=part.id,
                name=part.name,
                input=part.input,
                failed=part.failed,
            )
            for place, part in enumerate(self._parts)
        ]
        if first:
            name = str(uuid.uuid5(_NAMES, turn))
            notice = Row(type="notice", uuid=name, turn=turn, timestamp=began, text=ONLY_OURS)
            rows.insert(0, notice)
        return rows
