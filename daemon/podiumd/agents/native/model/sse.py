"""Server-sent events, without input or output: bytes in, events out, both bounded."""

from __future__ import annotations

from typing import Final, NamedTuple

LONGEST_EVENT: Final = 4 * 1024 * 1024  # bytes, of one line and of one event's data alike
_BOM: Final = b"\xef\xbb\xbf"


class StreamError(ValueError):
    """The stream is not what it claims to be; the text says how."""


class ServerEvent(NamedTuple):
    """A server-sent event; ``name`` is empty where the server gave none."""

    name: str
    data: str


class EventParser:
    """Feed it bytes as they come; an event is complete with the empty line after it."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_return = False  # a line feed that follows belongs to the carriage return
        self._at_start = True
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Return the events that ``data`` completes. Raises ``StreamError`` at what is too long."""
        events = []
        if self._after_return and data:
            data = data.removeprefix(b"\n")
            self._after_return = False
        if data.endswith(b"\r"):
            self._after_return = True
        # Only CR, LF and CRLF end a line here, as in bytes.splitlines.
        for piece in data.splitlines(keepends=True):
            self._line += piece
            if len(self._line) > LONGEST_EVENT:
                raise StreamError(f"a line is longer than {LONGEST_EVENT} bytes")
            if piece.endswith((b"\r", b"\n")):
                line = bytes(self._line.rstrip(b"\r\n"))
                self._line.clear()
                event = self._take(line)
                if event is not None:
                    events.append(event)
        return events

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"data":
            self._size += len(value) + 1
            if self._size > LONGEST_EVENT:
                raise StreamError(f"an event is longer than {LONGEST_EVENT} bytes")
            self._data.append(value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        if not data:
            return None
        return ServerEvent(name, b"\n".join(data).decode("utf-8", "replace"))
