"""The protocol of daemon and worker: frames to its standard input, JSON lines back.

A frame is the length of what follows (4 bytes, big-endian), one byte that says what it is, the
number of the job (4 bytes, big-endian), and its content: JSON, but for audio, which is as it came.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podiumd.speech.api import Heard

HEAD_BYTES: Final = 4
LARGEST_FRAME: Final = 1_048_576

SETUP: Final = b"S"
OPEN: Final = b"O"
DATA: Final = b"D"
END: Final = b"E"
CANCEL: Final = b"C"


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame: which model, with which hashes (SHA-256 by file), and the bounds.

    ``threads``: 0 is what suits the model. ``max_seconds`` of audio and ``max_bytes`` of what comes
    for one job. ``niceness``: how much the worker gives way.
    """

    model: str
    hashes: dict[str, str] = {}
    threads: int = 0
    max_seconds: int = 600
    max_bytes: int = 64 * 1_048_576
    niceness: int = 10


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A job begins; its audio follows."""

    format: str
    sample_rate: int = 16_000
    language: str | None = None
    partials: bool = True
    hotwords: tuple[str, ...] = ()


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a job's audio: it is complete."""

    hotwords: tuple[str, ...] = ()


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The model is loaded."""

    multilingual: bool


class Working(msgspec.Struct, frozen=True, tag="working"):
    """A sign of life from within a long job."""

    job: int


class Partial(msgspec.Struct, frozen=True, tag="partial"):
    """The text so far of a job."""

    job: int
    text: str


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """A job is done."""

    job: int
    heard: Heard


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The audio of a job is at fault; see ``AudioError``."""

    job: int
    code: str
    message: str


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """The worker cannot work at all, and ends."""

    message: str


Line = Ready | Working | Partial | Answered | Refused | Broken

encode_line: Final = msgspec.json.Encoder().encode
decode_line: Final = msgspec.json.Decoder(Line).decode


def frame(kind: bytes, job: int, content: bytes) -> bytes:
    """Build a frame as it goes through the pipe."""
    body = kind + job.to_bytes(4, "big") + content
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def message(kind: bytes, job: int, content: msgspec.Struct) -> bytes:
    """Build a frame of JSON."""
    return frame(kind, job, msgspec.json.encode(content))


def take_apart(body: bytes) -> tuple[bytes, int, bytes]:
    """Kind, job and content of a frame without its length. Raises ValueError."""
    if len(body) < 5:
        raise ValueError(f"a frame of {len(body)} bytes")
    return body[:1], int.from_bytes(body[1:5], "big"), body[5:]
