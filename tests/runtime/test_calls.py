"""Steps that call recipes, played by the running daemon: in, out, refused, bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.core.recipe.expand import MAX_CALL_DEPTH, MOST_CALLED_STEPS
from podiumd.runtime.errors import (
    AgentUnavailable,
    InvalidParameter,
    NotFound,
    RecipeRefused,
    Refused,
)
from tests.long import sampled
from tests.plain import plain
from tests.runtime.calling import INNER, calling, history
from tests.runtime.harness import ONE_STEP, Daemon, Json, Machine, running
from tests.runtime.test_recipe_tools import LOOP
from tests.tools.git_repository import commit, make_repository


async def refused(daemon: Daemon, recipe: str) -> str:
    """Start a recipe that must be refused; returns why. Nothing is held or asked then."""
    with pytest.raises((RecipeRefused, Refused)) as raised:
        await daemon.start(recipe)
    assert daemon.machine.agent.turns == []
    assert await daemon.service.locks() == []
    return raised.value.message


async def test_a_called_recipe_comes_back_with_what_its_last_step_said(machine: Machine) -> None:
    recipe = calling(machine)
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, params={"task": 'a "b" {{what}} $(id)'})
        first = await daemon.turn()
        assert first.prompt.startswith('Do a "b" {{what}} $(id).')
        assert "complete, unclear, other" in first.prompt
        first.complete(detail="The shop is built.")
        second = await daemon.turn()
        assert second.prompt.startswith("Look at it. The shop is built.")
        second.complete("good", detail="It is a good shop.")
        last = await daemon.turn()
        assert last.prompt.startswith("Ship it. It is a good shop.")
        last.complete()
        run = await daemon.ended(run_id)
    assert history(run) == [("work.do", "complete"), ("work.look", "good"), ("ship", "complete")]
    assert (run["exit"]["reason"], run["recipe"], run["step_count"]) == (
        "conversation-complete",
        "calling",
        3,
    )


@pytest.mark.parametrize("answer", sampled(["yes", "no"]))
async def test_a_gate_before_a_call_is_asked_before_anything_of_it_happens(
    machine: Machine, answer: str
) -> None:
    recipe = calling(machine, call='gate = "Work?"\nparams = { what = "it" }')
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        question = await daemon.question(run_id)
        assert (question["kind"], question["text"]) == ("gate", "Work?")
        assert machine.agent.turns == []
        await daemon.answer(run_id, answer)
        if answer == "yes":
            (await daemon.turn()).complete("unclear")
        run = await daemon.ended(run_id)
    expected = "clarification-needed" if answer == "yes" else "gate-declined"
    assert run["exit"]["reason"] == expected


async def test_a_restart_finds_the_run_inside_the_call(machine: Machine) -> None:
    """The called file may be gone by then: a run keeps what it began with."""
    recipe = calling(machine)
    async with running(machine) as daemon:
        run_id, first = await daemon.begun(recipe)
    (machine.recipes / "inner.toml").unlink()
    first.complete(detail="Built.")
    async with running(machine) as daemon:
        second = await daemon.turn()
        assert second.prompt.startswith("Look at it. Built.")
        second.complete("good")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "conversation-complete"


def project_recipes(machine: Machine) -> Path:
    """Where the project's recipes are; ``inner`` is one that does something else."""
    place = machine.project / ".podium" / "recipes"
    place.mkdir(parents=True)
    (place / "inner.toml").write_text(INNER.replace("Do {{what}}.", "Do evil to {{what}}."))
    return place


async def test_no_project_puts_its_recipe_in_the_place_of_what_a_persons_own_one_calls(
    machine: Machine,
) -> None:
    recipe = calling(machine)
    project_recipes(machine)
    async with running(machine) as daemon:
        _, turn = await daemon.begun(recipe)
        assert turn.prompt.startswith("Do the shop.")


