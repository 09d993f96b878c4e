"""Spoken prompts: the same way as typed ones, and once however often they are said."""

from __future__ import annotations

import json
import random
from collections import deque

import pytest

from podiumd.gateway import fields
from podiumd.runtime.errors import Busy
from podiumd.wire.sessions import LockHolder
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer
from tests.gateway.phone.speaking import began, spoke
from tests.long import sampled
from tests.phone_app.fields import Fault
from tests.phone_app.fields import Json as Frame
from tests.phone_app.voice import Utterance, Voice
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine
from tests.sessions.support import line as record

PROMPT = {"deliver": "prompt"}


async def test_what_is_said_goes_to_the_agent_of_the_session(server: PhoneServer) -> None:
    """P-15.24"""
    client = await server.connected()
    first = await server.daemon.prompt("Hello")
    await server.record(first["session_id"], record(1, "Hello"))
    (await server.daemon.turn()).end(done())
    await server.daemon.service.run_gone(first["run_id"])
    server.engine.says("Now the tests")
    told = await spoke(client, session_id=first["session_id"], **PROMPT)
    assert (told["delivered"], told["session_id"]) == (True, first["session_id"])
    turn = await server.daemon.turn()
    assert (turn.prompt, turn.request.session_id) == ("Now the tests", first["session_id"])
    assert (await client.hears("ack"))["message"] == "Processing prompt..."
    turn.end(done(text="Done."))
    assert (await client.hears("turn_complete"))["session_id"] == first["session_id"]


async def test_a_new_session_begins_where_the_phone_is(
    server: PhoneServer, machine: Machine
) -> None:
    """P-15.24"""
    client = await server.connected()
    client.say("set_directory", path=str(machine.project))
    server.engine.says("Begin")
    told = await spoke(client, **PROMPT)
    turn = await server.daemon.turn()
    assert turn.request.session_id == told["session_id"]
    assert str(turn.request.working_directory) == str(machine.project)
    turn.complete()


async def test_words_without_a_place_are_not_lost(server: PhoneServer) -> None:
    """P-15.25"""
    client = await server.connected()
    server.engine.says("Begin")
    told = await spoke(client, **PROMPT)
    assert (told["text"], told["delivered"]) == ("Begin", False)
    assert "working directory" in (await client.hears("error"))["message"]


async def test_words_for_a_held_session_name_its_holder(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.25"""

    async def busy(_: object) -> None:
        raise Busy("It is held.", LockHolder(kind="foreign", pid=1), session_id="s")

    client = await server.connected()
    monkeypatch.setattr(server.daemon.service, "prompt", busy)
    server.engine.says("Hello")
    told = await spoke(client, session_id="s", **PROMPT)
    assert told["delivered"] is False
    error = await client.hears("error")
    assert (error["session_id"], error["holder"]["kind"]) == ("s", "foreign")


async def test_words_for_a_recipe_go_into_its_turn(server: PhoneServer, machine: Machine) -> None:
    client = await server.connected()
    _, turn = await server.daemon.begun(machine.one_step())
    server.engine.says("Mind the gap")
    await began(client, session_id=turn.request.session_id, **PROMPT)
    client.say("voice_end", utterance_id="u1")
    turn.begins_with(await turn.steered())
    assert (await client.hears("voice_transcript"))["delivered"] is True
    assert (await client.hears("ack"))["message"] == "Delivered into the running turn"
    assert list(turn.steers.values()) == ["Mind the gap"]
    turn.complete()


async def test_what_was_delivered_by_a_daemon_that_is_gone_is_not_sent_again(
    server: PhoneServer, machine: Machine
) -> None:
    """P-15.12"""
    client = await server.connected()
    client.say("set_directory", path=str(machine.project))
    server.engine.says("Once", "one's")
    told = await spoke(client, **PROMPT)
    (held,) = [lock for lock in await server.daemon.service.locks() if lock.session_id]
    (await server.daemon.turn()).complete()
    await server.daemon.service.run_gone(held.holder.id or "")
    server.hub.services.utterances._all.clear()  # what only its memory knew
    server.speech._utterances.clear()
    client.forget()
    again = await spoke(client, from_frame=1, **PROMPT)
    assert (again["delivered"], again["session_id"]) == (True, told["session_id"])
    assert client.of("ack") == []
    assert await server.daemon.service.locks() == []


async def test_words_that_no_agent_takes_are_kept(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "MOST_BYTES", 3)
    client = await server.connected()
    server.engine.says("Hello")
    told = await spoke(client, session_id="s", **PROMPT)
    assert (told["text"], told["delivered"]) == ("Hello", False)
    assert "attach a file" in (await client.hears("error"))["message"]


# -- an app that speaks over a line which is cut anywhere: what is heard is what was said


KINDS = ("voice_ready", "voice_partial", "voice_transcript", "voice_error")
CUTS = 12


class App:
    """The simulated app, and how much of what it sends and hears gets through."""

    def __init__(self, server: PhoneServer, key: str, chance: random.Random) -> None:
        self.faults: list[Fault] = []
        self.voice = Voice(self._send, self.faults)
        self._office = server
        self._key = key
        self._chance = chance
        self._out: deque[Frame | bytes] = deque()
        self._line: PhoneClient | None = None
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
    server: PhoneServer, seed: int
) -> None:
    """P-15.10"""
    chance = random.Random(seed)
    server.engine.says("All of it")
    _, key = await server.devices.pair("phone")
    app = App(server, key, chance)
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
    assert server.engine.heard == [b"".join(spoken)]
    assert said.result is not None and said.result["text"] == "All of it"
    assert app.faults == []
