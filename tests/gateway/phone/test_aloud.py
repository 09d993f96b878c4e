"""What phones are to say aloud: short words at the steps, the questions and the ends."""

from __future__ import annotations

from tests.gateway.phone.phone_server import PhoneServer
from tests.gateway.phone.speaking import asked, began
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine


async def test_a_recipe_is_told_step_by_step(server: PhoneServer, gated: str) -> None:
    """P-15.8, P-15.26"""
    client = await server.connected(speak=True)
    run_id, session = await server.daemon.waiting(gated)
    said = await client.hears("speak")
    assert said["session_id"] == session and said["text"].startswith("A question: Go on?")
    heard = len(client.of("speak"))
    await server.daemon.answer(run_id, "yes")
    (await server.daemon.turn()).complete()
    await server.daemon.ended(run_id)
    ended = await client.hears("speak", heard + 1)
    assert "Turn complete." in ended["text"]
    kinds = [each["type"] for each in client.sent]
    assert kinds.index("recipe_exited") < len(kinds) - 1 - kinds[::-1].index("speak")


async def test_only_phones_that_speak_are_spoken_to(server: PhoneServer) -> None:
    """P-15.27"""
    mute, asks, speaks = [await server.connected() for _ in range(3)]
    asks.say("ping")
    await began(speaks)
    _, key = await server.devices.pair("no more")
    once = await server.connected(key)
    await began(once)
    once.hang_up()
    back = await server.connected(key, speak=False)
    await asked(server)
    await speaks.hears("speak")
    for client in (mute, asks, back):
        await client.hears("question")
        await client.caught_up()
        assert client.of("speak") == []


async def test_a_phone_that_spoke_is_spoken_to_on_its_next_connection(server: PhoneServer) -> None:
    """P-15.27"""
    _, key = await server.devices.pair("phone")
    client = await server.connected(key)
    await began(client)
    client.hang_up()
    back = await server.connected(key)
    await asked(server)
    assert "A question: may the agent use Bash?" in (await back.hears("speak"))["text"]


async def test_the_answer_to_a_prompt_is_for_who_has_sent_it(
    server: PhoneServer, machine: Machine
) -> None:
    """P-15.28"""
    client, other = [await server.connected(speak=True) for _ in range(2)]
    client.say(
        "prompt",
        text="Hello",
        new_session_id="0ba82fac-b61d-4d50-88f2-0cd344afe70f",
        working_directory=str(machine.project),
    )
    turn = await server.daemon.turn()
    turn.end(done(text="It works. See `src/app.py`:\n```\ncode\n```"))
    said = await client.hears("speak")
    assert said["text"].startswith("It works.")
    assert "code" not in said["text"] and "/" not in said["text"]
    await other.caught_up()
    assert other.of("speak") == []


async def test_words_fit_the_phones_frames(server: PhoneServer) -> None:
    client = await server.connected(speak=True)
    client.say("set_max_message_size", size_kb=16)
    await client.caught_up()
    server.hub.say("s", "word " * 10_000, everywhere=True)
    assert len((await client.hears("speak"))["text"]) < 16 * 1024
