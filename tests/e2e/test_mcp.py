"""Podium's tools over ``podium mcp``: for the real ``claude``, and for the official client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.rpc_client import Feed, Json
from tests.e2e.stories import held, when
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

PHASES = """
initial = "goal"

[context]
goal = "string"
rooms = "integer"

[steps.goal]
talk = true
system = "Find out what the person wants to build."
opening = "Begin."

[steps.goal.on]
agreed = { to = "plan", requires = ["goal"] }

[steps.plan]
talk = true
system = "It is {{ctx.goal}}."

[steps.plan.on]
done = { exit = "conversation-complete", class = "completed" }
"""

WORK = """
initial = "work"

[steps.work]
prompt = "Work on it."

[steps.work.on]
complete = { exit = "turn-complete", class = "completed" }
blocked = { exit = "implementation-blocked", class = "blocked" }
"""


@pytest.fixture
def machine(machine: Machine) -> Machine:
    """One whose agent has Podium's tools from a program of its own."""
    machine.configure(tools="stdio")
    return machine


def used(tool: str, **args: Any) -> dict[str, Any]:
    """An answer of the model that calls one of Podium's tools."""
    return {"tools": [{"name": f"mcp__podium__{tool}", "input": args}]}


@asynccontextmanager
async def in_turn(podium: PodiumDaemon, repo: GitRepo, recipe: str) -> AsyncIterator[Turn]:
    """A run whose agent is in the middle of its first turn, and stays there."""
    model = podium.machine.model
    model.load({"rules": [when("", held({"text": "Let me think about it. " * 20}))]})
    run = await begin(podium, repo, recipe)
    async with podium.follow(run["run_id"]) as feed:
        intended = await feed.until("turn.intended")
        await holding(model, "half")
        yield Turn(podium, run["run_id"], intended["turn_id"], feed)


class Turn:
    """One turn of an agent, and how its tools are reached."""

    def __init__(self, podium: PodiumDaemon, run_id: str, turn_id: str, feed: Feed) -> None:
        self.run_id = run_id
        self.feed = feed
        self.directory = podium.machine.podium_home / "state" / "turns" / turn_id
        self.file = self.directory / "mcp.json"
        self.server = json.loads(self.file.read_text())["mcpServers"]["podium"]
        self.token: str = self.server["env"]["PODIUM_TOOLS_TOKEN"]

    def peer(self, mode: str = "auto", **environment: str) -> Client:
        """The official client, which starts ``podium mcp`` as an agent does."""
        parameters = StdioServerParameters(
            command=self.server["command"],
            args=self.server["args"],
            env=self.server["env"] | environment,
        )
        return Client(parameters, mode=mode, read_timeout_seconds=HANG_SECONDS)


def words(result: CallToolResult) -> str:
    """What came of a call, as the model reads it."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def begin(podium: PodiumDaemon, repo: GitRepo, text: str) -> Json:
    recipe = podium.machine.recipe("phases", text)
    run: Json = await podium.rpc("runs.start", recipe=recipe, working_directory=str(repo.path))
    return run


# -- the real agent ----------------------------------------------------------------------------


async def test_claude_finds_the_tools_of_its_phase_and_uses_them(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    calls = [
        used("transition", to="agreed", summary="A house."),
        used("save", key="goal", value="a house"),
        used("transition", to="agreed", summary="A house."),
    ]
    model_server.load({"rules": [when("Begin", *calls, {"text": "Agreed."})]})
    run = await begin(podium, repo, PHASES)
    async with podium.follow(run["run_id"]) as feed:
        await feed.until("step.entered", step="plan")
    run = await podium.rpc("runs.get", run_id=run["run_id"])
    assert (run["step"], run["ctx"]["goal"]) == ("plan", "a house")
    offered = set(model_server.requests[0].tools)
    assert {"mcp__podium__save", "mcp__podium__transition", "mcp__podium__ask"} <= offered
    assert "goal" in model_server.requests[1].result, "the guard is not met, and that is said"
    assert [(one["tool"], one["success"]) for one in feed.data("tool.used")] == [
        ("transition", False),
        ("save", True),
        ("transition", True),
    ]


async def test_claude_reports_its_outcome_and_is_corrected_within_the_turn(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    calls = [
        used("report_outcome", outcome="finished"),
        used("report_outcome", outcome="blocked", detail="No key."),
    ]
    model_server.load({"rules": [when("Work", *calls, {"text": "That is all."})]})
    run = await podium.ended((await begin(podium, repo, WORK))["run_id"])
    assert run["exit"]["reason"] == "implementation-blocked"
    (entry,) = run["history"]
    assert (entry["outcome"], entry["source"], entry["attempts"]) == ("blocked", "tool", 1)
    assert "complete, blocked" in model_server.requests[1].result


# -- the official client -----------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_official_client_is_served_in_both_ways_of_the_protocol(
    podium: PodiumDaemon, repo: GitRepo, mode: str, version: str
) -> None:
    async with in_turn(podium, repo, PHASES) as turn, turn.peer(mode) as peer:
        assert peer.protocol_version == version
        assert peer.server_info is not None
        assert peer.server_info.name == "podium"
        tools = {tool.name: tool for tool in (await peer.list_tools()).tools}
        assert sorted(tools) == ["ask", "notify", "save", "transition"]
        assert all(tool.meta == {"anthropic/alwaysLoad": True} for tool in tools.values())
        assert tools["save"].input_schema["properties"]["key"]["enum"] == ["goal", "rooms"]
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning, match="ping is removed as of 2026-07-28"):
                await peer.send_ping()
        saved = await peer.call_tool("save", {"key": "goal", "value": "a house"})
        wrong = await peer.call_tool("save", {"key": "rooms", "value": "many"})
        missing = await peer.call_tool("report_outcome", {"outcome": "complete"})
        with pytest.raises(MCPError) as unknown:
            await peer.list_resources()
    run = await podium.rpc("runs.get", run_id=turn.run_id)
    assert run["ctx"] == {"goal": "a house"}
    assert not saved.is_error
    assert wrong.is_error and "whole number" in words(wrong)
    assert missing.is_error and "ask, save, transition, notify" in words(missing)
    assert unknown.value.error.code == -32601


# -- the token ---------------------------------------------------------------------------------


async def test_the_token_stands_in_no_argument_no_log_and_no_store(
    podium: PodiumDaemon, repo: GitRepo
) -> None:
    async with in_turn(podium, repo, PHASES) as turn, turn.peer() as peer:
        await peer.call_tool("save", {"key": "goal", "value": "a house"})
        lines = [line for _, line in podium.living()]
        assert sum("mcp" in line and "podium" in line for line in lines) >= 2, lines
        assert [line for line in lines if turn.token in line] == []
        holders = [path for path in podium.machine.podium_home.rglob("*") if holds(path, turn)]
    assert holders == [turn.file]
    assert turn.file.stat().st_mode & 0o777 == 0o600
    assert turn.token not in podium.log_text()


def holds(path: Path, turn: Turn) -> bool:
    return path.is_file() and turn.token.encode() in path.read_bytes()
