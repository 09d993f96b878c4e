"""``mcp.message``: through to the tools of a turn, and no other way leads there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podiumd.core.prompts.tools import ToolSpec
from podiumd.rpc.methods import METHODS
from podiumd.runtime.tool_access import REFUSED, ToolAccess
from tests.rpc.harness import served

PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}'


async def use(call_id: str, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
    return True, f"{tool} done"


async def test_a_message_is_answered_and_a_notification_with_nothing(tmp_path: Path) -> None:
    access = ToolAccess()
    turn = tmp_path / "turn"
    turn.mkdir()
    token = access.issue(turn)
    save = ToolSpec("save", "Save.", {"type": "object"})

    async def tools(token: str, text: str, delivery: str | None) -> Any:
        return await access.message(token, text, delivery, [turn])

    async with served(tmp_path, tools=tools) as harness, harness.client() as client:
        early = await client.call("mcp.message", token=token, message=PING)
        with access.open(turn, [save], use):
            said = await client.result("mcp.message", token=token, message=PING, delivery="a-1")
            called = await client.result(
                "mcp.message",
                token=token,
                message='{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"save"}}',
            )
            unheard = await client.result(
                "mcp.message",
                token=token,
                message='{"jsonrpc":"2.0","method":"notifications/initialized"}',
            )
            wrong = await client.call("mcp.message", token=token[:-1], message=PING)

    assert early["error"]["code"] == -32008
    assert early["error"]["data"] == {"retry_after_ms": 200}
    assert said == {"reply": {"jsonrpc": "2.0", "id": 7, "result": {}}}
    assert called["reply"]["result"]["content"][0]["text"] == "save done"
    assert unheard == {"reply": None}
    assert wrong["error"] == {"code": -32006, "message": REFUSED, "data": {"reason": REFUSED}}


async def test_a_daemon_without_tools_refuses_every_token(tmp_path: Path) -> None:
    async with served(tmp_path) as harness, harness.client() as client:
        answer = await client.call("mcp.message", token="x", message=PING)

    assert answer["error"]["message"] == REFUSED


async def test_a_message_has_a_token_and_a_text(tmp_path: Path) -> None:
    async with served(tmp_path) as harness, harness.client() as client:
        for params in ({"token": "x"}, {"message": PING}, {"token": "x", "message": {}}):
            answer = await client.call("mcp.message", **params)
            assert answer["error"]["code"] == -32602


def test_one_method_leads_to_the_tools() -> None:
    assert [method.name for method in METHODS if "mcp" in method.name] == ["mcp.message"]
