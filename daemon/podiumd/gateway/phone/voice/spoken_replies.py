"""Words for phones to say aloud: for those whose people talk with their agents.

A phone says at ``connect`` whether it wants them; one that has sent speech does, too, until it
says otherwise. That is kept for the device, over its connections, while the daemon runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import outgoing_tools


class SpokenReplies:
    """The devices that are spoken to, and the last words sent to each."""

    def __init__(self) -> None:
        self._devices: dict[str, str] = {}

    def wants(self, device: str, wanted: bool) -> None:
        """Set whether a device is to be spoken to."""
        if wanted:
            self._devices.setdefault(device, "")
        else:
            self._devices.pop(device, None)

    def speaks_to(self, device: str) -> bool:
        """Return whether a device is spoken to."""
        return device in self._devices

    def last(self, device: str) -> str:
        """Return the last words sent to a device, empty for none."""
        return self._devices.get(device, "")

    def tell(self, phones: Iterable[PhoneLink], session_id: str, text: str) -> None:
        """Have those of the phones say something of a session that are spoken to."""
        for phone in phones:
            if phone.device in self._devices:
                self._devices[phone.device] = text
                phone.send(outgoing_tools.speak(session_id, text, phone.budget))
