"""Records of the store: facts, runs and ledgers, and the checksum that guards each."""

from __future__ import annotations

import hashlib

import msgspec

CHECKSUM_BYTES = 16


class NewFact(msgspec.Struct, frozen=True):
    """A fact as the core decided it. ``data`` is JSON, ``at`` RFC 3339 UTC."""

    type: str
    version: int
    at: str
    session_id: str | None
    data: bytes


class StoredFact(msgspec.Struct, frozen=True):
    """A fact in the log.

    ``pos`` counts all facts and ``seq`` those of one run, both from 1. ``pos`` has holes where
    old runs were forgotten, ``seq`` has none.
    ``data`` is JSON and is passed through as it is when the struct itself is encoded.
    """

    pos: int
    seq: int
    run_id: str
    type: str
    version: int
    at: str
    session_id: str | None
    data: msgspec.Raw


class RunRow(msgspec.Struct, frozen=True):
    """The last known state of a run, for lists; the truth is in its facts.

    ``summary`` is the public ``run`` as JSON. ``intact`` is False for a row that no longer is
    what was stored: fold the run's facts and store it again.
    """

    run_id: str
    kind: str
    status: str
    session_id: str | None
    working_directory: str
    started_at: str
    ended_at: str | None
    summary: bytes
    intact: bool = True


class TokenRow(msgspec.Struct, frozen=True):
    """The run that a client token started, and the digest of the parameters it came with."""

    params_digest: str
    run_id: str
    at: str


class Ledger(msgspec.Struct, frozen=True):
    """The numbers of a session's messages, for when its transcript no longer shows them.

    ``entries`` is what ``Log.ledger`` made in ``generation``. ``row`` is the JSON of a session
    whose transcript is gone, else None. ``intact`` is False for one that no longer is what was
    stored: only ``session_id`` is to be believed, and the rest is empty.
    """

    session_id: str
    generation: int
    entries: bytes
    row: bytes | None = None
    intact: bool = True

    def checksum(self) -> bytes:
        """Return the checksum of its row in the database."""
        row = self.row or b""
        fields = (self.session_id, self.generation, len(self.entries), self.row is None)
        return checksum(self.entries + row, *fields)


def checksum(data: bytes, *fields: object) -> bytes:
    """Return the checksum of one row: each field with type and length, so no two rows look alike.

    Text that is not UTF-8 (read from a damaged file with ``surrogateescape``) is digested as the
    bytes it came from, and so never matches.
    """
    parts = []
    for value in fields:
        text = f"{type(value).__name__} {value}"
        parts.append(f"{len(text)}:{text}")
    digest = hashlib.blake2b(
        "".join(parts).encode("utf-8", "surrogateescape"), digest_size=CHECKSUM_BYTES
    )
    digest.update(data)
    return digest.digest()
