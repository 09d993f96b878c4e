"""WebSocket frames by hand (RFC 6455, section 5): what the server sends, and how large the
messages are that arrive. Pure.
"""

from __future__ import annotations

from typing import Final

PING: Final = b"\x89\x00"
_CLOSE: Final = 0x88
_TEXT: Final = 0x81
_FINAL: Final = 0x80
_CONTROL: Final = 0x08
_OPCODE: Final = 0x0F
_MASKED: Final = 0x80
_REASON_BYTES: Final = 123
FRAGMENT_BYTES: Final = 64
"""Bytes counted for a fragment after the first beside its payload, for it costs memory too: else a
message of endlessly many empty ones would never be too large."""


def text_frame(payload: bytes) -> bytes:
    """Return a whole text message in one unmasked frame; ``payload`` is UTF-8."""
    size = len(payload)
    if size < 126:
        return bytes((_TEXT, size)) + payload
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload


def close_frame(code: int, reason: str = "") -> bytes:
    """Return a close frame; ``reason`` is cut to what a control frame can hold."""
    text = reason.encode()[:_REASON_BYTES].decode(errors="ignore").encode()
    return bytes((_CLOSE, 2 + len(text))) + code.to_bytes(2, "big") + text


def is_close_frame(data: bytes) -> bool:
    """Return whether the bytes to be sent begin with a close frame."""
    return data[:1] == b"\x88"


class Meter:
    """Follows the frames of one client through their headers alone.

    ``begun`` is how large the message in progress is by its own account, in bytes, and so much
    more for each of its fragments; ``messages`` is how many have ended. Whether the frames are
    well formed is for the protocol's own parser.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.messages = 0
        self._header = bytearray()
        self._payload = 0  # bytes of the current frame still to come
        self._ends_message = False

    @property
    def coming(self) -> int:
        """Bytes of the frame in progress that are still to come, as far as its header is here."""
        return self._payload

    def feed(self, data: bytes | bytearray) -> int:
        """Follow more bytes; returns the size of the largest message seen in them, so far."""
        largest = 0
        at = 0
        while at < len(data):
            if self._payload:
                skipped = min(self._payload, len(data) - at)
                self._payload -= skipped
                at += skipped
            elif not self._header and len(data) - at >= 6 and _is_short(data[at + 1]):
                self._begin_frame(data[at], data[at + 1] & 0x7F)  # as nearly all are
                at += 6
            else:
                wanted = self._header_size() - len(self._header)
                self._header += data[at : at + wanted]
                at += wanted
                if len(self._header) >= self._header_size():
                    self._begin_frame(self._header[0], self._announced())
                    self._header.clear()
            largest = max(largest, self.begun)
            if self._payload == 0 and self._ends_message:
                self._ends_message = False
                self.begun = 0
                self.messages += 1
        return largest

    def _header_size(self) -> int:
        if len(self._header) < 2:
            return 2
        size = {126: 4, 127: 10}.get(self._header[1] & 0x7F, 2)
        return size + 4 if self._header[1] & _MASKED else size

    def _announced(self) -> int:
        """Return the size that the header announces."""
        size = self._header[1] & 0x7F
        if size == 126:
            return int.from_bytes(self._header[2:4], "big")
        return int.from_bytes(self._header[2:10], "big") if size == 127 else size

    def _begin_frame(self, first: int, size: int) -> None:
        if not first & _CONTROL:
            self.begun += size if first & _OPCODE else size + FRAGMENT_BYTES
            self._ends_message = bool(first & _FINAL)
        self._payload = size


def _is_short(second: int) -> bool:
    """Return whether a header with this second byte has six bytes: masked, and no longer size."""
    return second & _MASKED != 0 and second & 0x7F < 126
