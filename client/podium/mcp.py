"""``podium mcp``: the tools of a turn, for its agent, over standard input and output.

Each line of the Model Context Protocol goes to the daemon as it is, and its reply comes back: what
the lines mean is the daemon's business. Here is what makes that hold while the daemon restarts:
what was not answered is sent again, under the same name, so that it is done once.
"""

from __future__ import annotations

import os
import select
import time

from podium import wire
from podium.errors import OK, USAGE, ConnectionLost, DaemonDown, Failure
from podium.rpc.connection import MAX_REQUEST, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOKEN = "PODIUM_TOOLS_TOKEN"  # noqa: S105 - the name of a variable

OVERLOADED = -32008
INTERNAL_ERROR = -32603
OWN_CODES = range(-32019, -31999)
"""The codes that the protocol leaves to servers; some of the daemon's are among them."""

MOST_WAITING = 32
"""Lines that wait for their replies; while there are so many no further one is read."""

PATIENCE_SECONDS = 600.0
"""How long a line that the daemon did not answer is sent again: it may be starting anew."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0
"""Between two attempts to reach the daemon."""

LAST_SECONDS = 10.0
"""How long replies are waited for once the input has ended."""

INPUT, OUTPUT = 0, 1


class Line:
    """Line from the agent. ``delivery`` is its name for the daemon, however often it is sent.

    ``number`` is that of the call that is under way for it. ``trouble``: since when it could not be
    answered; ``pause_until``: when it may be sent again (both monotonic).
    """

    def __init__(self, text: str, delivery: str) -> None:
        self.text = text
        self.delivery = delivery
        self.number: int | None = None
        self.trouble: float | None = None
        self.pause_until = 0.0


def serve() -> int:
    """Serve until the input ends.

    Raises:
        Failure: there is no token.
    """
    token = os.environ.pop(TOKEN, "")
    if not token:
        raise Failure(
            f"{TOKEN} is not set: 'podium mcp' is started by the agent of a turn, which gets that "
            "from the daemon.",
            USAGE,
        )
    Shim(token).run()
    return OK


class Shim:
    """Lines in, replies out, one connection in between, made anew when it is lost."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._nonce = os.urandom(12).hex()
        self._count = 0
        self._lines: list[Line] = []
        self._connection: Connection | None = None
        self._connect_at = 0.0
        self._pause = FIRST_PAUSE_SECONDS
        self._buffer = bytearray()
        self._scanned = 0
        self._skipping = False
        self._end_by: float | None = None

    def run(self) -> None:
        """Until the input has ended and all is answered, or the time for that is over."""
        while True:
            self._take_lines()
            now = time.monotonic()
            self._send_due(now)
            if self._end_by is not None and (not self._lines or now >= self._end_by):
                return
            ready, _, _ = select.select(self._watched(), [], [], self._seconds_to_next(now))
            if self._connection is not None and self._connection.fileno() in ready:
                self._take_answers(self._connection)
            if INPUT in ready:
                self._read()

    def _watched(self) -> list[int]:
        watched = [] if self._connection is None else [self._connection.fileno()]
        if self._end_by is None and len(self._lines) < MOST_WAITING:
            watched.append(INPUT)
        return watched

    def _seconds_to_next(self, now: float) -> float | None:
        times = [max(line.pause_until, self._connect_at) for line in self._lines if not line.number]
        times += [] if self._end_by is None else [self._end_by]
        return max(0.0, min(times) - now) if times else None

    # -- from the agent ------------------------------------------------------------------------

    def _read(self) -> None:
        data = os.read(INPUT, 1024 * 1024)
        if not data:
            self._end_by = time.monotonic() + LAST_SECONDS
            data = b"\n" if self._buffer else b""  # a last line may lack its end
        self._buffer += data

    def _take_lines(self) -> None:
        """Take what was read line by line, as far as there is room."""
        while len(self._lines) < MOST_WAITING:
            end = self._buffer.find(b"\n", self._scanned)
            if end < 0:
                self._scanned = len(self._buffer)
                break
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            if self._skipping:
                self._skipping = False
            elif line.strip():
                self._accept(line.decode("utf-8", "replace"))
        if self._scanned > MAX_REQUEST:
            self._buffer.clear()
            self._scanned = 0
            if not self._skipping:
                _reply_error("", INTERNAL_ERROR, "The line is too long.")
            self._skipping = True

    def _accept(self, text: str) -> None:
        self._count += 1
        self._lines.append(Line(text, f"{self._nonce}-{self._count}"))

    # -- to the daemon -------------------------------------------------------------------------

    def _send_due(self, now: float) -> None:
        for line in [line for line in self._lines if not line.number]:
            if line.trouble is not None and now - line.trouble > PATIENCE_SECONDS:
                self._give_up(line, f"Podium's daemon did not answer for {PATIENCE_SECONDS:g} s.")
            elif now >= line.pause_until and self._reachable(line, now):
                self._post(line)

    def _reachable(self, line: Line, now: float) -> bool:
        if self._connection is None and now >= self._connect_at:
            try:
                self._connection = Connection()
            except DaemonDown:
                self._put_off(now)
            except Failure as failure:
                self._give_up(line, failure.message)
                return False
        if self._connection is None:
            line.trouble = now if line.trouble is None else line.trouble
        return self._connection is not None

    def _put_off(self, now: float) -> None:
        self._connect_at = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _post(self, line: Line) -> None:
        assert self._connection is not None
        params = {"token": self._token, "message": line.text, "delivery": line.delivery}
        try:
            line.number = self._connection.post("mcp.message", params)
        except Failure as failure:
            self._give_up(line, failure.message)

    def _take_answers(self, connection: Connection) -> None:
        try:
            messages = connection.arrived()
        except ConnectionLost:
            connection.close()
            self._connection = None
            now = time.monotonic()
            if self._lines:
                self._put_off(now)
            for line in self._lines:
                line.number = None
                line.trouble = now if line.trouble is None else line.trouble
            return
        for message in messages:
            if "method" in message:  # that it stops, say
                continue
            # Without an id it is for every line under way: that there is no room, for example.
            number = message.get("id")
            told = [line for line in self._lines if line.number and number in (None, line.number)]
            for line in told:
                self._answer(line, message)

    def _answer(self, line: Line, message: dict[str, Any]) -> None:
        error = message.get("error")
        if error is None:
            self._pause = FIRST_PAUSE_SECONDS
            self._lines.remove(line)
            reply = (message.get("result") or {}).get("reply")
            if reply is not None:
                _write(reply)
        elif error.get("code") == OVERLOADED:
            now = time.monotonic()
            line.number = None
            line.trouble = now if line.trouble is None else line.trouble
            wait_ms = (error.get("data") or {}).get("retry_after_ms") or 1000
            line.pause_until = now + min(wait_ms / 1000, PATIENCE_SECONDS)
        else:
            self._give_up(line, str(error.get("message")), error.get("code"))

    def _give_up(self, line: Line, words: str, code: object = None) -> None:
        self._lines.remove(line)
        _reply_error(line.text, code if code in OWN_CODES else INTERNAL_ERROR, words)


def _reply_error(text: str, code: object, words: str) -> None:
    """Answer the agent's line with an error, as the daemon did not answer it."""
    try:
        message = wire.decode(text.encode())
    except ValueError:
        ids: list[Any] = [None]
    else:
        entries = message if isinstance(message, list) else [message]
        ids = [one["id"] for one in entries if isinstance(one, dict) and "id" in one]
    error = {"code": code, "message": words}
    replies = [{"jsonrpc": "2.0", "id": one, "error": error} for one in ids]
    if replies:
        _write(replies if text.lstrip().startswith("[") else replies[0])


def _write(reply: Any) -> None:
    data = memoryview(f"{wire.encode(reply)}\n".encode("ascii"))
    while data:
        try:
            data = data[os.write(OUTPUT, data) :]
        except BlockingIOError:  # the agent's end of it does not block, so ours does not either
            select.select([], [OUTPUT], [])
