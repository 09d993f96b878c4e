"""Identity of a page: by the key in its cookie and the secret of its origin, both."""

from __future__ import annotations

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.cookie import key_of
from podiumd.gateway.access.devices import Device, Devices


class PageAccess:
    """Checks pages. ``port`` is the gateway's own, which the cookie is named after."""

    def __init__(self, devices: Devices, throttle: AuthThrottle) -> None:
        self.devices = devices
        self.port = 0
        self._throttle = throttle

    def shut_out(self, peer: str) -> float:
        """Return for how many seconds no key of this address is looked at."""
        return self._throttle.delay(peer)

    def device_of(self, peer: str, cookie: str, secure: bool, secret: str) -> Device | None:
        """Return the page that sends this ``Cookie`` header and this secret."""
        device = self.devices.check_page(key_of(cookie, self.port, secure), secret)
        if device is None:
            self._throttle.wrong(peer)
        else:
            self._throttle.right(peer)
        return device
