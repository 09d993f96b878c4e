"""What Podium relies on where it serves tools to Claude Code and is asked at hooks (2.1.328).

Each test is one fact, held against the real binary, as in ``test_claude_contract``.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.claude.arguments import SERVERS
from podiumd.agents.claude.tools import NOT_OURS
from podiumd.core.prompts.tools import ToolSpec
from podiumd.formats import mcp
from podiumd.formats.claude_control import allow, hook_answer, initialize, server_reply
from podiumd.formats.claude_events import (
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    HookCallback,
    Init,
    Lifecycle,
    Result,
    ServerMessage,
    UserMessage,
)
from tests.e2e.claude_process import Claude, running
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

SCHEMA = {"type": "object", "properties": {"value": {"type": "string"}}}
SAVE, ASK = ToolSpec("save", "Keep a value.", SCHEMA), ToolSpec("ask", "Ask.", SCHEMA)
SERVED = ("--mcp-config", SERVERS, "--allowedTools", "mcp__podium__save", "mcp__podium__ask")
CALL = {"name": "mcp__podium__save", "input": {"value": "x"}}
TOUCH = {"name": "Bash", "input": {"command": "touch made", "description": "Make it"}}

React = Callable[[Claude, Event], Awaitable[None]]


async def greet(claude: Claude, event: Event, specs: tuple[ToolSpec, ...] = (SAVE, ASK)) -> bool:
    """Say what the server says by itself; whether there was something to say."""
    if not isinstance(event, ServerMessage):
        return False
    said = mcp.receive(event.message, specs)
    if isinstance(said, mcp.Call):
        return False
    await claude.send(server_reply(event.request_id, said))
    return True


async def answer(claude: Claude, event: Event, text: str = "Saved.") -> None:
    """Answer a call."""
    if isinstance(event, ServerMessage):
        call = mcp.receive(event.message, (SAVE, ASK))
        assert isinstance(call, mcp.Call)
        said = mcp.result(call, text, success=True)
        await claude.send(server_reply(event.request_id, said))


async def play(claude: Claude, react: React = answer) -> list[Event]:
    """Prompt, greet, react to all else, to the turn's end."""
    await claude.prompt("go")
    while not claude.turn.over:
        event = await claude.event()
        if not await greet(claude, event):
            await react(claude, event)
    return claude.events


async def allowing(claude: Claude, event: Event) -> None:
    """Allow what is asked for, and answer calls."""
    if isinstance(event, ControlRequest):
        await claude.send(allow(event.request_id))
    await answer(claude, event)


def messages(claude: Claude) -> list[str]:
    return [str(event.message.get("method")) for event in claude.all(ServerMessage)]


