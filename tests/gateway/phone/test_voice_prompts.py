"""Spoken prompts: the same way as typed ones, and once however often they are said."""

from __future__ import annotations

import pytest

from podiumd.gateway import fields
from podiumd.runtime.errors import Busy
from tests.gateway.phone.office import Office
from tests.gateway.phone.speaking import began, spoke
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine
from tests.sessions.support import line as record

PROMPT = {"deliver": "prompt"}


async def test_what_is_said_goes_to_the_agent_of_the_session(office: Office) -> None:
    """P-15.24"""
    line = await office.connected()
    first = await office.daemon.prompt("Hello")
    await office.record(first["session_id"], record(1, "Hello"))
    (await office.daemon.turn()).end(done())
    await office.daemon.service.run_gone(first["run_id"])
    office.ears.says("Now the tests")
    told = await spoke(line, session_id=first["session_id"], **PROMPT)
    assert (told["delivered"], told["session_id"]) == (True, first["session_id"])
    turn = await office.daemon.turn()
    assert (turn.prompt, turn.request.session_id) == ("Now the tests", first["session_id"])
    assert (await line.hears("ack"))["message"] == "Processing prompt..."
    turn.end(done(text="Done."))
    assert (await line.hears("turn_complete"))["session_id"] == first["session_id"]


async def test_a_new_session_begins_where_the_phone_is(office: Office, machine: Machine) -> None:
    """P-15.24"""
    line = await office.connected()
    line.say("set_directory", path=str(machine.project))
    office.ears.says("Begin")
    told = await spoke(line, **PROMPT)
    turn = await office.daemon.turn()
    assert turn.request.session_id == told["session_id"]
    assert str(turn.request.working_directory) == str(machine.project)
    turn.complete()


async def test_words_without_a_place_are_not_lost(office: Office) -> None:
    """P-15.25"""
    line = await office.connected()
    office.ears.says("Begin")
    told = await spoke(line, **PROMPT)
    assert (told["text"], told["delivered"]) == ("Begin", False)
    assert "working directory" in (await line.hears("error"))["message"]


async def test_words_for_a_held_session_name_its_holder(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15.25"""

    async def busy(_: object) -> None:
        raise Busy("It is held.", session_id="s", holder={"kind": "foreign", "pid": 1})

    line = await office.connected()
    monkeypatch.setattr(office.daemon.service, "prompt", busy)
    office.ears.says("Hello")
    told = await spoke(line, session_id="s", **PROMPT)
    assert told["delivered"] is False
    error = await line.hears("error")
    assert (error["session_id"], error["holder"]["kind"]) == ("s", "foreign")


async def test_words_for_a_recipe_go_into_its_turn(office: Office, machine: Machine) -> None:
    line = await office.connected()
    _, turn = await office.daemon.begun(machine.one_step())
    office.ears.says("Mind the gap")
    await began(line, session_id=turn.request.session_id, **PROMPT)
    line.say("voice_end", utterance_id="u1")
    turn.begins_with(await turn.steered())
    assert (await line.hears("voice_transcript"))["delivered"] is True
    assert (await line.hears("ack"))["message"] == "Delivered into the running turn"
    assert list(turn.steers.values()) == ["Mind the gap"]
    turn.complete()


async def test_what_was_delivered_by_a_daemon_that_is_gone_is_not_sent_again(
    office: Office, machine: Machine
) -> None:
    """P-15.12"""
    line = await office.connected()
    line.say("set_directory", path=str(machine.project))
    office.ears.says("Once", "one's")
    told = await spoke(line, **PROMPT)
    (held,) = [lock for lock in await office.daemon.service.locks() if lock.session_id]
    (await office.daemon.turn()).complete()
    await office.daemon.service.run_gone(held.holder.id or "")
    office.hub.utterances._talks.clear()  # what only its memory knew
    office.speech._utterances.clear()
    line.forget()
    again = await spoke(line, from_frame=1, **PROMPT)
    assert (again["delivered"], again["session_id"]) == (True, told["session_id"])
    assert line.of("ack") == []
    assert await office.daemon.service.locks() == []


async def test_words_that_no_agent_takes_are_kept(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "MOST_BYTES", 3)
    line = await office.connected()
    office.ears.says("Hello")
    told = await spoke(line, session_id="s", **PROMPT)
    assert (told["text"], told["delivered"]) == ("Hello", False)
    assert "attach a file" in (await line.hears("error"))["message"]
