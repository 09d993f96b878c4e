"""Access to routes: for the bearer of a paired device's key, for as long as it is paired."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Device, Devices
from podiumd.gateway.http.exchange import Problem, Request

CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="podium"'),)
_NOT_AUTHENTICATED: Final = "Send the key of a paired device as 'Authorization: Bearer KEY'."


class DeviceAccess:
    """Checks keys; a revoked device's requests end at once."""

    def __init__(self, devices: Devices, throttle: AuthThrottle) -> None:
        self._devices = devices
        self._throttle = throttle
        self._requests: dict[trio.CancelScope, str] = {}
        devices.on_revoke(self._cut)

    @contextmanager
    def require_device(self, request: Request) -> Iterator[Device]:
        """Require the key of a paired device; yield the device that sent a request.

        The work within ends when the device is revoked, and it counts as connected for so long.

        Raises ``Problem``: 401, the same for every fault of the key, or 429 while its address is
        shut out, even with a right key.
        """
        device = self._known(request)
        request.authenticated()
        with trio.CancelScope() as scope:
            self._requests[scope] = device.name
            try:
                with self._devices.connected(device.name):  # it is paired at this very moment
                    yield device
            finally:
                del self._requests[scope]
        if scope.cancel_called:  # an answer that is just ready is not for it either
            raise refused()

    def _known(self, request: Request) -> Device:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise refused()
        delay = self._throttle.delay(request.peer)
        if delay > 0:
            self._throttle.put_off(request.peer)
            raise _shut_out(delay)
        device = self._devices.check(key.strip())
        if device is None:
            self._throttle.wrong(request.peer)
            raise refused()
        self._throttle.right(request.peer)
        return device

    def _cut(self, name: str) -> None:
        for scope, device in self._requests.items():
            if device == name:
                scope.cancel()


def refused() -> Problem:
    """Return the one answer to a client that is not let in. ``success`` and ``error`` are what
    phone apps read of an answer to an upload."""
    words = _NOT_AUTHENTICATED
    return Problem(401, "Not authenticated", words, CHALLENGE, success=False, error=words)


def _shut_out(delay: float) -> Problem:
    seconds = str(math.ceil(delay))
    words = f"Too many wrong keys came from this address: try again in {seconds} s."
    wait = (("Retry-After", seconds),)
    return Problem(429, "Too many wrong keys", words, wait, success=False, error=words)
