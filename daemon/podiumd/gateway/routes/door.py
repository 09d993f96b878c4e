"""Who may use a route: the bearer of a paired device's key, for as long as it is paired."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from podiumd.gateway.devices import Device, Devices
from podiumd.gateway.guard import Guard
from podiumd.gateway.http import Problem, Request
from podiumd.logs import log
from podiumd.runtime.errors import NotFound

CHALLENGE = (("WWW-Authenticate", 'Bearer realm="podium"'),)


class Door:
    """Checks keys; a revoked device's requests end at once."""

    def __init__(self, devices: Devices, guard: Guard) -> None:
        self._devices = devices
        self._guard = guard
        self._inside: dict[trio.CancelScope, str] = {}
        devices.on_revoke(self._cut)

    @contextmanager
    def opened(self, request: Request) -> Iterator[Device]:
        """The device that sent a request; what is done within ends when it is revoked.

        Raises ``Problem`` 401, the same for every fault of the key.
        """
        device = self._known(request)
        with trio.CancelScope() as scope:
            self._inside[scope] = device.name
            try:
                with self._devices.connected(device.name):
                    yield device
            except NotFound:
                raise _refused() from None
            finally:
                del self._inside[scope]
        if scope.cancelled_caught:
            raise _refused()

    def _known(self, request: Request) -> Device:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise _refused()
        if self._guard.delay(request.peer) > 0:
            log("Key not looked at", "warning", peer=request.peer, reason="too many wrong keys")
            raise _refused()
        device = self._devices.check(key.strip())
        if device is None:
            self._guard.wrong(request.peer)
            log("Wrong key", "warning", peer=request.peer)
            raise _refused()
        self._guard.right(request.peer)
        return device

    def _cut(self, name: str) -> None:
        for scope, device in self._inside.items():
            if device == name:
                scope.cancel()


def _refused() -> Problem:
    words = "Send the key of a paired device as 'Authorization: Bearer KEY'."
    return Problem(401, "Not authenticated", words, headers=CHALLENGE)
