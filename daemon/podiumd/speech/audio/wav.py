"""PCM16 with a head, as servers and people's players want it."""

from __future__ import annotations

import struct
from typing import Final

HEAD_BYTES: Final = 44


def head(length: int, rate: int) -> bytes:
    """Build the head of a WAV file of one channel with so many bytes of samples."""
    form = struct.pack("<4sI4s", b"RIFF", HEAD_BYTES - 8 + length, b"WAVE")
    kind = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    return form + kind + struct.pack("<4sI", b"data", length)


def rate_of(head: bytes) -> int:
    """Return the sample rate that a head gives; 0 where there is none."""
    return int.from_bytes(head[24:28], "little")
