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

WITHOUT_SESSIONS = ("scripted",)
"""Kinds that keep no transcript."""

KNOWN = ("kimi", "qwen", "gemini", "copilot", "opencode", "goose", "cursor", "cline")
"""Agents that need no table where their program is on the daemon's PATH."""

PLAYERS = ("scripted",)
"""Kinds that play turns of a file, in whichever session."""
