"""An app on a client's connection: what is sent goes through the rules of the app's code."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.phone_app.model import PhoneModel
from tests.phone_app.variants import VARIANTS


class App:
    """A phone with an app on it. ``model`` is the app, ``line`` its connection."""

    def __init__(self, server: PhoneServer, model: PhoneModel) -> None:
        self.model = model
        self.client = PhoneClient("")
        self._office = server
        self._taken = 0
        self.call()

    def call(self) -> None:
        """Make a connection, the one before being gone."""
        if self._taken:
            self.client.hang_up()
            self.model.closed()
        self.client, self._taken = self._office.dial(), 0

    def turn(self) -> None:
        """Take what has come, and send what the app answers."""
        while self._taken < len(self.client.sent) or self.model.out:
            while self.model.out:
                frame = self.model.out.popleft()
                self.client.write(frame if isinstance(frame, bytes) else json.dumps(frame))
            if self._taken < len(self.client.sent):
                self._taken += 1
                frame = self.client.sent[self._taken - 1]
                self.model.received(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))

    async def settled(self) -> None:
        """Wait until all that the app asked for is answered, and what it asked for then."""
        taken = -1
        while taken != self._taken - 1:  # more came than the pong
            self.turn()
            taken = self._taken
            self.model.sync.ping()
            self.turn()
            await self.client.hears("pong", len(self.client.of("pong")) + 1)
            self.turn()

    async def shows(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, taking whatever comes."""
        while not condition():
            await self.client.until(lambda: self._taken < len(self.client.sent))
            self.turn()
        await self.settled()

    async def up(self) -> None:
        """Wait until it was let in and has all it needs."""
        while not self.model.connected:
            await self.client.until(lambda: self._taken < len(self.client.sent))
            self.turn()
        await self.settled()


async def app(server: PhoneServer, variant: str = "ios") -> App:
    """An app that was let in."""
    _, key = await server.devices.pair(None)
    made = App(server, PhoneModel(key, VARIANTS[variant]))
    await made.up()
    return made