async def test_the_server_is_greeted_over_the_control_protocol_before_the_prompt_starts(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """No ``initialize`` of ours is needed. Each message is answered, the notification too, before
    the next one comes, and all three before the prompt's ``started``."""
    model_server.load({"turns": [{"tools": [CALL]}, {"text": "ok"}]})
    async with running(claude_binary, model_server, tmp_path, *SERVED) as claude:
        events = await play(claude)
    greeting = ["initialize", "notifications/initialized", "tools/list"]
    assert messages(claude) == [*greeting, "tools/call"]
    started = [isinstance(e, Lifecycle) and e.state == "started" for e in events].index(True)
    asked = [i for i, e in enumerate(events) if isinstance(e, ServerMessage)]
    assert asked[2] < started < asked[3]
    call = claude.all(ServerMessage)[3].message["params"]
    tool_use = claude.all(UserMessage)[0].results[0].tool_use_id
    assert call["_meta"]["claudecode/toolUseId"] == tool_use, "which call of the model's it is"
    assert set(claude.all(Init)[0].tools) >= {"mcp__podium__save", "mcp__podium__ask"}


async def test_tools_that_are_always_loaded_are_offered_with_their_schemas(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """Where the agent has ToolSearch, as it has by default, other tools are not in the request."""
    model_server.load({"default": {"text": "ok"}})
    async with running(claude_binary, model_server, tmp_path, *SERVED, tools=()) as claude:
        await play(claude)
    offered = model_server.requests[0].tools
    assert "ToolSearch" in offered and "mcp__podium__save" in offered


async def test_the_greeting_is_waited_for_as_long_as_mcp_timeout_says(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """Without an answer in time (30 s by default, here 1 s) it begins without the tools."""
    model_server.load({"default": {"text": "ok"}})
    environment = {"ANTHROPIC_API_KEY": "dummy", "MCP_TIMEOUT": "1000"}
    async with running(
        claude_binary, model_server, tmp_path, *SERVED, environment=environment
    ) as claude:
        await claude.prompt("go")
        while not claude.turn.over:
            await claude.event()
    assert "mcp__podium__save" not in model_server.requests[0].tools


async def test_an_answer_that_comes_twice_counts_once_and_one_for_nobody_not_at_all(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.load({"turns": [{"tools": [CALL]}, {"text": "ok"}]})

    async def twice(claude: Claude, event: Event) -> None:
        if isinstance(event, ServerMessage):
            await claude.send(server_reply("nobodys", {"jsonrpc": "2.0", "id": 9, "result": {}}))
            await answer(claude, event, "First.")
            await answer(claude, event, "Second.")

    async with running(claude_binary, model_server, tmp_path, *SERVED) as claude:
        await play(claude, twice)
    assert [result.text for e in claude.all(UserMessage) for result in e.results] == ["First."]
    assert claude.turn.report().kind == "done"


async def test_a_servers_tools_are_outside_tools_and_strict_and_asked_for_in_plan_mode_only(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """``--tools ""`` and ``--strict-mcp-config`` leave them; ``--allowedTools`` allows them."""
    model_server.load({"rules": [
        {"when": {"result": "Saved"}, "text": "ok"},
        {"when": {"prompt": "go"}, "tools": [CALL]},
    ]})  # fmt: skip
    asked = {}
    for mode in ("default", "dontAsk", "plan"):
        options = ("--strict-mcp-config", "--permission-mode", mode, *SERVED)
        (tmp_path / mode).mkdir()
        async with running(
            claude_binary, model_server, tmp_path / mode, *options, tools=("--tools", "")
        ) as claude:
            await play(claude, allowing)
        asked[mode] = [request.tool for request in claude.all(ControlRequest)]
        assert messages(claude)[-1] == "tools/call"
    assert asked == {"default": [], "dontAsk": [], "plan": ["mcp__podium__save"]}
    tools = set(model_server.requests[0].tools) - {"DeferredToolPlaceholder"}
    assert tools == {"mcp__podium__save", "mcp__podium__ask"}


async def test_ours_goes_before_a_persons_own_server_of_that_name(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    own = {"podium": {"type": "stdio", "command": "/bin/false"}}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": own}))
    model_server.load({"turns": [{"tools": [CALL]}, {"text": "ok"}]})
    async with running(claude_binary, model_server, tmp_path, *SERVED) as claude:
        await play(claude)
    assert messages(claude)[-1] == "tools/call"


@pytest.mark.parametrize("snapshot", ["on", "off"])
async def test_a_resumed_session_keeps_its_first_system_text_and_tools_unless_told_not_to(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path, snapshot: str
) -> None:
    """``on`` is the default, so a turn of a phase says ``off``."""
    model_server.load({"default": {"text": "ok"}})
    session = None
    for word, spec in (("ALPHA", SAVE), ("BETA", ASK)):
        (tmp_path / "system.txt").write_text(f"You are in {word}.")
        text = ("--append-system-prompt-file", str(tmp_path / "system.txt"))
        options = ("--system-prompt-snapshot", snapshot, *text, *SERVED)
        async with running(
            claude_binary, model_server, tmp_path, *options, resume=session
        ) as claude:
            session = claude.session
            await claude.prompt("go")
            while not claude.turn.over:
                await greet(claude, await claude.event(), (spec,))
    second = model_server.requests[1]
    kept = snapshot == "on"
    assert ("ALPHA" in second.system, "BETA" in second.system) == (kept, not kept)
    assert ("mcp__podium__save" in second.tools) is kept and "mcp__podium__ask" in second.tools


BOTH = initialize("hooks", ("before", "after"), NOT_OURS)
HOOKED = (*SERVED, "Bash")


async def test_hooks_are_asked_for_before_the_prompt_and_told_of_tools_but_ours(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """The matcher is an expression of JavaScript's; the response comes before the prompt is
    queued, so a prompt that stands behind the request in a pipe meets its hooks. A person's own
    setting that turns hooks off speaks of other hooks."""
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"disableAllHooks": true}')
    fails = {"name": "Bash", "input": {"command": "exit 3", "description": "Fail"}}
    greets = {"name": "Bash", "input": {"command": "echo hi", "description": "Greet"}}
    model_server.load(
        {"turns": [{"tools": [CALL]}, {"tools": [greets]}, {"tools": [fails]}, {"text": "ok"}]}
    )

    async def settle(claude: Claude, event: Event) -> None:
        if isinstance(event, HookCallback):
            await claude.send(hook_answer(event.request_id, event.event, None))
        await answer(claude, event)

    async with running(claude_binary, model_server, tmp_path, *HOOKED) as claude:
        await claude.send(BOTH)
        events = await play(claude, settle)
    ready = next(i for i, e in enumerate(events) if isinstance(e, ControlResponse))
    assert events[ready] == ControlResponse("hooks", None, ())
    assert ready < next(i for i, e in enumerate(events) if isinstance(e, Lifecycle))
    assert [(hook.event, hook.tool, hook.output) for hook in claude.all(HookCallback)] == [
        ("PreToolUse", "Bash", ""),
        ("PostToolUse", "Bash", "hi"),
        ("PreToolUse", "Bash", ""),
        ("PostToolUseFailure", "Bash", "Exit code 3"),
    ]


async def test_a_refusal_before_a_tool_holds_it_back_and_is_listed_as_a_hooks(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.load({"turns": [{"tools": [TOUCH]}, {"text": "Then not."}]})

    async def refuse(claude: Claude, event: Event) -> None:
        if isinstance(event, HookCallback):
            await claude.send(hook_answer(event.request_id, event.event, "Only in docs."))
            await claude.send(hook_answer(event.request_id, event.event, None))

    async with running(claude_binary, model_server, tmp_path, *HOOKED) as claude:
        await claude.send(BOTH)
        await play(claude, refuse)
    assert not (tmp_path / "work" / "made").exists()
    assert model_server.requests[1].result == "PreToolUse:Bash hook error: Only in docs."
    (denied,) = claude.all(Result)[0].permission_denials
    assert claude.turn.hook_refusals == {denied.tool_use_id}


async def test_a_hook_that_is_never_answered_holds_the_tool_back(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """Its time is in seconds; after it the CLI withdraws the request and refuses the tool."""
    model_server.load({"turns": [{"tools": [TOUCH]}, {"text": "Then not."}]})
    short: dict[str, Any] = json.loads(initialize("hooks", ("before",), NOT_OURS))
    short["request"]["hooks"]["PreToolUse"][0]["timeout"] = 1

    async def nothing(claude: Claude, event: Event) -> None:
        """Nobody is there."""

    async with running(claude_binary, model_server, tmp_path, *HOOKED) as claude:
        await claude.send(json.dumps(short).encode() + b"\n")
        await play(claude, nothing)
    (hook,) = claude.all(HookCallback)
    assert claude.all(ControlCancel) == [ControlCancel(hook.request_id)]
    assert "The tool call was not executed" in model_server.requests[1].result
    assert not (tmp_path / "work" / "made").exists()
