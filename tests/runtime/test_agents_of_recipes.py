"""The agents of a recipe: chosen at the start, by parameters too, and refused before anything is
stored."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.core.analysis.check_agents import Described
from podiumd.drivers.base import AgentDescribed
from podiumd.runtime.agent_capabilities import described, remember
from podiumd.runtime.errors import AgentUnavailable, InvalidParameter, PodiumError, RecipeRefused
from tests.plain import plain
from tests.runtime.fake_agent import FakeDriver, done
from tests.runtime.harness import Daemon, Machine, running

PARTS = """
format = 1
id = "parts"
initial = "work"

[params.worker]
type = "agent"
default = ""

[params.reviewer]
type = "agent"

[steps.work]
prompt = "Work."
agent = "{{worker}}"
on.complete.to = "review"

[steps.review]
prompt = "Review what {{worker}} did, {{reviewer}}."
agent = "{{reviewer}}"
session = "fresh"
on.complete.to = "sum-up"

[steps.sum-up]
prompt = "Sum up."
on.complete.exit = "turn-complete"
"""


@pytest.fixture
def three(machine: Machine) -> Machine:
    """A machine with three agents, of which one plays each turn by itself."""
    machine.recipe(PARTS, "parts")
    for name in ("codex", "kimi"):
        machine.drivers[name] = FakeDriver()
    return machine


async def refused(daemon: Daemon, error: type[PodiumError], **fields: Any) -> PodiumError:
    """Start the recipe, which is refused; nothing is stored or held then."""
    with pytest.raises(error) as raised:
        await daemon.start("parts", **fields)
    assert await daemon.service.list_runs(None, 10) == []
    assert await daemon.service.locks() == []
    return raised.value


async def played(daemon: Daemon, **fields: Any) -> list[tuple[str, str]]:
    """Play the recipe; the agent and the prompt's first line of each turn."""
    run_id = await daemon.start("parts", **fields)
    turns = []
    for step in ("work", "review", "sum-up"):
        await daemon.until(
            run_id,
            lambda s, step=step: (
                s.turn is not None and s.turn.intent.step == step and s.turn.started
            ),  # type: ignore[misc]
        )
        turn = daemon.actor(run_id).state.turn
        assert turn is not None
        driver = daemon.machine.drivers[turn.intent.agent]
        assert isinstance(driver, FakeDriver)
        turns.append((turn.intent.agent, turn.intent.prompt.partition("\n")[0]))
        driver.turns[-1].end(done({"outcome": "complete"}))
    await daemon.ended(run_id)
    return turns


async def test_each_step_is_played_by_the_agent_that_its_parameter_names(three: Machine) -> None:
    async with running(three) as daemon:
        assert await played(daemon, params={"reviewer": "codex"}) == [
            ("claude", "Work."),
            ("codex", "Review what claude did, codex."),
            ("claude", "Sum up."),
        ]


async def test_the_agent_of_the_run_fills_empty_parameters_and_the_steps_that_name_none(
    three: Machine,
) -> None:
    async with running(three) as daemon:
        turns = await played(daemon, params={"reviewer": "codex"}, agent="kimi")
        assert [agent for agent, _ in turns] == ["kimi", "codex", "kimi"]
        [run] = plain(await daemon.service.list_runs(None, 10))
    assert run["agent"] == "kimi"
    assert run["params"] == {"worker": "kimi", "reviewer": "codex"}


async def test_one_agent_in_two_parts_is_a_doubt_that_its_first_fact_keeps(
    three: Machine,
) -> None:
    async with running(three) as daemon:
        run_id = await daemon.start("parts", params={"reviewer": "claude"})
        doubts = daemon.actor(run_id).state.start.doubts
        await daemon.service.cancel(run_id)
    [doubt] = doubts
    assert doubt == (
        "'claude' is worker and reviewer: these parts are meant for different agents; choose "
        "another with -p reviewer=AGENT"
    )


async def test_an_agent_that_is_not_here_refuses_the_start_with_its_name_and_what_to_do(
    three: Machine,
) -> None:
    async with running(three) as daemon:
        unknown = await refused(daemon, AgentUnavailable, params={"reviewer": "codx"})
        driver = three.drivers["codex"]
        assert isinstance(driver, FakeDriver)
        driver.problem = "it is not installed"
        missing = await refused(daemon, AgentUnavailable, params={"reviewer": "codex"})
    assert unknown.code == missing.code == -32005
    assert "'codx'" in unknown.message and "The nearest is 'codex'" in unknown.message
    assert missing.message.startswith("Agent 'codex' cannot be used: it is not installed.")


async def test_a_part_that_must_be_given_is_asked_for_by_its_name(three: Machine) -> None:
    async with running(three) as daemon:
        for params in ({}, {"reviewer": " "}):
            missing = await refused(daemon, InvalidParameter, params=params)
            assert plain(missing.data)["missing"] == "reviewer"
            assert missing.message.endswith("it needs the name of an agent")


async def test_what_the_chosen_agent_cannot_do_refuses_the_start_with_its_step_and_what_to_do(
    three: Machine,
) -> None:
    three.recipe(PARTS.replace('session = "fresh"', 'session = "fresh"\nneeds = ["cost"]'), "parts")
    codex = three.drivers["codex"]
    assert isinstance(codex, FakeDriver)
    codex.capabilities = replace(codex.capabilities, usage="tokens")
    async with running(three) as daemon:
        said = await refused(daemon, RecipeRefused, params={"reviewer": "codex"})
        [finding] = plain(said.data)["findings"]
    assert (finding["code"], finding["step"]) == ("agent-capability", "review")
    assert finding["message"] == (
        "agent 'codex' does not say what a turn costs: remove 'cost' from 'needs', or give the "
        "step another agent"
    )


