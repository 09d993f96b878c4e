"""A process that reads transcripts for the daemon: decoding them would hold up all its threads.

It answers requests on standard input in their turn, and ends when that is closed: with the daemon,
however that ends. A message, either way, is its length in 4 bytes (big-endian), then MessagePack.
It keeps nothing, writes nothing and imports only what it needs, to start fast and stay small.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final

import msgspec

from podiumd.formats.session import SessionFormat
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Found
from podiumd.sessions.index.update import Update, update

NICENESS: Final = 10
"""Everything else that the person does comes first."""

LENGTH_BYTES: Final = 4

Request = list[tuple[Found, Row | None]]
Answer = list[Update]
"""Updates of the files that could be read, in their order."""

_requests: Final = msgspec.msgpack.Decoder(Request)
_encode: Final = msgspec.msgpack.Encoder().encode


def framed(message: bytes) -> bytes:
    """Frame a message as it goes through a pipe."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


def read_all(formats: Mapping[str, SessionFormat], request: Request) -> Answer:
    """Bring sessions up to date, without their logs. What cannot be read is left out. Blocking."""
    results = (update(formats[found.agent], found, row) for found, row in request)
    return [result for result in results if isinstance(result, Update)]


def formats_of(arguments: Sequence[str]) -> Mapping[str, SessionFormat]:
    """Return the formats by the name of the agent.

    ``AGENT=FORMAT`` is an agent that is not called as its format.
    """
    pairs = (argument.partition("=") for argument in arguments)
    return {**FORMATS, **{agent: FORMATS[form] for agent, _, form in pairs}}


def serve(
    requests: BinaryIO, answers: BinaryIO, formats: Mapping[str, SessionFormat] = FORMATS
) -> None:
    """Answer until no more is asked, or no process reads the answers."""
    while head := requests.read(LENGTH_BYTES):
        request = _requests.decode(requests.read(int.from_bytes(head, "big")))
        try:
            answers.write(framed(_encode(read_all(formats, request))))
            answers.flush()
        except BrokenPipeError:
            return


def main() -> None:
    """Be such a process."""
    os.nice(NICENESS)
    serve(sys.stdin.buffer, sys.stdout.buffer, formats_of(sys.argv[1:]))
