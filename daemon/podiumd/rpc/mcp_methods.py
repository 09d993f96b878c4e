"""``mcp.message``: what a turn's agent says to Podium's tools, through ``podium mcp``.

The socket serves every process of its user; the tools are for the one agent that has the token of
its turn, so no other method leads to them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.runtime.api import Json


class Message(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``message`` is a line of the Model Context Protocol, as the agent wrote it. ``delivery`` is
    the same when it is sent again, and no other has it: its calls are then done once."""

    token: str
    message: str
    delivery: str | None = None


async def _message(context: RequestContext, params: Message) -> Json:
    reply = await context.info.tools(params.token, params.message, params.delivery)
    return {"reply": reply}


MCP_METHODS: Final[tuple[Method[RequestContext], ...]] = (
    Method("mcp.message", Message, _message, "A message to the tools of a turn.", "waiting"),
)
