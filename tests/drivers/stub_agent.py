"""A small stand-in agent that misbehaves on purpose, for what the real one does not do on cue.

Speaks just enough of stream-json. Its words on the command line say how it behaves: ``deaf``
ignores SIGTERM, ``stays`` ignores the end of session, ``unstoppable`` ignores interrupts, ``idle``
answers at once and is idle, ``open`` never closes its prompt, ``torn`` ends within a line,
``asks`` asks for an approval first, ``greets`` for the tools there are, ``calls`` calls one,
``hooked`` asks at a hook, ``waits`` takes its prompt up when the pipe ``gate`` is opened and is
done after a second message, ``garbage`` writes a line that is not JSON, ``silent`` says nothing
but waits, ``exits`` ends before the turn does, ``retries`` fails to reach its model once
the pipe ``gate`` is opened, ``endless`` begins a line that has no end yet, ``complains`` writes as
much to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys

WORDS = set(sys.argv[1:])
CALL = {"name": "save", "arguments": {"key": "goal", "value": "x"}}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HOOK = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t"}
REQUESTS = {
    "asks": {"subtype": "can_use_tool", "tool_name": "Write", "input": {}, "tool_use_id": "t"},
    "greets": {"subtype": "mcp_message", "message": LIST},
    "calls": {
        "subtype": "mcp_message",
        "message": {**LIST, "method": "tools/call", "params": CALL},
    },
    "hooked": {"subtype": "hook_callback", "input": HOOK},
}


def say(**message: object) -> None:
    """Write one line."""
    os.write(1, json.dumps(message).encode() + b"\n")


def lifecycle(uuid: str, state: str) -> None:
    """Tell what became of a message."""
    say(type="command_lifecycle", command_uuid=uuid, state=state)


def finish(uuid: str) -> None:
    """Answer and be idle."""
    content = [{"type": "text", "text": "hello"}]
    message = {"id": "m1", "model": "stub", "content": content}
    say(type="assistant", uuid="a1", message=message, parent_tool_use_id=None)
    say(type="result", subtype="success", is_error=False, terminal_reason="completed", result="hi")
    if "open" not in WORDS:
        lifecycle(uuid, "completed")
    say(type="system", subtype="session_state_changed", state="idle")


def prompted(uuid: str) -> None:
    """Take a prompt."""
    if "waits" in WORDS:
        words = {"id": "m0", "model": "stub", "content": [{"type": "text", "text": "I wait."}]}
        say(type="assistant", uuid="a0", message=words)
        with open("gate", "rb"):
            pass
    lifecycle(uuid, "started")
    if "garbage" in WORDS:
        os.write(1, b"{torn in the mid\n")
    if "exits" in WORDS:
        sys.exit(7)
    if "endless" in WORDS:
        os.write(1, b"x" * 100_000)
    if "complains" in WORDS:
        os.write(2, b"x" * 100_000)
    if "torn" in WORDS:
        os.write(1, b'{"type": "assis')
        sys.exit(0)
    if "retries" in WORDS:
        with open("gate", "rb"):
            pass
        say(type="system", subtype="api_retry", attempt=1, max_retries=10, retry_delay_ms=50)
        return
    asked = [REQUESTS[word] for word in WORDS if word in REQUESTS]
    if asked:
        words = {"id": "m1", "model": "stub", "content": [{"type": "text", "text": "I ask."}]}
        say(type="assistant", uuid="a1", message=words)
        say(type="control_request", request_id="r1", request=asked[0])
    elif "idle" in WORDS:
        finish(uuid)


def main() -> None:
    """Read lines until told to end."""
    if "deaf" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    uuid = ""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "user" and "waits" in WORDS and uuid:
            lifecycle(message["uuid"], "started")
            lifecycle(message["uuid"], "completed")
            finish(uuid)
        elif message["type"] == "user" and "silent" not in WORDS:
            uuid = uuid or message["uuid"]
            prompted(message["uuid"])
        elif message["type"] == "control_response":
            finish(uuid)
        elif message["type"] == "control_request":
            subtype = message["request"]["subtype"]
            if subtype == "end_session" and "stays" not in WORDS:
                sys.exit(0)
            if subtype == "interrupt" and "unstoppable" not in WORDS:
                lifecycle(uuid, "cancelled")
                say(type="system", subtype="session_state_changed", state="idle")


main()
