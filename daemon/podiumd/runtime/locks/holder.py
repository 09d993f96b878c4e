"""The holder of a session or a working tree: the record in a lock file."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from podiumd.runtime.errors import Busy
from podiumd.wire.sessions import LockHolder

RECORD_BYTES = 1024
"""A record is padded with blanks to a multiple of this, so that rewriting it is one write."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A holder of a lease.

    ``kind`` is ``run`` or ``prompt`` for work of a Podium daemon of this user (``id`` is the run's
    id, ``turn_id`` the turn's, ``state_directory`` distinguishes the daemons), else ``foreign``: a
    process that Podium did not start, or one that is not known at all (then ``pid`` is ``None``).
    ``since`` is the wire form of a time. ``session_id`` or ``working_directory`` is what is held.
    ``status`` is known of foreign holders only.
    """

    kind: Literal["run", "prompt", "foreign"]
    id: str | None = None
    turn_id: str | None = None
    pid: int | None = None
    state_directory: str | None = None
    since: str | None = None
    session_id: str | None = None
    working_directory: str | None = None
    status: Literal["busy", "idle"] | None = None

    def same_work(self, other: Holder) -> bool:
        """Return whether both are the same run of the same daemon's (the pid may differ)."""
        mine = (self.state_directory, self.id)
        return None not in mine and mine == (other.state_directory, other.id)

    def same_turn(self, other: Holder) -> bool:
        """Return whether both are the same turn of the same run."""
        same = self.turn_id is not None and self.turn_id == other.turn_id
        return same and self.same_work(other)

    def public(self) -> LockHolder:
        """Return the ``holder`` of the public contract: kind, id or pid, since."""
        return LockHolder(kind=self.kind, id=self.id, pid=self.pid, since=self.since)


CLOSE_OR_FORK = "Close it there, or fork the session."
"""Advice where a program that Podium did not start has a session open."""

UNKNOWN = Holder(kind="foreign")


def encode_record(holder: Holder) -> bytes:
    """Encode the record as one padded line of JSON. Text that is not UTF-8 is replaced."""
    values = {
        key: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for key, value in msgspec.structs.asdict(holder).items()
        if value is not None
    }
    line = msgspec.json.encode(values)
    padded = -(-(len(line) + 1) // RECORD_BYTES) * RECORD_BYTES
    return line.ljust(padded - 1) + b"\n"


def decode_record(raw: bytes) -> Holder:
    """Decode the holder of a record; ``UNKNOWN`` for an empty, torn or foreign one."""
    try:
        return msgspec.json.decode(raw, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNKNOWN


def busy(
    holder: Holder,
    *,
    session_id: str | UnsetType = UNSET,
    working_directory: str | UnsetType = UNSET,
) -> Busy:
    """Build the refusal that names the holder and what it holds."""
    public = holder.public()
    who = {"run": "a run", "prompt": "a prompt", "foreign": "another program"}[holder.kind]
    held = working_directory if session_id is UNSET else session_id
    name = holder.id or (f"pid {holder.pid}" if holder.pid is not None else "unknown")
    words = f"{held} is held by {who} ({name})."
    refused = Busy(words, public, session_id=session_id, working_directory=working_directory)
    if holder.kind == "foreign" and holder.session_id is not None:
        refused.data.fix = CLOSE_OR_FORK
    return refused
