"""The bounds of the RPC edge, each with its unit and its reason."""

from __future__ import annotations

import msgspec


class RpcLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one daemon for its local clients.

    Attributes:
        connections: at once; a person's shells, scripts and phones are far fewer.
        followers: connections that may have feeds; the others are kept for clients that ask and
            answer.
        line_bytes: of one request line; beyond it the connection ends.
        batch_entries: requests in one batch; more would hold up all other clients.
        batch_bytes: of answers that one batch may gather; its further requests are refused.
        requests: of one connection that may wait at once, each a task.
        entries: requests that the batches of one connection which are at work may have together.
        feeds: of one connection.
        outbox_bytes: unread bytes of one client before it has to catch up.
        slow_seconds: that a subscriber with a full outbox gets before it is cut loose.
        flush_seconds: that a closing connection gets for its last bytes.
        drain_seconds: that requests in hand and feeds get when the daemon stops.
    """

    connections: int = 256
    followers: int = 248
    line_bytes: int = 16 * 1024 * 1024
    batch_entries: int = 1000
    batch_bytes: int = 16 * 1024 * 1024
    requests: int = 64
    entries: int = 2000
    feeds: int = 16
    outbox_bytes: int = 4 * 1024 * 1024
    slow_seconds: float = 10.0
    flush_seconds: float = 1.0
    drain_seconds: float = 3.0
