"""Define the part of a connected phone that its feed and its voice use: what it wants, where to
send."""

from __future__ import annotations

from typing import Final

from podiumd.gateway.phone.protocol import budget, requests, versions
from podiumd.gateway.websocket import WebSocket

MOST_KNOWN: Final = 1000
"""Sessions that a phone is taken to know; one that was forgotten is reported once more when it
changes."""

MOST_PROMPTED: Final = 500


class SessionIds:
    """Ids of sessions, at most ``most``: what was added longest ago is forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: dict[str, None] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._ids

    def add(self, *session_ids: str) -> None:
        """Keep these, as the latest."""
        for session_id in session_ids:
            self._ids.pop(session_id, None)
            self._ids[session_id] = None
        while len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]

    def discard(self, session_id: str) -> None:
        """Forget this one."""
        self._ids.pop(session_id, None)


class PhoneLink:
    """The way to a connected phone. Sending never waits.

    ``device`` is empty before it has authenticated. ``version``: of the protocol. ``legacy``: it
    speaks none of the numbered versions. ``budget``: bytes that a frame may have. ``recents``: how
    many sessions its list of recent ones has. ``directory``: where an older app means what it sends
    without one. ``revoked``: its key was taken back, and nothing is sent to it any more.

    ``known``: the sessions that it knows or wants to hear nothing of. An app makes its row of a
    session from ``session_list`` and ``session_created`` alone: one that only stands in
    ``recent_sessions`` cannot be opened there. ``prompted``: those in which its person has
    prompted, be they on the screen or not.
    """

    def __init__(self, socket: WebSocket) -> None:
        self.device = ""
        self.version = versions.FLOOR
        self.legacy = False
        self.budget = budget.DEFAULT_BYTES
        self.recents = requests.RECENT
        self.directory: str | None = None
        self.revoked = False
        self.known = SessionIds(MOST_KNOWN)
        self.prompted = SessionIds(MOST_PROMPTED)
        self._socket = socket

    @property
    def peer(self) -> str:
        """Return its address."""
        return self._socket.peer

    @property
    def pending(self) -> int:
        """Bytes that its socket has not taken yet."""
        return self._socket.pending

    @property
    def chains(self) -> bool:
        """Return whether it asks on where an answer is not complete.

        An app of the newest version does too, and reads aloud what it gets then; those of none do
        not.
        """
        return not self.legacy and self.version != versions.CEILING

    def send(self, payload: bytes) -> None:
        """Send one message."""
        if not self.revoked:
            self._socket.send(payload)

    def send_frame(self, frame: bytes) -> None:
        """Send a ready-made frame."""
        if not self.revoked:
            self._socket.send_frame(frame)

    async def room(self) -> None:
        """Wait until its socket takes more. Raises ``Closed``."""
        await self._socket.room()
