"""Limits inside a called recipe: the caller's hold, and ask where the caller says so."""

from __future__ import annotations

import pytest

from tests.long import sampled
from tests.plain import plain
from tests.runtime.calling import INNER, calling
from tests.runtime.harness import Json, Machine, running

ASKING = 'max_step_visits = 1\non_limit = "ask"'


async def test_the_limits_are_the_callers_and_not_those_of_what_it_calls(machine: Machine) -> None:
    """The called recipe alone would end after one step."""
    recipe = calling(machine, limits="max_step_visits = 2\nmax_total_steps = 4")
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        for outcome in ("complete", "bad", "complete", "bad"):
            (await daemon.turn()).complete(outcome)
        run = await daemon.ended(run_id)
    assert (run["exit"]["reason"], run["step_count"]) == ("max-total-steps", 4)
    assert run["visits"] == {"work.do": 2, "work.look": 2}
    assert run["limits"]["max_total_steps"] == 4


async def test_a_limit_inside_a_call_asks_and_grants_the_same_again_once(machine: Machine) -> None:
    """The question names the step by the name it has in the run; a restart keeps it open."""
    recipe = calling(machine, limits=ASKING)
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        (await daemon.turn()).complete()
        (await daemon.turn()).complete("bad")
        question = await daemon.question(run_id)
        text = "The limit max-step-visits-exceeded:work.do (1) is reached."
        assert (question["kind"], question["text"]) == ("limit", text)
        assert [choice["id"] for choice in question["choices"]] == ["more", "stop"]
    async with running(machine) as daemon:
        assert (await daemon.question(run_id))["question_id"] == question["question_id"]
        await daemon.answer(run_id, "more")
        again = await daemon.turn()
        assert again.prompt.startswith("Do the shop.")
        again.complete()
        # What was granted was the visits of one step; each has its own.
        assert "exceeded:work.look" in (await daemon.question(run_id))["text"]
        await daemon.answer(run_id, "more")
        (await daemon.turn()).complete("bad")
        run = await daemon.ended(run_id)
    reason = "max-step-visits-exceeded:work.do"
    assert (run["exit"]["reason"], run["exit"]["class"]) == (reason, "guardrail")
    assert run["exit"]["message"] == "Recipe stopped: step 'work.do' visited too many times"
    assert run["visits"] == {"work.do": 2, "work.look": 2}


@pytest.mark.parametrize(
    ("answer", "reason"), sampled([("stop", "max-total-steps"), ("more", "conversation-complete")])
)
async def test_a_limit_of_all_steps_that_is_reached_inside_a_call_asks_too(
    machine: Machine, answer: str, reason: str
) -> None:
    """With more, the run comes out of the call and to its end."""
    recipe = calling(machine, limits='max_total_steps = 3\non_limit = "ask"')
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        for outcome in ("complete", "bad", "complete"):
            (await daemon.turn()).complete(outcome)
        question = await daemon.question(run_id)
        assert question["text"] == "The limit max-total-steps (3) is reached."
        await daemon.answer(run_id, answer)
        if answer == "more":
            (await daemon.turn()).complete("good")
            (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == reason


async def test_how_a_called_recipe_takes_its_own_limits_is_of_no_account(machine: Machine) -> None:
    """It asks when it runs by itself. Called, it ends as its caller says: by exiting."""
    recipe = calling(machine, limits="max_step_visits = 1")
    machine.recipe(INNER.replace("[limits]", '[limits]\non_limit = "ask"'), "inner")
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        (await daemon.turn()).complete()
        (await daemon.turn()).complete("bad")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "max-step-visits-exceeded:work.do"
        alone = await daemon.start("inner", params={"what": "it"})
        (await daemon.turn()).complete()
        assert (await daemon.question(alone))["kind"] == "limit"


async def test_a_walk_without_an_agent_asks_at_a_limit_inside_a_call(machine: Machine) -> None:
    recipe = calling(machine, limits=ASKING)
    async with running(machine) as daemon:

        async def end(*outcomes: str) -> Json:
            answer = await daemon.service.recipe_tools.simulate(recipe, outcomes, None)
            ending: Json = plain(answer.exit)
            return ending

        assert (await end("complete", "bad"))["reason"] == "max-step-visits-exceeded:work.do"
        more = await end("complete", "bad", "more", "complete", "more", "good", "complete")
        assert more["reason"] == "conversation-complete"
