"""The scripted agent's demo is for its own recipe: in another it would write its files there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podiumd.runtime.errors import AgentUnavailable
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
        assert "[agents.scripted] script" in raised.value.data["fix"]
        await daemon.begun(demo, agent="scripted")