async def test_an_agent_chosen_for_a_recipe_of_the_package_is_refused_by_its_option(
    three: Machine, shipped: None
) -> None:
    for name, driver in three.drivers.items():
        assert isinstance(driver, FakeDriver)
        driver.capabilities = replace(driver.capabilities, read_only_tools=name != "kimi")
    subprocess.run(["git", "init", "--quiet", three.project], check=True)
    async with running(three) as daemon:
        params = {"task": "Do it.", "reviewer": "kimi", "judge": "codex"}
        with pytest.raises(RecipeRefused) as raised:
            await daemon.start("cross-review", params=params)
    assert raised.value.message == (
        "Step 'review': agent 'kimi' cannot be limited to tools that only read. "
        "Choose another with -p reviewer=AGENT (here: claude, codex)."
    )
    assert not plain(raised.value.data).get("findings")


async def test_another_agent_cannot_go_on_with_the_conversation_of_the_first(
    three: Machine,
) -> None:
    three.recipe(PARTS.replace('session = "fresh"', ""), "parts")
    async with running(three) as daemon:
        said = await refused(daemon, RecipeRefused, params={"reviewer": "codex"})
        assert "cannot go on with the conversation of agent 'claude'" in said.message
        run_id = await daemon.start("parts", params={"reviewer": "claude"})
        await daemon.service.cancel(run_id)


async def test_what_an_agent_says_of_itself_is_kept_and_the_next_recipe_checked_against_it(
    three: Machine,
) -> None:
    about = Described("2.1.0", lacks=("resume",))
    async with running(three) as daemon:
        assert await described(daemon.store, "kimi") is None
        went = await daemon.prompt("Hello", agent="kimi")
        driver = three.drivers["kimi"]
        assert isinstance(driver, FakeDriver)
        turn = await driver.next_turn()
        turn.says(AgentDescribed(about))
        turn.end(done())
        await daemon.ended(went["run_id"])
    async with running(three) as daemon:
        assert await described(daemon.store, "kimi") == about
        with pytest.raises(RecipeRefused, match=r"version 2\.1\.0 has said so; a prompt to the"):
            await daemon.start("parts", params={"reviewer": "codex"}, agent="kimi")
        three.recipe(PARTS.replace('default = ""', 'default = "kimi"'), "parts")
        report = await daemon.service.recipe_tools.check(None, None, "parts", None)
        assert not report.ok
        assert {finding.step for finding in report.findings} == {"work", "sum-up"}


@pytest.mark.parametrize("value", [b'{"version":"3","lacks":["telepathy"]}', b"\xff"])
async def test_what_another_release_has_kept_of_an_agent_keeps_no_run_from_beginning(
    three: Machine, value: bytes
) -> None:
    about = Described("2.1.0")
    async with running(three) as daemon:
        await daemon.store.set_setting("agents.described:kimi", value)
        await daemon.service.cancel(await daemon.start("parts", params={"reviewer": "kimi"}))
        await remember(daemon.store, "kimi", about)
        assert await described(daemon.store, "kimi") == about


async def test_a_known_agent_without_a_table_is_checked_and_reported_as_not_here(
    machine: Machine,
) -> None:
    machine.one_step("other", step='agent = "gemini"\nsession = "fresh"')
    async with running(machine) as daemon:
        report = await daemon.service.recipe_tools.check(None, None, "other", None)
        [finding] = report.findings
        assert (report.ok, finding.code, finding.line) == (True, "agent-not-here", 10)
        words = (
            "it is known, and its program `gemini` was not on the daemon's PATH when that began. "
            "Install it, then 'podium down && podium up'."
        )
        assert finding.message.endswith(words)
        with pytest.raises(AgentUnavailable) as raised:
            await daemon.start("other")
        assert raised.value.message == f"Agent 'gemini' cannot be used: {words}"
        with pytest.raises(AgentUnavailable) as raised:
            await daemon.prompt("Hello", agent="gemini")
        assert raised.value.message.endswith(words)


async def test_modes_that_an_opening_does_not_tell_again_are_those_of_before(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        await remember(daemon.store, "kimi", Described("1", modes=("ask", "auto")))
        await remember(daemon.store, "kimi", Described("1", lacks=("fork",)))
        assert await described(daemon.store, "kimi") == Described("1", ("fork",), ("ask", "auto"))
        await remember(daemon.store, "kimi", Described("2"))
        assert await described(daemon.store, "kimi") == Described("2")


async def test_a_recipe_goes_on_with_a_session_by_its_own_kind_of_agent_alone(
    three: Machine,
) -> None:
    codex = three.drivers["codex"]
    assert isinstance(codex, FakeDriver)
    codex.name = "codex"
    three.one_step("one")
    three.one_step("anew", step='session = "fresh"')
    async with running(three) as daemon:
        went = await daemon.prompt("Hello", agent="codex")
        (await codex.next_turn()).end(done())
        await daemon.ended(went["run_id"])
        session = went["session_id"]
        for agent in ({}, {"agent": "claude"}):
            with pytest.raises(InvalidParameter) as raised:
                await daemon.start("one", session_id=session, **agent)
            assert raised.value.message == (
                f"Session {session} is a conversation with codex, of which claude knows nothing: "
                "choose --agent codex, or begin a new session."
            )
        for recipe, agent in (("one", {"agent": "codex"}), ("anew", {"agent": "claude"})):
            run_id = await daemon.start(recipe, session_id=session, **agent)
            await daemon.service.cancel(run_id)
            await daemon.ended(run_id)
