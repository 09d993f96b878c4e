"""A session in which another program drove an agent is listed, and Podium goes on with it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS
from tests.acp_agents.stories import SIDE, when
from tests.e2e.daemon import PodiumDaemon
from tests.fakes.model_server import ModelServer
from tests.fixtures.record_sessions import Agent

pytestmark = [pytest.mark.acp_agents, pytest.mark.slow]


def talk(machine: AgentMachine, where: Path) -> str:
    """Have another program talk with the agent; return the session's id."""
    environment = {
        "HOME": str(machine.home),
        "PATH": f"{Path(machine.command[0]).parent}:/usr/bin:/bin",
        **machine.row.set_up(machine.home, machine.model.url),
    }
    elsewhere = SimpleNamespace(
        name=machine.row.name,
        root=machine.home.parent,
        project=where,
        command=machine.command,
        environment=environment,
    )
    agent = Agent(cast(Any, elsewhere))
    session = agent.new()
    agent.prompt(session, "Look around")
    agent.end()
    return session


@pytest.mark.parametrize("name", ["kimi", "qwen", "copilot", "gemini"])
async def test_a_session_that_another_program_began_is_listed_and_gone_on_with(
    name: str, server: ModelServer, tmp_path: Path
) -> None:
    command = ROWS[name].program.command()
    program = Path(command[0])
    machine = AgentMachine(tmp_path, tmp_path / "home", program, server, ROWS[name], command)
    machine.set_up()
    machine.configure()
    repo = machine.repository()
    rules = [when("Look around", {"text": "I looked."}), when("And now", {"text": "Now I know."})]
    server.load({**SIDE, "rules": rules})
    own = await trio.to_thread.run_sync(talk, machine, repo.path)
    async with PodiumDaemon(machine) as podium:
        (session,) = (await podium.rpc("sessions.list"))["sessions"]
        assert (session["agent"], session["name"]) == (name, "Look around")
        assert session["working_directory"] == str(repo.path)
        said = await podium.cli("prompt", "And now?", "--session", own, cwd=repo.path)
        assert (said.code, said.out.strip()) == (0, "Now I know."), said
        assert "I looked." in server.requests[-1].anywhere
        await podium.restart()  # so that all that was written is read before anything is answered
        (after,) = (await podium.rpc("sessions.list"))["sessions"]
        assert after["session_id"] == session["session_id"]
        read = await podium.rpc("sessions.messages", session_id=own)
        texts = [one["text"] for one in read["messages"] if one["text"]]
        assert texts == ["Look around", "I looked.", "And now?", "Now I know."]
