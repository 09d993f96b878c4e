"""An agent that reaches its tools from outside of the daemon: with the token of its turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from podiumd.drivers.base import TurnRequest
from podiumd.runtime.errors import Overloaded, Refused
from tests.runtime.conversations import hook, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running

TOKEN = "PODIUM_TOOLS_TOKEN"


@pytest.fixture
def outside(machine: Machine) -> Machine:
    """A machine whose agent cannot be served by its driver."""
    machine.agent.capabilities = replace(machine.agent.capabilities, own_tools="none", hooks=False)
    return machine


def over_stdio(machine: Machine) -> None:
    """The person has set that the agent is to start ``podium mcp`` itself."""
    machine.agent.capabilities = replace(machine.agent.capabilities, own_tools="mcp")


def token_of(request: TurnRequest) -> str:
    assert request.tools_server is not None
    return request.tools_server.environment[TOKEN]


async def call(
    daemon: Daemon, token: str, tool: str, delivery: str | None = None, **args: Any
) -> tuple[bool, str]:
    """A call from outside; whether it was done, and the words for it."""
    params = {"name": tool, "arguments": args}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    going_on = [daemon.context.turn_directory(turn) for turn in daemon.runs.in_use()[0]]
    access = daemon.context.tool_access
    reply = await access.message(token, json.dumps(message), delivery, going_on)
    assert isinstance(reply, dict)
    result = reply["result"]
    return not result["isError"], result["content"][0]["text"]


async def test_the_agent_is_given_a_server_to_start_and_its_calls_are_facts(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        over_stdio(machine)
        run_id = await daemon.start(talk(machine))
        turn = await daemon.turn()
        token = token_of(turn.request)
        assert TOKEN not in turn.request.environment
        assert (await call(daemon, token, "save", key="goal", value="A shop"))[0]
        refused = await call(daemon, token, "transition", to="nowhere", summary="s")
        assert not refused[0] and "agreed" in refused[1]
        assert (await call(daemon, token, "transition", to="agreed", summary="s"))[0]
        turn.end(done())
        await daemon.until(run_id, lambda state: state.step == "design")
        assert daemon.actor(run_id).state.ctx["goal"] == "A shop"
        with pytest.raises(Refused):
            await call(daemon, token, "save", key="goal", value="Too late")


async def test_each_turn_has_a_token_of_its_own(machine: Machine) -> None:
    async with running(machine) as daemon:
        over_stdio(machine)
        run_id = await daemon.start(talk(machine))
        first = await daemon.turn()
        first.end(done(text="What do you want?"))
        await daemon.until(run_id, lambda state: state.waits_for_words)
        session = daemon.actor(run_id).state.session_id
        await daemon.prompt("A shop", session_id=session)
        second = await daemon.turn()
        assert token_of(first.request) != token_of(second.request)
        with pytest.raises(Refused):
            await call(daemon, token_of(first.request), "save", key="goal", value="x")
        assert (await call(daemon, token_of(second.request), "save", key="goal", value="x"))[0]
        second.end(done())


async def test_a_call_that_is_sent_again_to_the_next_daemon_is_done_once(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        over_stdio(machine)
        run_id = await daemon.start(talk(machine))
        token = token_of((await daemon.turn()).request)
        said = await call(daemon, token, "notify", "a-1", message="Half done")
    async with running(machine) as daemon:
        again = await patient(daemon, token, "notify", "a-1", message="Half done")
        more = await call(daemon, token, "notify", "a-2", message="Done")
        assert said == again and more[0]
        machine.agent.turns[0].end(done())
        await daemon.until(run_id, lambda state: state.turn is None)
        told = [used["args"]["message"] for used in await daemon.events(run_id, "tool.used")]
        assert told == ["Half done", "Done"]


async def patient(daemon: Daemon, *call_: Any, **args: Any) -> tuple[bool, str]:
    """A call that is made until the turn is taken up; the harness bounds the time."""
    while True:
        try:
            return await call(daemon, *call_, **args)
        except Overloaded:
            await trio.lowlevel.checkpoint()


async def test_hooks_are_asked_about_calls_from_outside_too(machine: Machine) -> None:
    refuses = hook("before-tool", "sh", "-c", "echo Not that one >&2; exit 2", match="save")
    async with running(machine) as daemon:
        over_stdio(machine)
        await daemon.start(talk(machine, goal=refuses))
        turn = await daemon.turn()
        said = await call(daemon, token_of(turn.request), "save", key="goal", value="x")
        assert not said[0] and "Not that one" in said[1]
        turn.end(done())


async def test_an_agent_whose_driver_serves_no_tools_has_the_token_in_its_environment(
    outside: Machine,
) -> None:
    async with running(outside) as daemon:
        run_id = await daemon.start(outside.one_step())
        turn = await daemon.turn()
        assert turn.request.tools_server is None
        environment = turn.request.environment
        assert environment["PODIUM_SOCKET"]
        said = await call(daemon, environment[TOKEN], "report_outcome", outcome="finished")
        assert not said[0] and "complete" in said[1]
        assert (await call(daemon, environment[TOKEN], "report_outcome", outcome="complete"))[0]
        turn.end(done(text="That is all."))
        run = await daemon.ended(run_id)
        assert (run["history"][0]["outcome"], run["history"][0]["source"]) == ("complete", "tool")


async def test_an_agent_that_is_served_has_no_token(machine: Machine) -> None:
    async with running(machine) as daemon:
        await daemon.start(talk(machine))
        request = (await daemon.turn()).request
        assert request.tools_server is None
        assert TOKEN not in request.environment
        assert list(Path(request.directory).iterdir()) == []
        machine.agent.turns[0].end(done())
