"""The facts of conversations: what people say, which of Podium's tools agents use, what hooks say.

They are facts of a run like all others (``core.run.facts`` names them all).
"""

from __future__ import annotations

from typing import Any

from podiumd.core.run.fact import PersonFact, StepFact, TurnFact


class MessageReceived(PersonFact, frozen=True, kw_only=True, tag="message.received"):
    """A person's words in a conversation: the next prompt of its phase. ``by`` names who spoke.

    The answer to a question of the conversation is such words too, under the question's id.
    """

    uuid: str
    text: str
    by: str = "person"


class ToolUsed(TurnFact, frozen=True, kw_only=True, tag="tool.used"):
    """The agent has called one of Podium's own tools. ``message`` is the answer that it got.

    ``call_id`` names the call within its turn: the same call is never recorded twice. ``args`` are
    as they were taken, so a text that stood for a number is the number.
    """

    turn_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    success: bool
    message: str


class HookEnded(StepFact, frozen=True, kw_only=True, tag="hook.ended"):
    """A hook at the end of a conversation's turn has been run.

    ``refused``: its word is no, for ``reason``. Any other failure of it decides nothing.
    """

    step: str
    visit: int
    index: int
    run: tuple[str, ...]
    exit_status: int | None = None
    refused: bool = False
    reason: str = ""
    seconds: float = 0.0
