"""A JSON-RPC client of the daemon's socket for tests: calls, refusals, and a run's events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from tests.patience import HANG_SECONDS

Json = dict[str, Any]


class Refused(Exception):
    """The daemon's error answer to a call."""

    def __init__(self, method: str, error: Json) -> None:
        super().__init__(f"{method}: {error}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data") or {}


class Connection:
    """One connection; notifications that come while an answer is awaited are kept."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._rest = bytearray()
        self._lines: list[bytes] = []
        self._told: list[Json] = []

    async def call(self, method: str, params: Json) -> Any:
        """Call a method and return its result. Raises ``Refused``."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        await self._stream.send_all(json.dumps(request).encode() + b"\n")
        while "id" not in (message := await self._message()):
            self._told.append(message)
        if "error" in message:
            raise Refused(method, message["error"])
        return message["result"]

    async def notification(self) -> Json:
        """Return the next notification's parameters."""
        message = self._told.pop(0) if self._told else await self._message()
        params: Json = message["params"]
        return params

    async def ask(self, method: str) -> None:
        """Send a request and leave its answer unread; fails once the daemon takes no more."""
        request = {"jsonrpc": "2.0", "id": "unread", "method": method, "params": {}}
        await self._stream.send_all(json.dumps(request).encode() + b"\n")

    async def rest(self) -> list[Json]:
        """Read all notifications up to the one that says why there are no more, that one too."""
        found: list[Json] = []
        with trio.fail_after(HANG_SECONDS):
            while not found or found[-1]["method"] != "feed.closed":
                message = await self._message()
                if "method" in message:
                    found.append(message)
        return found

    async def _message(self) -> Json:
        while not self._lines:
            chunk = await self._stream.receive_some(65_536)
            if not chunk:
                raise trio.BrokenResourceError("the daemon closed the connection")
            self._rest += chunk
            if b"\n" in chunk:
                *lines, rest = self._rest.split(b"\n")
                self._lines, self._rest = list(map(bytes, lines)), rest
        message: Json = json.loads(self._lines.pop(0))
        return message


@asynccontextmanager
async def connected(socket: Path) -> AsyncIterator[Connection]:
    """Connect to a daemon."""
    async with await trio.open_unix_socket(socket) as stream:
        yield Connection(stream)


class Feed:
    """The events of one run: stored ones first, then live. ``seen`` are all that have come."""

    def __init__(self, connection: Connection, events: list[Json]) -> None:
        self.seen: list[Json] = []
        self._connection = connection
        self._ready = events

    async def next(self) -> Json:
        """Return the next event."""
        event = self._ready.pop(0) if self._ready else await self._connection.notification()
        self.seen.append(event)
        return event

    async def until(
        self, type: str, condition: Callable[[Json], bool] = lambda data: True, **data: Any
    ) -> Json:
        """Read on to an event of this type with these data, and return its data."""
        with trio.move_on_after(HANG_SECONDS):
            while True:
                event = await self.next()
                found: Json = event["data"]
                fits = data.items() <= {key: found.get(key) for key in data}.items()
                if event["type"] == type and fits and condition(found):
                    return found
                assert event["type"] != "run.ended", f"it ended before {type} {data}: {found}"
        raise AssertionError(f"no {type} {data} came, but {self.types}")

    async def end(self) -> Json:
        """Read on to the end and return the run, with its history."""
        ended = (await self.until("run.ended"))["run"]
        run: Json = await self._connection.call("runs.get", {"run_id": ended["run_id"]})
        return run

    @property
    def types(self) -> list[str]:
        """The types of the durable events so far."""
        return [event["type"] for event in self.seen if "seq" in event]

    def data(self, type: str) -> list[Json]:
        """The data of each event of a type so far."""
        return [event["data"] for event in self.seen if event["type"] == type]


@asynccontextmanager
async def following(socket: Path, run_id: str, after_seq: int = 0) -> AsyncIterator[Feed]:
    """Follow a run from its beginning, or after an event."""
    async with connected(socket) as connection:
        asked = {"run_id": run_id, "after_seq": after_seq, "follow": True}
        answer = await connection.call("runs.events", asked)
        yield Feed(connection, answer["events"])
