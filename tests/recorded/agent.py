"""A stand-in for Claude Code: a process of its own that leaves its token, waits, and is done.

It is called ``claude`` in the world, speaks as much of stream-json as a plain turn takes, writes
the token of the turn's tools, where it has some, to the file ``token`` and reads the pipe ``held``
to its end, but where it is to sum up.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def say(**message: object) -> None:
    """Write one line."""
    os.write(1, json.dumps(message).encode() + b"\n")


def lifecycle(uuid: str, state: str) -> None:
    """Tell what became of a message."""
    say(type="command_lifecycle", command_uuid=uuid, state=state)


def work(uuid: str, *, waits: bool) -> None:
    """Take a prompt up, wait to be let go, answer; sum up without a word."""
    lifecycle(uuid, "started")
    if "--mcp-config" in sys.argv:
        servers = json.loads(Path(sys.argv[sys.argv.index("--mcp-config") + 1]).read_text())
        Path("token").write_text(servers["mcpServers"]["podium"]["env"]["PODIUM_TOOLS_TOKEN"])
    if waits:
        Path("held").read_bytes()
        words = {"id": "m1", "model": "stand-in", "content": [{"type": "text", "text": "Done."}]}
        say(type="assistant", uuid="a1", message=words, parent_tool_use_id=None)
    ending = {"is_error": False, "terminal_reason": "completed", "total_cost_usd": 0.25}
    say(type="result", subtype="success", result="Done." if waits else "", **ending)
    lifecycle(uuid, "completed")
    say(type="system", subtype="session_state_changed", state="idle")


def main() -> None:
    """Read lines until told to end."""
    if "--version" in sys.argv:
        print("2.0.0 (Claude Code)")
        return
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "user":
            work(message["uuid"], waits="/compact" not in line)
        elif message.get("request", {}).get("subtype") == "end_session":
            return


main()