async def test_a_recipe_that_the_projects_own_one_calls_must_be_trusted_too(
    machine: Machine,
) -> None:
    recipe = calling(machine)
    (machine.recipes / "calling.toml").rename(project_recipes(machine) / "calling.toml")
    async with running(machine) as daemon:
        shown = await daemon.service.recipes.get(recipe, str(machine.project))
        assert shown.worst_case is not None and shown.worst_case.turns == 36
        own = {"calling": shown.digest}
        await daemon.service.recipes.trust(str(machine.project), own)
        said = await refused(daemon, recipe)
        assert "'inner' comes with the project" in said and "it is not trusted" in said
        await daemon.service.recipes.trust(str(machine.project), None)
        _, turn = await daemon.begun(recipe)
        assert turn.prompt.startswith("Do evil to the shop.")


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("called", "call", "words"),
    sampled(
        [
            ("gone", "", "there is no recipe 'gone'"),
            ("inner", "", "needs 'what': add it to [steps.work.params]"),
            ("inner", 'params = { what = "x", who = "y" }', "has no parameter 'who'"),
            ("broken", "", "there is no recipe 'broken' that can be called"),
            (
                "calling",
                "",
                "recipe 'calling' calls itself by way of 'calling', and so without end",
            ),
            pytest.param(
                *("deep", "", f"call each other more than {MAX_CALL_DEPTH} deep"),
                marks=pytest.mark.long,
            ),
            ("implement-and-review-all", "", "begins again by @restart"),
            pytest.param(
                *("heavy", "", f"more than {MOST_CALLED_STEPS} steps"), marks=pytest.mark.long
            ),
        ],
        3,
    ),
)
async def test_a_call_that_cannot_be_made_refuses_the_start_and_says_why(
    machine: Machine, called: str, call: str, words: str
) -> None:
    recipe = calling(machine, called, call)
    machine.recipe('format = 1\nid = "broken"\ninitial = "nowhere"\n', "broken")
    _heavy(machine)
    _deep(machine)
    async with running(machine) as daemon:
        with pytest.raises(RecipeRefused) as raised:
            await daemon.start(recipe)
        said = raised.value.message
        assert said.startswith("Recipe 'calling' cannot run: ") and words in said
        [finding] = plain(raised.value.data)["findings"]
        assert (finding["step"], finding["file"]) == ("work", str(machine.recipes / "calling.toml"))
        assert words in finding["message"] and finding["line"] in (9, 10, 11, 12)
        with pytest.raises(RecipeRefused) as raised:
            await daemon.service.recipe_tools.simulate(recipe, [], None)
        assert plain(raised.value.data)["findings"] == [finding]
        shown = await daemon.service.recipes.get(recipe, str(machine.project))
        assert shown.worst_case is None and shown.ways["work"][0].to == "ship"


def _heavy(machine: Machine) -> None:
    """Recipes that call the next one ten times each, five deep."""
    for level in range(5):
        last = level == 4
        steps = [
            f'[steps.s{n}]\nrecipe = "{"inner" if last else f"heavy{level + 1}"}"\n'
            + ('params = { what = "x" }\n' if last else "")
            + "on.turn-complete."
            + (f'to = "s{n + 1}"' if n < 9 else 'exit = "turn-complete"')
            for n in range(10)
        ]
        name = "heavy" if level == 0 else f"heavy{level}"
        head = f'format = 1\nid = "{name}"\ninitial = "s0"\n'
        machine.recipe(head + "\n".join(steps), name)


def _deep(machine: Machine) -> None:
    """A chain of recipes that call the next one."""
    for level in range(MAX_CALL_DEPTH):
        name, following = f"deep{level or ''}", f"deep{level + 1}"
        step = f'recipe = "{following}"' if level + 1 < MAX_CALL_DEPTH else 'prompt = "Go."'
        text = f'format = 1\nid = "{name}"\ninitial = "s"\n[steps.s]\n{step}\n'
        machine.recipe(text + 'on.turn-complete.exit = "turn-complete"\n', name)


async def test_what_only_runs_commands_needs_no_agent_that_can_be_run(machine: Machine) -> None:
    machine.agent.problem = "it is not installed"
    commands = 'format = 1\nid = "commands"\ninitial = "a"\n[steps.a]\nrun = ["true"]\n'
    ends = 'on.passed.exit = "turn-complete"\non.failed.exit = "turn-complete"\n'
    recipe = machine.recipe(commands + ends, "commands")
    async with running(machine) as daemon:
        run = await daemon.ended(await daemon.start(recipe))
        assert run["exit"]["reason"] == "turn-complete"
        with pytest.raises(AgentUnavailable):
            await daemon.start(recipe, agent="claude")
        with pytest.raises(AgentUnavailable, match="not installed"):
            await daemon.start(calling(machine))


async def test_a_checkout_is_asked_about_where_only_the_called_recipe_commits(
    machine: Machine,
) -> None:
    path = make_repository(machine.project / "repo")
    commit(path, "first")
    (path / "new.txt").write_text("mine")
    (machine.recipes / "inner.toml").write_text(
        ONE_STEP.format(id="inner", top="", step="commits = true", on="")
    )
    on = 'turn-complete = { exit = "conversation-complete" }'
    recipe = machine.recipe(
        'format = 1\nid = "calling"\ninitial = "c"\n[steps.c]\nrecipe = "inner"\n'
        f"[steps.c.on]\n{on}\n",
        "calling",
    )
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, working_directory=str(path))
        question = await daemon.question(run_id)
        assert (question["kind"], question["detail"]) == ("gate", "new.txt")
        await daemon.answer(run_id, "no")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "gate-declined"


# -- limits inside a called recipe: the caller's hold, and ask where the caller says so


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


# -- simulating a recipe that calls another: through the steps of what is called, as a run goes


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
