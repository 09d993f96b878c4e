"""A recipe that does not check clean is never begun: what only its whole graph shows counts too."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.runtime.errors import AgentUnavailable, InvalidParameter, NotFound, RecipeRefused
from tests.core.recipe_files import AGENTS, FAULTY, SOUND, WARNINGS, load, marks
from tests.long import sampled
from tests.plain import plain
from tests.runtime.fake_agent import FakeDriver
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import initialize

LOOP = """
format = 1
id = "loop"
initial = "work"
{limits}
[steps.work]
{work}
[steps.work.on]
{on}
"""

TURN = 'prompt = "Work."'
COMMAND = 'run = ["false"]'
ENDLESS = 'good = { exit = "turn-complete" }\nbad = { to = "work" }'
ENDLESS_COMMAND = 'passed = { exit = "turn-complete" }\nfailed = { to = "work" }'


def loop(machine: Machine, work: str = TURN, on: str = ENDLESS, limits: str = "") -> str:
    return machine.recipe(LOOP.format(work=work, on=on, limits=limits), "loop")


async def refusal(daemon: Daemon, recipe: str) -> RecipeRefused:
    """Start a recipe that must be refused; nothing is held, stored or asked then."""
    with pytest.raises(RecipeRefused) as raised:
        await daemon.start(recipe)
    assert daemon.machine.agent.turns == []
    assert await daemon.service.locks() == []
    assert await daemon.service.list_runs(None, 10) == []
    return raised.value


async def test_a_refusal_names_code_file_line_step_and_what_to_do(machine: Machine) -> None:
    recipe = loop(machine)
    async with running(machine) as daemon:
        said = await refusal(daemon, recipe)
    message = (
        "nothing bounds the cycle of step 'work' with itself: set max_step_visits or "
        "max_total_steps in [limits]"
    )
    assert said.message == f"Recipe 'loop' cannot run: {message}"
    assert plain(said.data)["findings"] == [
        {
            "code": "unbounded-cycle",
            "level": "error",
            "step": "work",
            "line": 6,
            "message": message,
            "file": str(machine.recipes / "loop.toml"),
        }
    ]


async def test_every_fault_of_the_graph_refuses_the_start(machine: Machine) -> None:
    cases = [
        ('bad = { to = "work" }', "trapped-cycle"),
        ('bad = { to = "@restart" }', "no-exit"),
        (ENDLESS + '\n[steps.lost]\nprompt = "x"\non.a.exit = "turn-complete"', "unreachable-step"),
    ]
    async with running(machine) as daemon:
        for more, code in cases:
            recipe = loop(machine, on=more, limits="[limits]\nmax_total_steps = 3")
            said = await refusal(daemon, recipe)
            assert code in [finding["code"] for finding in plain(said.data)["findings"]]


async def test_a_cycle_of_commands_costs_no_turn_and_is_endless_all_the_same(
    machine: Machine,
) -> None:
    """At worst it takes no turn at all, so the worst case says nothing about it."""
    recipe = loop(machine, COMMAND, ENDLESS_COMMAND)
    async with running(machine) as daemon:
        worst = (await daemon.service.recipes.get(recipe, None)).worst_case
        assert worst is not None and worst.turns == 0
        said = await refusal(daemon, recipe)
        assert [finding["code"] for finding in plain(said.data)["findings"]] == ["unbounded-cycle"]
        loop(machine, COMMAND, ENDLESS_COMMAND, "[limits]\nmax_step_visits = 2")
        run = await daemon.ended(await daemon.start(recipe))
        assert run["exit"]["reason"] == "max-step-visits-exceeded:work"


CALLING = """
format = 1
id = "calling"
initial = "ship"
{limits}
[steps.ship]
recipe = "loop"
[steps.ship.on]
turn-complete = {{ exit = "conversation-complete" }}
"""


async def test_a_called_cycle_is_bounded_by_the_callers_limits_and_by_no_others(
    machine: Machine,
) -> None:
    """The called recipe may start by itself; called, its own limits do not hold."""
    loop(machine, limits="[limits]\nmax_step_visits = 3")
    recipe = machine.recipe(CALLING.format(limits=""), "calling")
    async with running(machine) as daemon:
        said = await refusal(daemon, recipe)
        [finding] = plain(said.data)["findings"]
        assert (finding["code"], finding["step"], finding["line"]) == ("unbounded-cycle", "ship", 6)
        assert finding["file"] == str(machine.recipes / "calling.toml")
        machine.recipe(CALLING.format(limits="[limits]\nmax_total_steps = 3"), "calling")
        _, turn = await daemon.begun(recipe)
        assert turn.prompt.startswith("Work.")


async def test_the_steps_that_a_call_brings_in_are_not_called_unreachable(
    machine: Machine,
) -> None:
    """They have names that no file has: faults are told of the steps that a person wrote."""
    loop(machine, on='good = { exit = "turn-complete" }')
    recipe = machine.recipe(CALLING.format(limits=""), "calling")
    async with running(machine) as daemon:
        assert (await daemon.service.recipe_tools.check(None, None, recipe, None)).ok
        run_id, turn = await daemon.begun(recipe)
        turn.complete("good")
        run = await daemon.ended(run_id)
        assert [visit["step"] for visit in run["history"]] == ["ship.work"]


async def test_a_warning_holds_nothing_up(machine: Machine) -> None:
    on = 'good = { exit = "turn-complete" }'
    recipe = loop(machine, on=on, limits="[limits]\nmax_step_visits = 3")
    async with running(machine) as daemon:
        answer = await daemon.service.recipe_tools.check(None, None, recipe, None)
        assert [finding.code for finding in answer.findings] == ["idle-limit"]
        await daemon.begun(recipe)


async def test_what_the_agent_cannot_do_refuses_the_start_and_another_agent_may_do_it(
    machine: Machine,
) -> None:
    mode = 'session = "fork"\npermission_mode = "sleepy"\nprompt = "Work."'
    recipe = loop(machine, mode, 'good = { exit = "turn-complete" }')
    machine.drivers["able"] = able = FakeDriver()
    async with running(machine) as daemon:
        said = await refusal(daemon, recipe)
        [finding] = plain(said.data)["findings"]
        assert (finding["code"], finding["step"]) == ("agent-capability", "work")
        assert "has no permission mode 'sleepy'" in finding["message"]
        await daemon.start(recipe, agent="able")  # modes are words of the step's own agent
        (await able.next_turn()).complete("good")


async def test_a_conversation_is_refused_for_an_agent_that_takes_no_tools(
    machine: Machine,
) -> None:
    machine.agent.capabilities = replace(machine.agent.capabilities, own_tools="none")
    recipe = loop(machine, "talk = true", 'good = { exit = "turn-complete" }')
    async with running(machine) as daemon:
        said = await refusal(daemon, recipe)
        [finding] = plain(said.data)["findings"]
        assert (finding["code"], finding["step"]) == ("agent-capability", "work")


# -- the whole collection: a start and a check are of one mind -------------------------------------


def provide(machine: Machine, path: Path) -> list[str]:
    """Put a recipe among the person's own, with all that it may call; what it may be called."""
    for sound in SOUND:
        shutil.copy(sound, machine.recipes)
    shutil.copytree(SOUND[0].parent / "prompts", machine.recipes / "prompts", dirs_exist_ok=True)
    for file in (path, path.with_suffix(".md")):
        if file.exists():
            shutil.copy(file, machine.recipes)
    for name, can in AGENTS.items():
        driver = machine.agent if name == "claude" else FakeDriver()
        driver.capabilities = can
        machine.drivers[name] = driver
    named = re.search(r'^id = "([a-z-]+)"', path.read_text(), re.MULTILINE)
    return [*([named[1]] if named else []), path.stem]


