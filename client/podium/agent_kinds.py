"""The kinds of agents. Made from ``podiumd.agents`` by ``make wire``; do not edit."""

from __future__ import annotations

CHAT_AGENT = "native"
"""The agent of a new chat that names none."""

LABELS = {
    "native": "Podium's own agent: an API key or a local model",
    "claude": "Claude Code",
    "codex": "Codex",
    "scripted": "plays a file of turns, for trying things out",
}
"""The agents that there are without a table in the configuration."""

MODE_SETTINGS = {
    "native": "mode",
    "claude": "permission_mode",
}
"""The setting of the mode, by the kind of agent."""

MODES = {
    "native": ("confirm", "allow-all", "read-only"),
}
"""The words for modes; other kinds have some that the daemon knows."""

CAPABILITIES = {
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
"""Capabilities in words, by their names."""

WITHOUT_SESSIONS = ("scripted",)
"""Kinds that keep no transcript."""

KNOWN = ("kimi", "qwen", "gemini", "copilot", "opencode", "goose", "cursor", "cline")
"""Agents that need no table where their program is on the daemon's PATH."""

PLAYERS = ("scripted",)
"""Kinds that play turns of a file, in whichever session."""
