"""A person's words to a session, whoever holds it: they arrive, and it is said where."""

from __future__ import annotations

import uuid

import pytest
import trio
from msgspec.structs import replace

from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.runtime.intake import prompt as prompting
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running

DELIVER = "deliver"


async def test_words_for_a_recipe_go_into_its_running_turn(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        session = turn.request.session_id
        went = await daemon.prompt("Mind the tests.", session_id=session, if_busy=DELIVER)
        assert (went["run_id"], went["delivery"]) == (run_id, "steered")
        assert list(turn.steers.values()) == ["Mind the tests."]


async def test_words_for_a_recipe_that_waits_for_a_person_go_through_as_an_aside(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, session = await daemon.waiting(gated)
        went = await daemon.prompt("By the way", session_id=session, if_busy=DELIVER)
        assert went["run_id"] != run_id and went["delivery"] == "sent"
        assert (await daemon.turn()).prompt == "By the way"


async def test_words_for_a_session_that_a_prompt_holds_wait_in_line(machine: Machine) -> None:
    async with running(machine) as daemon:
        first = await daemon.prompt("one")
        turn = await daemon.turn()
        session = turn.request.session_id
        went = await daemon.prompt("two", session_id=session, if_busy=DELIVER)
        assert went["delivery"] == "queued" and first["delivery"] == "sent"
        turn.end(done())
        assert (await daemon.turn()).prompt == "two"


async def test_a_new_session_has_the_id_that_was_asked_for(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        mine, other = str(uuid.uuid4()), str(uuid.uuid4())
        await daemon.prompt("Hello", new_session_id=mine)
        turn = await daemon.turn()
        assert turn.request.session_id == mine and turn.request.session_mode == "new"
        turn.end(done())
        _, turn = await daemon.begun(one, new_session_id=other)
        assert turn.request.session_id == other


async def test_a_permission_mode_of_the_agents_own_holds_for_one_prompt(machine: Machine) -> None:
    machine.agent.capabilities = replace(machine.agent.capabilities, permission_modes=("plan",))
    async with running(machine) as daemon:
        await daemon.prompt("one", permission_mode="plan")
        turn = await daemon.turn()
        assert turn.request.permission_mode == "plan"
        turn.end(done())
        await daemon.prompt("two", session_id=turn.request.session_id, if_busy="queue")
        assert (await daemon.turn()).request.permission_mode is None


@pytest.mark.parametrize(("modes", "known"), [(("plan", "ask"), "it has: ask, plan"), ((), "none")])
async def test_a_permission_mode_that_the_agent_lacks_is_refused_and_sends_nothing(
    machine: Machine, modes: tuple[str, ...], known: str
) -> None:
    machine.agent.capabilities = replace(machine.agent.capabilities, permission_modes=modes)
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter, match=known) as refusal:
            await daemon.prompt("one", permission_mode="allow-all")
        assert plain(refusal.value.data) == {"parameter": "permission_mode"}
        assert await daemon.service.locks() == []


async def test_a_system_prompt_reaches_the_agent_beside_the_words(machine: Machine) -> None:
    async with running(machine) as daemon:
        await daemon.prompt("Hello", system_prompt="Answer in French.")
        turn = await daemon.turn()
        assert (turn.prompt, turn.request.system_prompt) == ("Hello", "Answer in French.")


async def test_the_turn_of_a_prompt_is_waited_for_by_its_run(machine: Machine) -> None:
    async with running(machine) as daemon:
        went = await daemon.prompt("Hello")
        (await daemon.turn()).end(done(text="Bonjour."))
        turn = await daemon.service.ended_turn(went["run_id"])
        assert (turn.status, turn.text) == ("ended", "Bonjour.")
        await daemon.forgotten(went["run_id"])
        assert await daemon.service.ended_turn(went["run_id"]) == turn
        await daemon.service.run_gone(went["run_id"])
        with pytest.raises(NotFound):
            await daemon.service.ended_turn(str(uuid.uuid4()))


async def test_the_ends_of_recipes_are_read_and_those_of_prompts_are_not(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        runs = []
        for _ in range(2):
            run_id, turn = await daemon.begun(one)
            turn.complete()
            await daemon.ended(run_id)
            runs.append(run_id)
            went = await daemon.prompt("Hello")
            (await daemon.turn()).end(done(text="Bonjour."))
            await daemon.service.ended_turn(went["run_id"])
        ended = daemon.service.ended_recipes
        both = await ended(0, 1000, 10)
        assert [(each.type, each.run_id) for each in both] == [
            ("run.ended", run_id) for run_id in runs
        ]
        for page, which in (
            (await ended(both[0].pos, 1000, 10), both[1:]),
            (await ended(0, both[1].pos - 1, 10), both[:1]),
            (await ended(0, 1000, 1), both[1:]),
        ):
            assert [each.pos for each in page] == [each.pos for each in which]


async def test_an_agent_that_does_not_take_words_is_waited_for_no_longer_than_said(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompting, "DELIVER_SECONDS", 0.0)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        taking = trio.Event()

        async def slow(text: str, uuid: str) -> bool:
            await taking.wait()
            turn.steers[uuid] = text
            return True

        monkeypatch.setattr(turn, "steer", slow)
        session = turn.request.session_id
        went = await daemon.prompt("One", session_id=session, if_busy=DELIVER)
        assert (went["run_id"], went["delivery"]) == (run_id, "next prompt")
        assert plain(await daemon.service.steer(run_id, "Two", 0.0)) == {"state": "queued"}
        taking.set()
        await daemon.until(run_id, lambda state: all(each.queued for each in state.steers))
        assert sorted(turn.steers.values()) == ["One", "Two"]