@pytest.mark.parametrize(
    "path",
    # Which faults there are, all the tests of the check say.
    sampled((path for path in FAULTY if any(mark.code not in WARNINGS for mark in marks(path))), 2),
    ids=lambda path: path.stem,
)
async def test_no_recipe_with_an_error_is_begun(machine: Machine, path: Path) -> None:
    names = provide(machine, path)
    expected = {mark.code for mark in marks(path) if mark.code not in WARNINGS}
    async with running(machine) as daemon:
        for name in names:
            try:
                await daemon.start(name)
            except NotFound:
                continue  # where the id is what is wrong it goes by its file's name
            except RecipeRefused as refused:
                codes = {finding["code"] for finding in plain(refused.data)["findings"]}
                assert codes <= expected and codes
                return
            except AgentUnavailable:
                assert expected == {"agent-capability"}
                return
    raise AssertionError(f"{names} was begun, or none of it was found")


@pytest.mark.parametrize("path", sampled(SOUND), ids=lambda path: path.stem)
async def test_every_sound_recipe_is_begun(machine: Machine, path: Path) -> None:
    """But for parameters that nobody gave."""
    [name, _] = provide(machine, path)
    recipe = load(path)
    initialize(machine.project)  # some of them commit
    async with running(machine) as daemon:
        if any(param.default is None or param.needed for param in recipe.params.values()):
            with pytest.raises(InvalidParameter, match="param") as raised:
                await daemon.start(name)
            assert (
                plain(raised.value.data)["fix"]
                == f"Give it with -p {plain(raised.value.data)['missing']}=..."
            )
        else:
            await daemon.service.cancel(await daemon.start(name))


async def test_what_only_a_new_conversation_needs_is_not_asked_of_one_that_is_there(
    machine: Machine, one: str
) -> None:
    goal = '[params.goal]\ntype = "string"\ndefault = ""\nneeded = "new-session"'
    recipe = machine.one_step("goal", top=goal)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        turn.complete()
        session = (await daemon.ended(run_id))["session_id"]
        with pytest.raises(InvalidParameter, match="'goal' is needed: this conversation is new"):
            await daemon.start(recipe)
        run_id, turn = await daemon.begun(recipe, session_id=session)
        turn.complete()
        assert (await daemon.ended(run_id))["params"] == {"goal": ""}


async def test_a_directory_whose_name_is_no_text_is_refused_in_a_sentence(
    machine: Machine, one: str
) -> None:
    odd = machine.project / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    link = machine.project / "link"
    link.symlink_to(odd)
    async with running(machine) as daemon:
        for begin in (
            daemon.start(one, working_directory=str(link)),
            daemon.prompt(working_directory=str(link)),
        ):
            with pytest.raises(InvalidParameter, match="name is not UTF-8"):
                await begin
        assert await daemon.service.locks() == []
