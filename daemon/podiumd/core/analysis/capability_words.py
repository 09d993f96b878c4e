"""Capabilities of agents in words for people, as 'podium agents' shows them."""

from __future__ import annotations

from typing import Final

CAPABILITIES: Final = {
    "resume": "goes on with a session",
    "fork": "copies a session",
    "steer": "takes words while it works",
    "interrupt": "stops when it is asked to",
    "approvals": "asks before it uses a tool",
    "read_only_tools": "can be kept to reading",
    "tool_lists": "can be kept to a list of tools",
    "deny_words": "is told why it may not",
    "structured_output": "answers by a schema",
    "own_tools": "Podium's tools, by",
    "hooks": "hooks around its tools",
    "system_text": "another system text a turn",
    "compacts": "sums up by itself",
    "usage": "tells its use, as",
    "images": "takes images",
    "exactly_once": "a prompt once, by",
    "survives_daemon": "works on without the daemon",
    "names_sessions": "names its sessions itself",
    "unasked": "never asks about",
}
