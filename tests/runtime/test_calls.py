"""Steps that call recipes, played by the running daemon: in, out, refused, bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.core.recipe.calls import MAX_CALL_DEPTH, MOST_CALLED_STEPS
from podiumd.runtime.errors import AgentUnavailable, RecipeRefused, Refused
from tests.long import sampled
from tests.plain import plain
from tests.runtime.calling import INNER, calling, history
from tests.runtime.harness import ONE_STEP, Daemon, Machine, running
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
