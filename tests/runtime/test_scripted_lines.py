"""The scripted agent's demo is for its own recipe: in another it would write its files there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import demo_script
from podiumd.runtime.errors import AgentUnavailable, InvalidParameter
from tests.plain import plain
from tests.runtime.harness import Machine, running


async def test_a_recipe_without_lines_for_it_is_not_played_by_the_demo(machine: Machine) -> None:
    machine.drivers["scripted"] = machine.agent
    one, demo = machine.one_step("one"), machine.one_step("demo")
    async with running(machine) as daemon:
        scripted = replace(daemon.context.agents["scripted"], only_recipe="demo")
        daemon.context.agents["scripted"] = scripted
        with pytest.raises(AgentUnavailable) as raised:
            await daemon.start(one, agent="scripted")
        assert "the scripted agent has no script for 'one'" in raised.value.message
        assert "--script FILE" in plain(raised.value.data)["fix"]
        await daemon.begun(demo, agent="scripted")


async def test_a_run_keeps_the_script_that_it_was_started_with_over_a_restart(
    machine: Machine, tmp_path: Path
) -> None:
    machine.drivers["scripted"] = ScriptedDriver(demo_script())
    lines = tmp_path / "lines.toml"
    lines.write_text('[[turns]]\ntext = "From the file."\noutcome = { outcome = "complete" }\n')
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        agent = replace(daemon.context.agents["scripted"], only_recipe="demo")
        daemon.context.agents["scripted"] = agent
        run_id = await daemon.start(gated, agent="scripted", script=str(lines))
        await daemon.question(run_id)
    lines.unlink()
    async with running(machine) as daemon:
        await daemon.answer(run_id, "yes")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert [turn["text"] for turn in await daemon.events(run_id, "turn.ended")] == [
            "From the file."
        ]
        assert (await daemon.events(run_id, "run.started"))[0]["script"] == str(lines)


@pytest.mark.parametrize(
    ("agent", "complaint"),
    [
        ("scripted", r"lines.toml, line 3: turns\[0\].txt: it is unknown"),
        ("claude", "a script is played by the scripted agent alone"),
    ],
)
async def test_a_script_that_cannot_be_played_starts_nothing(
    machine: Machine, tmp_path: Path, agent: str, complaint: str
) -> None:
    machine.drivers["scripted"] = ScriptedDriver(demo_script())
    lines = tmp_path / "lines.toml"
    lines.write_text("# a slip\n[[turns]]\ntxt = 1\n")
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter, match=complaint):
            await daemon.start(machine.one_step("one"), agent=agent, script=str(lines))
        with pytest.raises(InvalidParameter, match=complaint):
            await daemon.prompt("Hello.", agent=agent, script=str(lines))
        assert await daemon.service.locks() == []


async def test_a_script_without_its_agent_is_named_before_a_default_agent_that_is_missing(
    machine: Machine, tmp_path: Path
) -> None:
    machine.drivers["scripted"] = ScriptedDriver(demo_script())
    machine.agent.problem = "it is not installed"
    lines = tmp_path / "lines.toml"
    lines.write_text('[[turns]]\ntext = "Hello."\n')
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter) as raised:
            await daemon.prompt("Hello.", script=str(lines))
        assert plain(raised.value.data)["fix"] == "Say so: --agent scripted."


async def test_each_prompt_of_a_session_plays_the_turn_that_fits_it(
    machine: Machine, tmp_path: Path
) -> None:
    machine.drivers["scripted"] = ScriptedDriver(demo_script())
    lines = tmp_path / "lines.toml"
    lines.write_text(
        '[[turns]]\nwhen = "hello"\ntext = "Hello."\n[[turns]]\ntext = "Anything else."\n'
    )
    given = {"agent": "scripted", "script": str(lines)}
    async with running(machine) as daemon:
        said = [await daemon.prompt("hello", **given, wait=True)]
        session = said[0]["session_id"]
        said += [
            await daemon.prompt(words, **given, session_id=session, wait=True)
            for words in ("hello", "what else?")
        ]
    assert [turn["text"] for turn in said] == ["Hello.", "Hello.", "Anything else."]


async def test_words_for_a_run_bring_no_script(machine: Machine, tmp_path: Path) -> None:
    machine.drivers["scripted"] = machine.agent
    lines = tmp_path / "lines.toml"
    lines.write_text('[[turns]]\ntext = "Hello."\n')
    async with running(machine) as daemon:
        run_id, _ = await daemon.begun(machine.one_step("one"), agent="scripted")
        run = await daemon.service.get_run(run_id)
        with pytest.raises(InvalidParameter, match="has its script already"):
            await daemon.prompt(
                "More.",
                session_id=run.session_id,
                if_busy="steer",
                agent="scripted",
                script=str(lines),
            )
