"""A session's messages: as a subscriber is given them, and as the transcript itself has them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.rpc_client import Connection, Json, connected
from tests.patience import HANG_SECONDS


class Conversation:
    """One subscriber. ``messages`` are all that it has been given, the first answer's first."""

    def __init__(self, connection: Connection, page: Json) -> None:
        self.messages: list[Json] = list(page["messages"])
        self.generation: int = page["generation"]
        self.last_seq: int = page["last_seq"]
        self._connection = connection

    async def told(self) -> Json:
        """Wait for the next notification and return it."""
        with trio.fail_after(HANG_SECONDS):
            told = await self._connection.notification()
        self.messages += told["messages"]
        self.generation, self.last_seq = told["generation"], told["last_seq"]
        return told

    async def until(self, count: int) -> list[Json]:
        """Wait until so many messages have come in all, and return them."""
        while len(self.messages) < count:
            await self.told()
        assert len(self.messages) == count, [in_short(message) for message in self.messages]
        return self.messages

    @property
    def seqs(self) -> list[int]:
        """The numbers of the messages that have come."""
        return [message["seq"] for message in self.messages]


@asynccontextmanager
async def subscribed(
    podium: PodiumDaemon, session_id: str, **params: Any
) -> AsyncIterator[Conversation]:
    """Subscribe to a session on a connection of its own, from its beginning if not told else."""
    async with connected(podium.machine.socket) as connection:
        asked = {"session_id": session_id, "after_seq": 0, **params}
        yield Conversation(connection, await connection.call("sessions.subscribe", asked))


async def listed(podium: PodiumDaemon, session_id: str, **expected: Any) -> Json:
    """The row of a session, once it is listed and says what is expected of it."""
    rows: dict[str, Json] = {}
    with trio.move_on_after(HANG_SECONDS):
        while True:
            answer = await podium.rpc("sessions.list")
            rows = {row["session_id"]: row for row in answer["sessions"]}
            row = rows.get(session_id)
            if row is not None and expected.items() <= row.items():
                return row
    raise AssertionError(f"{session_id} never said {expected}, but {rows}")


def in_short(message: Json) -> tuple[str, str, str]:
    """What a message has in common with its record: uuid, role, words."""
    return message["uuid"], message["role"], message["text"]


def recorded(lines: Iterable[bytes]) -> list[tuple[str, str, str]]:
    """The messages of a transcript in the order of the file, read as simply as can be."""
    found = []
    for line in lines:
        record = json.loads(line)
        if record["type"] not in ("user", "assistant"):
            continue
        if record.get("isMeta") or record.get("isSidechain"):
            continue
        content = record["message"]["content"]
        if not isinstance(content, str):
            texts = [block["text"] for block in content if block["type"] == "text"]
            content = "\n\n".join(texts)
        found.append((record["uuid"], record["type"], content))
    return found
