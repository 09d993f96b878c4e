"""Simulating a recipe that calls another: through the steps of what is called, as a run goes."""

from __future__ import annotations

import pytest

from podiumd.runtime.errors import InvalidParameter, NotFound
from tests.plain import plain
from tests.runtime.harness import Json, Machine, running
from tests.runtime.test_recipe_tools import LOOP

RELEASING = """
format = 1
id = "releasing"
initial = "ship"
[limits]
max_total_steps = 6
[steps.ship]
recipe = "loop"
[steps.ship.on]
conversation-complete = { to = "tell" }
[steps.tell]
prompt = "Tell everybody."
[steps.tell.on]
told = { exit = "turn-complete" }
"""


@pytest.fixture
def recipe(machine: Machine) -> str:
    """A recipe that calls one with a loop, a command and a gate."""
    (machine.recipes / "work.md").write_text("Work until it is right.")
    machine.recipe(LOOP, "loop")
    return machine.recipe(RELEASING, "releasing")


async def test_a_walk_goes_through_what_is_called_as_a_run_does(
    machine: Machine, recipe: str
) -> None:
    async with running(machine) as daemon:

        async def walk(*outcomes: str) -> Json:
            trace: Json = plain(await daemon.service.recipe_tools.simulate(recipe, outcomes, None))
            return trace

        whole = await walk("complete", "failed", "complete", "passed", "shipped", "told")
        assert [(hop["step"], hop["to"]) for hop in whole["trace"]] == [
            ("ship.work", "ship.test"),
            ("ship.test", "ship.work"),
            ("ship.work", "ship.test"),
            ("ship.test", "ship.ship"),
            ("ship.ship", "tell"),
            ("tell", None),
        ]
        assert whole["exit"]["reason"] == "turn-complete"
        declined = await walk("complete", "passed", "declined")
        assert declined["exit"]["reason"] == "gate-declined", "the caller says nothing about it"
        open_ended = await walk("complete")
        assert (len(open_ended["trace"]), open_ended["exit"]) == (1, None)


async def test_exit_reasons_stand_for_whole_calls(machine: Machine, recipe: str) -> None:
    async with running(machine) as daemon:
        answer = await daemon.service.recipe_tools.simulate(
            recipe, ["conversation-complete", "told"], None
        )
        assert [(hop.step, hop.outcome) for hop in answer.trace] == [
            ("ship", "conversation-complete"),
            ("tell", "told"),
        ]
        with pytest.raises(InvalidParameter) as raised:
            await daemon.service.recipe_tools.simulate(recipe, ["told"], None)
        words = "outcome 1: step 'ship.work' cannot end with 'told'; expected one of: complete, "
        assert words in raised.value.message


async def test_paths_and_single_steps_are_those_of_what_is_called(
    machine: Machine, recipe: str
) -> None:
    async with running(machine) as daemon:
        found = await daemon.service.recipe_tools.paths(recipe, None)
        ways = [[hop.step for hop in path.trace] for path in found.paths]
        assert ["ship.work", "ship.test", "ship.ship", "tell"] in ways and ["ship.work"] in ways
        reply = ['{"outcome": "shipped"}']
        played = await daemon.service.recipe_tools.rehearse(recipe, "ship.ship", reply, None)
        assert (played.outcome, played.to) == ("shipped", "tell")
        with pytest.raises(InvalidParameter, match=r"its steps are: ship\.work, ship\.test"):
            await daemon.service.recipe_tools.rehearse(recipe, "ship", reply, None)
        with pytest.raises(NotFound, match="no step 'shop'"):
            await daemon.service.recipe_tools.rehearse(recipe, "shop", reply, None)


async def test_a_reply_is_read_for_a_step_of_what_is_called(machine: Machine, recipe: str) -> None:
    async with running(machine) as daemon:
        reply = 'Done. {"outcome": "shipped"}'
        read = plain(await daemon.service.recipes.outcome(recipe, "ship.ship", reply, None))
        assert (read["ok"], read["outcome"]) == (True, "shipped")
        with pytest.raises(NotFound, match=r"no step 'ship\.shop'"):
            await daemon.service.recipes.outcome(recipe, "ship.shop", reply, None)
