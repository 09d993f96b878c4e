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


def sniff(head: bytes) -> str | None:
    """Return the format (of ``podiumd.speech.api.FORMATS``) that the first 64 bytes show."""
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "wav"
    if head[4:8] == b"ftyp" or head[4:8] == b"styp":
        return "m4a" if head[8:12] == b"M4A " else "mp4"
    if head[:3] == b"ID3" or _is_mpeg_audio(head):
        return "mp3"
    starts = {b"OggS": "ogg", b"\x1aE\xdf\xa3": "webm", b"caff": "caf", b"fLaC": "flac"}
    return starts.get(head[:4])


def _is_mpeg_audio(head: bytes) -> bool:
    """Return whether it is a frame of MPEG audio, layer III, with valid bit and sample rates."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return False
    return head[2] & 0xF0 not in (0x00, 0xF0) and head[2] & 0x0C != 0x0C
