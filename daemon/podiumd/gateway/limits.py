"""The bounds of the gateway, each with its unit and its reason."""

from __future__ import annotations

from typing import Final

import msgspec

KIB: Final = 1024
MIB: Final = 1024 * KIB


class GatewayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the gateway for all that can reach its port.

    A stranger is a connection that has not authenticated yet.

    Attributes:
        connections: at once, strangers or not.
        strangers: at once, over all addresses; beyond it one of them makes room for the next.
        known_strangers: of one address from which a right key came lately, that make room last.
        strangers_per_address: of any kind, of one address that is not loopback; less than
            ``strangers``, so that one address cannot shut out the others.
        strange_phones_per_address: WebSockets, of one address that is not loopback.
        strange_phones_on_loopback: the same for this machine: tunnels and proxies end here.
        visitors: connections that wait between two files of the page, in all and of one address.
        visitors_per_address: but not of this machine's own; a browser opens six.
        visit_seconds: that a visitor may wait until it asks for the next file.
        tls_seconds: for the TLS handshake.
        head_bytes: of one request head.
        head_seconds: for a request head, from its first byte (of the first one: from accepting).
        authenticate_seconds: from the opened WebSocket to ``authenticated``.
        idle_seconds: between two requests of one HTTP connection.
        body_stall_seconds: without a byte of a request's body.
        body_bytes_per_second: that a body, or a large message, has to come with on the whole,
            after the first ``body_stall_seconds``: else one byte now and then would hold a place
            among the large ones for ever.
        drain_bytes: of an unread body that are read to keep the connection.
        stranger_message_bytes: of one WebSocket message before authentication.
        message_bytes: of one WebSocket message after it.
        largest_message_bytes: that ``WebSocket.allow`` may grant; 100 MB in base64, and its JSON.
        large_messages: over ``message_bytes``, in memory at once in the whole gateway.
        room_bytes: unread by a client; with less there is room for bulk.
        most_pending_bytes: unread by a client; one that lets this much wait is dropped.
        stall_seconds: that a client may take no byte of what waits for it.
        ping_seconds: between two pings.
        pong_seconds: without a byte from the client after a ping.
        close_seconds: for the WebSocket closing handshake, and for the last bytes before a close.
        linger_seconds: that unread input is discarded so that our last words arrive.
        drain_seconds: that requests in hand get when the gateway stops, before they are answered
            to come again; for those words there are ``linger_seconds``.
        resource_pause_seconds: after accepting failed for want of descriptors or memory.
    """

    connections: int = 2048
    strangers: int = 64
    known_strangers: int = 16
    strangers_per_address: int = 16
    strange_phones_per_address: int = 4
    strange_phones_on_loopback: int = 32
    visitors: int = 64
    visitors_per_address: int = 12
    visit_seconds: float = 5.0
    tls_seconds: float = 10.0
    head_bytes: int = 16 * KIB
    head_seconds: float = 10.0
    authenticate_seconds: float = 10.0
    idle_seconds: float = 60.0
    body_stall_seconds: float = 30.0
    body_bytes_per_second: int = 32 * KIB
    drain_bytes: int = 64 * KIB
    stranger_message_bytes: int = 16 * KIB
    message_bytes: int = 16 * MIB
    largest_message_bytes: int = 140 * MIB
    large_messages: int = 2
    room_bytes: int = 256 * KIB
    most_pending_bytes: int = 4 * MIB
    stall_seconds: float = 30.0
    ping_seconds: float = 30.0
    pong_seconds: float = 20.0
    close_seconds: float = 2.0
    linger_seconds: float = 1.0
    drain_seconds: float = 3.0
    resource_pause_seconds: float = 0.1
