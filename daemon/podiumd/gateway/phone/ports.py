"""The view of a phone for the feed and the voice: where its messages go, and how it wants them."""

from __future__ import annotations

from typing import Protocol


class PhoneSettings(Protocol):
    """Settings of a phone for its messages.

    ``version``: of the protocol. ``legacy``: it speaks none of the numbered versions. ``budget``:
    bytes that a frame may have. ``directory``: where an older app means what it sends without one.
    """

    version: str
    legacy: bool
    budget: int
    directory: str | None

    @property
    def chains(self) -> bool:
        """Return whether it asks on where an answer is not complete."""
        ...


class PhoneLink(PhoneSettings, Protocol):
    """A connected phone. ``revoked``: its key was taken back, and nothing is sent any more."""

    device: str
    revoked: bool

    @property
    def pending(self) -> int:
        """Bytes that its socket has not taken yet."""
        ...

    def send(self, payload: bytes) -> None:
        """Send one message; never waits."""
        ...

    def send_frame(self, frame: bytes) -> None:
        """Send a ready-made frame; never waits."""
        ...

    async def room(self) -> None:
        """Wait until its socket takes more. Raises ``Closed``."""
        ...

    async def commands(self, directory: str | None) -> bytes:
        """Make the message that says what may be run in a directory, and anywhere."""
        ...

    def speaks_in(self, session_id: str) -> None:
        """Note that its person prompts in a session, be it on the screen or not."""
        ...
