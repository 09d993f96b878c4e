"""A person's words to a conversation: they reach its phase, once, whatever it is at."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from podiumd.core.run.state import RunState
from podiumd.drivers.base import TurnStatus
from podiumd.runtime.errors import InvalidParameter
from podiumd.runtime.intake import conversation_input
from podiumd.wire.sessions import Went
from tests.runtime.conversations import Conversation, begun, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Json, Machine, running

BUSY = ("refuse", "queue", "steer", "deliver")


@pytest.mark.parametrize("if_busy", BUSY)
async def test_words_while_it_waits_are_the_next_prompt_of_the_phase(
    machine: Machine, if_busy: str
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        went = await held.says("A shop", if_busy=if_busy)
        turn = await held.turn()
        assert turn.prompt == "A shop"
        assert (went["run_id"], went["delivery"]) == (held.run_id, "phase")
        assert (went["turn_id"], went["session_id"]) == (turn.request.turn_id, held.session_id)


@pytest.mark.parametrize("if_busy", BUSY)
async def test_words_during_a_turn_go_into_it(machine: Machine, if_busy: str) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        went = await held.says("With a door", if_busy=if_busy)
        assert list(turn.steers.values()) == ["With a door"]
        assert (went["delivery"], went["turn_id"]) == ("steered", turn.request.turn_id)


async def test_words_are_said_once_under_one_token_over_a_restart_too(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        session = held.session_id
        first = await held.says("A shop", client_token="t1")
        again = await held.says("A shop", client_token="t1")
        assert again == first
        (await held.turn()).end(done(text="Which?"))
        await held.waits()
        assert await held.says("A shop", client_token="t1") == first
        with pytest.raises(InvalidParameter):
            await held.says("A museum", client_token="t1")
    async with running(machine) as daemon:
        assert await daemon.prompt("A shop", session_id=session, client_token="t1") == first
        assert len(await daemon.events(held.run_id, "message.received")) == 1
        assert len(machine.agent.turns) == 2


async def test_two_of_the_same_words_at_one_moment_are_said_once(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        went: list[Json] = []

        async def say() -> None:
            went.append(await held.says("A shop", client_token="t1"))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(say)
        assert went[0] == went[1] == went[2]
        assert (await held.turn()).prompt == "A shop"


async def test_who_waits_gets_the_turn_that_carries_the_words_with_its_text(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turns: dict[str, Json] = {}

        async def ask(text: str) -> None:
            turns[text] = await held.says(text, wait=True, client_token=text)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "A shop")
            turn = await held.turn()
            nursery.start_soon(ask, "With a door")
            uuid = await turn.steered()
            turn.begins_with(uuid)
            turn.end(done(text="With a door, then."))
        assert [turns[text]["text"] for text in ("A shop", "With a door")] == [
            "With a door, then."
        ] * 2
        assert {one["turn_id"] for one in turns.values()} == {turn.request.turn_id}
        assert {one["status"] for one in turns.values()} == {"ended"}
        await ask("A shop")  # once more, by somebody who did not hear of it
        assert turns["A shop"]["text"] == "With a door, then."


async def test_who_waits_for_words_that_went_unheard_gets_the_next_turn(machine: Machine) -> None:
    """Queued with the agent, and withdrawn by its end: they are said again in the next prompt."""
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        answer: list[Json] = []

        async def ask() -> None:
            answer.append(await held.says("With a door", wait=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await turn.steered()
            await daemon.until(held.run_id, lambda s: any(one.queued for one in s.steers))
            turn.end(done(text="Of what size?"))
            following = await held.turn()
            assert following.prompt == "With a door"
            following.end(done(text="A door it has."))
        assert answer[0]["text"] == "A door it has."


async def test_who_waits_when_the_run_ends_is_told_so(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        answer: list[Json] = []

        async def ask() -> None:
            answer.append(await held.says("A shop", wait=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await held.turn()
            await daemon.service.cancel(held.run_id)
        assert answer[0]["exit"]["reason"] == "user-requested"


async def test_a_fork_leaves_the_conversation_alone(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        went = await held.says("Elsewhere", fork=True)
        assert went["run_id"] != held.run_id
        turn = await daemon.turn()
        assert turn.request.session_id != held.session_id and turn.prompt == "Elsewhere"
        turn.end(done())


async def test_a_take_over_pauses_the_conversation_and_is_a_plain_prompt(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        went = await held.says("Mine", take_over=True)
        assert went["run_id"] != held.run_id and turn.interrupted.is_set()
        plain = await daemon.turn()
        assert (plain.prompt, plain.request.served) == ("Mine", ())
        assert daemon.actor(held.run_id).state.status == "paused"
        plain.end(done())


async def test_words_for_a_conversation_that_ends_just_then_are_a_plain_prompt(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        usual = conversation_input.say

        async def ended(*arguments: Any) -> Went:
            await daemon.service.cancel(held.run_id)
            return await usual(*arguments)

        monkeypatch.setattr(conversation_input, "say", ended)
        went = await held.says("Still there?")
        assert went["delivery"] == "sent" and went["run_id"] != held.run_id
        (await daemon.turn()).end(done())


async def test_words_that_nobody_takes_yet_are_stored_and_said_to_be(machine: Machine) -> None:
    """The agent's process does not come up: whoever speaks is not kept waiting."""
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        await turn.calls("ask", question="Which?", options=["Big", "Small"])
        went = await held.says("One more thing")  # its turn takes no words any more
        assert went["delivery"] == "phase"

        def heard(state: RunState) -> bool:
            return [said.text for said in state.messages] == ["One more thing"]

        await daemon.until(held.run_id, heard)


async def test_words_reach_the_phase_from_the_main_session_too(machine: Machine) -> None:
    """A phase may have an agent's conversation of its own: people stay where they are."""
    async with running(machine) as daemon:
        recipe = talk(machine, goal='session = "fresh"')
        held = await begun(daemon, recipe)
        state = daemon.actor(held.run_id).state
        assert state.main_session != state.session_id
        went = await daemon.prompt("A shop", session_id=state.main_session)
        assert (went["delivery"], went["session_id"]) == ("phase", state.session_id)
        turn = await Conversation(daemon, held.run_id).turn()
        assert (turn.prompt, turn.request.session_id) == ("A shop", state.session_id)


@pytest.mark.parametrize("recorded", [False, True])
async def test_words_that_died_with_the_agent_before_it_wrote_them_down_are_said_again(
    machine: Machine, recorded: bool
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        await held.says("With a door")
        uuid = await turn.steered()
        turn.begins_with(uuid)
        await daemon.until(held.run_id, lambda state: not state.steers)
        machine.agent.settled[turn.request.turn_id] = TurnStatus(
            state="broken", delivered_steers=(uuid,) if recorded else ()
        )
        turn.breaks()
        following = await held.turn()
        assert ("With a door" in following.prompt) is not recorded
        ended = await daemon.events(held.run_id, "effect.ended")
        states = [one["state"] for one in ended if one["effect"] == f"steer:{uuid}"]
        assert states == ["queued", "delivered", *([] if recorded else ["lost"])]
