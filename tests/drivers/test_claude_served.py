"""Podium's tools and hooks in turns of the real ``claude``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers.base import HookPoint, ToolCalled, Turn, TurnEvent
from podiumd.drivers.spool import watch_spools
from tests.drivers.rig import Rig, approvals, bash, play, started, until
from tests.drivers.serving import ASK, EVERY_TOOL, SAVE, Podium, call, save
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.claude, pytest.mark.slow]


@pytest.fixture
def podium(rig: Rig) -> Podium:
    return Podium(rig.root / "calls.jsonl")


def calls(events: list[TurnEvent]) -> list[ToolCalled]:
    return [event for event in events if isinstance(event, ToolCalled)]


def hooked(podium: Podium) -> list[tuple[str, str]]:
    return [(hook.event, hook.tool) for hook in podium.hooks]


async def test_a_tool_of_podiums_is_offered_called_and_answered(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    server.load({"turns": [save("x", "Noting it."), {"text": "Noted."}]})
    turn, events = await play(claude, rig.request(served=(SAVE, ASK)), podium)
    assert {"mcp__podium__save", "mcp__podium__ask"} <= set(server.requests[0].tools)
    assert [(one.tool, one.args) for one in calls(events)] == [
        ("save", {"key": "goal", "value": "x"})
    ]
    assert approvals(events) == [] and podium.hooks == []
    assert server.requests[1].result == "Saved x."
    assert (turn.report.kind, turn.report.texts) == ("done", ("Noting it.", "Noted."))
    assert turn.report.tool_begun


async def test_a_refusal_is_read_by_the_model_as_an_error(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [save("x"), {"text": "Then not."}]})

    async def refuse(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            assert await turn.reply_tool(event.call_id, "goal takes a number", success=False)
            assert await turn.reply_tool(event.call_id, "done after all", success=True)

    turn, _ = await play(claude, rig.request(served=(SAVE,)), refuse)
    assert server.requests[1].result == "goal takes a number", "the first answer holds"
    assert turn.report.kind == "done"


async def test_calls_of_one_message_come_one_after_the_other(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    both = [*save("x")["tools"], *save("y")["tools"]]  # type: ignore[misc]
    server.load({"turns": [{"tools": both}, {"text": "ok"}]})
    _, events = await play(claude, rig.request(served=(SAVE,)), podium)
    assert [one.args["value"] for one in calls(events)] == ["x", "y"]
    assert server.requests[1].result == "Saved x.\nSaved y."


@pytest.mark.parametrize("tools", ["none", ("Bash", "save"), ("Bash", "mcp__podium__save")])
async def test_podiums_tools_are_beside_those_the_step_allows(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium, tools: object
) -> None:
    server.load({"turns": [save("x"), {"text": "ok"}]})
    await play(claude, rig.request(served=(SAVE,), tools=tools), podium)
    own = {"Bash"} if tools != "none" else set()
    offered = set(server.requests[0].tools) - {"DeferredToolPlaceholder"}
    assert offered == own | {"mcp__podium__save"} and len(podium.done) == 1


@pytest.mark.parametrize("mode", ["plan", "dontAsk", "default"])
async def test_podiums_tools_are_never_asked_for(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium, mode: str
) -> None:
    server.load({"turns": [save("x"), {"text": "ok"}]})
    _, events = await play(claude, rig.request(served=(SAVE,), permission_mode=mode), podium)
    assert approvals(events) == [] and len(podium.done) == 1


async def test_each_turn_of_a_session_has_its_own_system_text_and_tools(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    server.load({"default": {"text": "ok"}})
    command = rig.command[:1]  # as people run it: with the snapshot that is on by default
    phases: list[dict[str, Any]] = [
        {"system_prompt": "You are in ALPHA.", "served": (SAVE,)},
        {"system_prompt": "You are in BETA.", "served": (ASK,), "session_mode": "resume"},
        {"session_mode": "resume"},
    ]
    for phase in phases:
        await play(claude, rig.request(command=command, **phase), podium)
    seen = [
        (
            [word for word in ("ALPHA", "BETA") if word in request.system],
            [tool for tool in request.tools if "podium" in tool],
        )
        for request in server.requests
    ]
    assert seen == [(["ALPHA"], ["mcp__podium__save"]), (["BETA"], ["mcp__podium__ask"]), ([], [])]


async def test_a_turn_that_is_ended_in_the_greeting_ends_in_order(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    """Left without an answer the agent would have to be killed."""
    server.load({"turns": [{"text": "must not run"}]})
    request = rig.request(served=(SAVE,))
    spool = Path(request.directory, "out.jsonl")
    with trio.fail_after(HANG_SECONDS):
        async with watch_spools() as beside, claude.turn(request) as turn:
            await anext(turn)
            await until(beside, spool.parent, lambda: b'"initialize"' in spool.read_bytes())
    assert turn.report.kind == "interrupted" and turn.report.exit_status in (0, 1)


async def test_an_interrupt_withdraws_a_call_that_waits(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [save("x"), {"text": "must not run"}]})

    async def stop(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            await turn.interrupt()

    turn, events = await play(claude, rig.request(served=(SAVE,)), stop)
    assert turn.report.kind == "interrupted" and len(server.requests) == 1
    assert turn.report.exit_status in (0, 1)
    assert not await turn.reply_tool(calls(events)[0].call_id, "late", success=True)


async def test_hooks_stand_around_the_agents_own_tools_and_not_around_podiums(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    server.load({"turns": [save("x"), bash("echo hi"), bash("echo no; exit 3"), {"text": "ok"}]})
    request = rig.request(served=(SAVE,), hooks=EVERY_TOOL, allow=("Bash",))
    turn, _ = await play(claude, request, podium)
    assert hooked(podium) == [("before-tool", "Bash"), ("after-tool", "Bash")] * 2
    assert podium.hooks[0].input["command"] == "echo hi" and podium.hooks[0].output == ""
    assert podium.hooks[1].output == "hi"
    assert podium.hooks[3].output.startswith("Exit code 3")
    assert turn.report.kind == "done" and len(podium.done) == 1


async def test_hooks_are_asked_without_served_tools_too_and_not_about_the_structured_answer(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    server.load({"turns": [bash("echo hi"), {"structured": {"outcome": "a"}}]})
    schema = {"type": "object", "properties": {"outcome": {"enum": ["a", "b"]}}}
    before = (HookPoint("before-tool", "Bash"),)
    request = rig.request(
        hooks=before, allow=("Bash",), schema=schema, system_prompt="You are in ALPHA."
    )
    turn, _ = await play(claude, request, podium)
    assert hooked(podium) == [("before-tool", "Bash")]
    assert turn.report.structured == {"outcome": "a"}
    assert "You are in ALPHA." in server.requests[0].system


async def test_a_refused_tool_does_not_run_and_the_model_is_told_why(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [bash("touch made"), {"text": "Then not."}]})
    podium = Podium(rig.root / "calls", lambda hook: "Only in docs.")
    request = rig.request(hooks=EVERY_TOOL, allow=("Bash",))
    turn, events = await play(claude, request, podium)
    assert hooked(podium) == [("before-tool", "Bash")] and not (rig.work / "made").exists()
    assert server.requests[1].result.endswith("Only in docs.")
    assert turn.report.kind == "done"
    settled = await claude.inspect(rig.pending(request, started(events)))
    assert settled.state == "finished", "a hook's word is no denial that nobody gave"


async def test_what_an_after_tool_hook_says_reaches_the_model_and_the_deed_stands(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [bash("touch made"), bash("exit 3"), {"text": "I see."}]})
    podium = Podium(
        rig.root / "calls",
        lambda hook: f"{hook.input['command']} it was" if hook.event == "after-tool" else None,
    )
    await play(claude, rig.request(hooks=EVERY_TOOL, allow=("Bash",)), podium)
    assert (rig.work / "made").exists()
    assert "touch made it was" in server.requests[1].anywhere
    assert "exit 3 it was" in server.requests[2].anywhere


async def test_tools_that_the_persons_settings_forbid_are_told_of(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, podium: Podium
) -> None:
    settings = rig.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"deny": ["mcp__podium__save"]}}')
    server.load({"turns": [call("ask", question="?"), {"text": "ok"}]})
    _, events = await play(claude, rig.request(served=(SAVE, ASK)), podium)
    told = [getattr(event, "delta", "") for event in events]
    assert "the agent began without save of Podium's tools" in told and len(podium.done) == 1
