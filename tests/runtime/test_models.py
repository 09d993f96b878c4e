"""Which model a turn is given: the person's, the step's, or the one that is configured."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podiumd.drivers.base import TurnStatus
from podiumd.runtime.errors import InvalidParameter
from tests.plain import plain
from tests.runtime.harness import Daemon, Machine, running


def configured(daemon: Daemon, model: str) -> None:
    daemon.context.agents["claude"] = replace(daemon.context.agents["claude"], model=model)


async def test_a_run_s_model_comes_before_the_step_s_and_that_before_the_configured_one(
    machine: Machine,
) -> None:
    plain, own = machine.one_step("plain"), machine.one_step("own", step='model = "small"')
    async with running(machine) as daemon:
        configured(daemon, "usual")
        for number, (recipe, given, expected) in enumerate(
            [
                (plain, None, "usual"),
                (plain, "large[1m]", "large[1m]"),
                (own, None, "small"),
                (own, "large", "large"),
            ]
        ):
            where = machine.directory(f"place-{number}")
            run_id, turn = await daemon.begun(recipe, model=given, working_directory=where)
            assert turn.request.model == expected
            assert (await daemon.service.get_run(run_id)).model == given


async def test_a_prompt_has_the_model_that_it_asks_for(machine: Machine) -> None:
    async with running(machine) as daemon:
        await daemon.prompt(model="large")
        assert (await daemon.turn()).request.model == "large"


async def test_a_turn_after_a_crash_has_the_same_model(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one, model="large")
    turn.breaks()
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.turn()).request.model == "large"
        assert (await daemon.service.get_run(run_id)).model == "large"


async def test_words_into_a_running_turn_bring_no_model(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        _run, turn = await daemon.begun(one)
        with pytest.raises(InvalidParameter) as raised:
            await daemon.prompt(session_id=turn.request.session_id, if_busy="steer", model="large")
        assert plain(raised.value.data)["parameter"] == "model"
