"""Messages read back from a transcript by their places, ready to be sent."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from podiumd.formats.session import Cursor, SessionFormat, uuid_of
from podiumd.sessions.log.numbered import Place
from podiumd.wire.sessions import Message


class Moved(Exception):
    """A place holds other bytes than the message: the transcript was rewritten meanwhile."""


class Encoded(msgspec.Struct, frozen=True):
    """A message as JSON, with the number that it bears.

    ``garbled``: its line is not UTF-8, and what is not is U+FFFD in it.
    """

    seq: int
    data: bytes
    garbled: bool


_encoder = msgspec.json.Encoder()
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def read(format: SessionFormat, path: str, places: Iterable[Place], budget: int) -> list[Encoded]:
    """Read messages in the order of ``places`` until they come to ``budget`` bytes of JSON.

    The first is read at any size; the one that goes over the budget is left out. Raises ``Moved``,
    and ``OSError`` when the transcript cannot be read.
    """
    found: list[Encoded] = []
    descriptor: int | None = None
    try:
        for place in places:
            line = b""
            if place.gone:
                message = _gone(place)
            else:
                if descriptor is None:
                    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                line = os.pread(descriptor, place.length, place.offset)
                message = _decode(format, place, line)
            data = _encoder.encode(message)
            budget -= len(data)
            if budget < 0 and found:
                break
            garbled = _REPLACEMENT in data and not _is_utf8(line)
            found.append(Encoded(place.seq, data, garbled))
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return found


def _decode(format: SessionFormat, place: Place, line: bytes) -> Message:
    message = format.message(line)
    entries = format.entries(Cursor(), line + b"\n")  # some of what is within it, perhaps
    whole = {entry.identity for entry in entries if entry.length == len(line)}
    if message is None or place.identity not in whole:
        raise Moved
    return Message(
        seq=place.seq,
        uuid=message.uuid,
        role=message.role,
        text=message.text,
        timestamp=message.timestamp,
        blocks=message.blocks,
        forks_from=place.forks_from if place.fork else None,
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _gone(place: Place) -> Message:
    return Message(
        seq=place.seq,
        uuid=uuid_of(place.identity),
        role=place.role,
        text="",
        timestamp="",
        blocks=(),
        gone=True,
    )
