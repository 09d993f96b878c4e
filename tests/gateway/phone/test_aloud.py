"""What phones are to say aloud: short words at the steps, the questions and the ends."""

from __future__ import annotations

from tests.gateway.phone.office import Office
from tests.gateway.phone.speaking import asked, began
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine


async def test_a_recipe_is_told_step_by_step(office: Office, gated: str) -> None:
    """P-15.8, P-15.26"""
    line = await office.connected(speak=True)
    run_id, session = await office.daemon.waiting(gated)
    said = await line.hears("speak")
    assert said["session_id"] == session and said["text"].startswith("A question: Go on?")
    heard = len(line.of("speak"))
    await office.daemon.answer(run_id, "yes")
    (await office.daemon.turn()).complete()
    await office.daemon.ended(run_id)
    ended = await line.hears("speak", heard + 1)
    assert "Turn complete." in ended["text"]
    kinds = [each["type"] for each in line.sent]
    assert kinds.index("recipe_exited") < len(kinds) - 1 - kinds[::-1].index("speak")


async def test_only_phones_that_speak_are_spoken_to(office: Office) -> None:
    """P-15.27"""
    mute, asks, speaks = [await office.connected() for _ in range(3)]
    asks.say("ping")
    await began(speaks)
    _, key = await office.devices.pair("no more")
    once = await office.connected(key)
    await began(once)
    once.hang_up()
    back = await office.connected(key, speak=False)
    await asked(office)
    await speaks.hears("speak")
    for line in (mute, asks, back):
        await line.hears("question")
        await line.caught_up()
        assert line.of("speak") == []


async def test_a_phone_that_spoke_is_spoken_to_on_its_next_connection(office: Office) -> None:
    """P-15.27"""
    _, key = await office.devices.pair("phone")
    line = await office.connected(key)
    await began(line)
    line.hang_up()
    back = await office.connected(key)
    await asked(office)
    assert "A question: may the agent use Bash?" in (await back.hears("speak"))["text"]


async def test_the_answer_to_a_prompt_is_for_who_has_sent_it(
    office: Office, machine: Machine
) -> None:
    """P-15.28"""
    line, other = [await office.connected(speak=True) for _ in range(2)]
    line.say(
        "prompt",
        text="Hello",
        new_session_id="0ba82fac-b61d-4d50-88f2-0cd344afe70f",
        working_directory=str(machine.project),
    )
    turn = await office.daemon.turn()
    turn.end(done(text="It works. See `src/app.py`:\n```\ncode\n```"))
    said = await line.hears("speak")
    assert said["text"].startswith("It works.")
    assert "code" not in said["text"] and "/" not in said["text"]
    await other.caught_up()
    assert other.of("speak") == []


async def test_words_fit_the_phones_frames(office: Office) -> None:
    line = await office.connected(speak=True)
    line.say("set_max_message_size", size_kb=16)
    await line.caught_up()
    office.hub.say("s", "word " * 10_000, everywhere=True)
    assert len((await line.hears("speak"))["text"]) < 16 * 1024
