"""An app that speaks over a line which is cut anywhere: what is heard is what was said."""

from __future__ import annotations

import json
import random
from collections import deque

import pytest

from tests.gateway.phone.office import Line, Office
from tests.long import sampled
from tests.phone_app.fields import Fault
from tests.phone_app.fields import Json as Frame
from tests.phone_app.voice import Utterance, Voice

KINDS = ("voice_ready", "voice_partial", "voice_transcript", "voice_error")
CUTS = 12


class App:
    """The simulated app, and how much of what it sends and hears gets through."""

    def __init__(self, office: Office, key: str, chance: random.Random) -> None:
        self.faults: list[Fault] = []
        self.voice = Voice(self._send, self.faults)
        self._office = office
        self._key = key
        self._chance = chance
        self._out: deque[Frame | bytes] = deque()
        self._line: Line | None = None
        self._heard = 0

    def _send(self, frame: Frame | bytes) -> None:
        self._out.append(frame)

    async def connect(self) -> None:
        self._line, self._heard = await self._office.connected(self._key), 0
        self.voice.connected()

    async def exchange(self, *, whole: bool) -> None:
        """Let messages go to and fro until nothing is left, or, where the line breaks, only some
        of them; then it is cut."""
        assert self._line is not None
        while True:
            while self._out and (whole or self._chance.random() < 0.9):
                frame = self._out.popleft()
                self._line.write(frame if isinstance(frame, bytes) else json.dumps(frame))
            await self._line.caught_up()
            told = [one for one in self._line.sent if one["type"] in KINDS]
            lost = 0 if whole else self._chance.randint(0, 1)
            for one in told[self._heard : len(told) - lost]:
                self.voice.take(one)
            self._heard = len(told)
            if not self._out or not whole:
                break
        if not whole:
            self._line.hang_up()
            self._out.clear()
            self.voice.disconnected()

    async def answered(self, said: Utterance) -> None:
        """Wait for what an utterance comes to."""
        while said.result is None:
            assert self._line is not None
            await self._line.hears("voice_transcript")
            await self.exchange(whole=True)


@pytest.mark.parametrize("seed", sampled(range(20), 4))
async def test_what_is_said_over_a_line_that_is_cut_is_heard_once_and_whole(
    office: Office, seed: int
) -> None:
    """P-15.10"""
    chance = random.Random(seed)
    office.ears.says("All of it")
    _, key = await office.devices.pair("phone")
    app = App(office, key, chance)
    await app.connect()
    said = app.voice.begin("u1", "pcm16")
    spoken = []
    for _ in range(CUTS):
        for _ in range(chance.randint(0, 5)):
            spoken.append(chance.randbytes(chance.randint(1, 300)))
            app.voice.add(said, spoken[-1])
        await app.exchange(whole=False)
        await app.connect()
    app.voice.end(said)
    await app.exchange(whole=True)
    await app.answered(said)
    assert office.ears.heard == [b"".join(spoken)]
    assert said.result is not None and said.result["text"] == "All of it"
    assert app.faults == []
