"""The fake agent as a client of a tool server that it starts itself."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.drivers.kit.fake_agent import Json, Tool


def call_over_mcp(tool: Tool, servers: list[Json]) -> None:
    """Call a tool of the one server that there is: started for this call, and ended after it."""
    if not servers:
        tool.result, tool.failed = f"there is no tool {tool.own}", True
        return
    (server,) = servers
    environment = {**os.environ, **_environment(server.get("env", {}))}
    ours, theirs = os.pipe(), os.pipe()
    arguments = [server["command"], *server.get("args", ())]
    actions = [(os.POSIX_SPAWN_DUP2, ours[0], 0), (os.POSIX_SPAWN_DUP2, theirs[1], 1)]
    child = os.posix_spawnp(arguments[0], arguments, environment, file_actions=actions)
    os.close(ours[0])
    os.close(theirs[1])
    with os.fdopen(ours[1], "wb", buffering=0) as to, os.fdopen(theirs[0], "rb") as back:
        offer = {"protocolVersion": "2025-06-18", "capabilities": {}}
        _ask(to, back, 1, "initialize", {**offer, "clientInfo": {"name": "fake", "version": "1"}})
        to.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        result = _ask(to, back, 2, "tools/call", {"name": tool.own, "arguments": tool.args})
    os.waitpid(child, 0)
    tool.result, tool.failed = result["content"][0]["text"], bool(result.get("isError"))


def _environment(told: Any) -> dict[str, str]:
    """Take variables as either protocol gives them: a mapping, or a list of names and values."""
    return told if isinstance(told, dict) else {one["name"]: one["value"] for one in told}


def _ask(to: Any, back: Any, key: int, method: str, params: Json) -> Json:
    asked = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
    to.write(json.dumps(asked).encode() + b"\n")
    for line in back:
        said = json.loads(line)
        if said.get("id") == key:
            return dict(said["result"])
    raise EOFError(method)
