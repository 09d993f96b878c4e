"""The messages of one session: the last ones, then those that come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium import text
from podium.errors import Failure
from podium.rpc.connection import Connection
from podium.rpc.feed import Feed

if TYPE_CHECKING:
    from podium import protocol

PAGE = 1000
"""Messages that the daemon gives in one answer at most; long ones make it fewer."""


def last_messages(connection: Connection, session_id: str, count: int) -> protocol.MessagesPage:
    """Return the last ``count`` messages, in the shape of a result of ``sessions.messages``."""
    asked: protocol.SessionMessages = {
        "session_id": session_id,
        "limit": min(max(count, 1), PAGE),
    }
    page = connection.call("sessions.messages", asked)
    if count == 0:
        return {**page, "messages": [], "next_seq": page["last_seq"], "complete": True}
    first = max(page["last_seq"] - count + 1, page["first_seq"])
    messages = page["messages"]
    if messages and not (messages[0]["seq"] <= first and page["complete"]):
        messages, page["next_seq"] = [], first - 1
        while page["next_seq"] < page["last_seq"]:
            asked = {"session_id": session_id, "after_seq": page["next_seq"], "limit": PAGE}
            page = connection.call("sessions.messages", asked)
            messages += page["messages"]
            if not page["messages"]:
                break
    return {**page, "messages": messages[-count:]}


class SessionFeed(Feed["protocol.Message"]):
    """The messages after ``after_seq``, without end.

    ``generation`` is that of the transcript: it counts how often the agent rewrote it.
    """

    def __init__(self, connection: Connection, session_id: str, after_seq: int) -> None:
        self.session_id = session_id
        self.generation = 0
        self.again = f"'podium show {text.short(session_id)} --follow'"
        self.hope = f"and {self.again} goes on"
        super().__init__(connection, after_seq)

    def _subscribe(self) -> list[protocol.Message]:
        asked: protocol.SessionMessages = {
            "session_id": self.session_id,
            "after_seq": self._seq,
            "limit": PAGE,
        }
        answer = self.connection.call("sessions.subscribe", asked)
        if answer["last_seq"] < self._seq:
            raise Failure(
                "The daemon has begun to number this session's messages anew: "
                f"'podium show {text.short(self.session_id)} --follow' begins anew too."
            )
        self.generation = answer["generation"]
        return list(answer["messages"])

    def _items(self, message: dict[str, Any]) -> list[protocol.Message]:
        if message.get("method") != "session.messages":
            return []
        told: protocol.NewMessages = message["params"]
        if told["session_id"] != self.session_id:
            return []
        self.generation = told["generation"]
        return list(told["messages"])
