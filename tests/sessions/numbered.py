"""Messages to number, for the tests of the log."""

from __future__ import annotations

from podiumd.formats.message import Role
from podiumd.formats.session import Entry
from podiumd.sessions.log.numbered import Log

SESSION = "5f1c8a52-0000-4000-8000-000000000001"


def name(number: int) -> bytes:
    """An identity that looks as random as a uuid does."""
    return (number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128).to_bytes(16, "little")


def entry(
    number: int, offset: int | None = None, role: Role = "user", parent: str | None = None
) -> Entry:
    """Message ``number``; without an offset it stands in a file of lines of 100 bytes."""
    return Entry(number * 100 if offset is None else offset, 99, name(number), role, parent)


def entries(count: int, first: int = 0) -> list[Entry]:
    return [entry(number) for number in range(first, first + count)]


def log_of(*numbers: int) -> Log:
    log = Log(SESSION)
    log.append([entry(number) for number in numbers])
    return log


def seqs(log: Log) -> dict[bytes, int]:
    """Every identity with its seq."""
    return {place.identity: place.seq for place in log.places(1, log.last_seq)}
