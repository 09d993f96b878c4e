"""Recorded output and session files of the real Claude Code, and session files of other agents."""

from __future__ import annotations

import json
from pathlib import Path

CLAUDE = Path(__file__).parents[1] / "fixtures" / "claude"
CODEX = CLAUDE.with_name("codex")
EXCHANGES = CLAUDE.with_name("exchanges") / "codex"
SESSIONS = CLAUDE.with_name("sessions")


def lines(name: str) -> list[bytes]:
    """Return a recording's lines, newlines left off. ``name``: such as ``text.stdout``."""
    return (CLAUDE / f"{name}.jsonl").read_bytes().splitlines()


def stdouts() -> list[str]:
    """Return the names of all recorded stdouts."""
    found = sorted(CLAUDE.rglob("*.stdout.jsonl"))
    return [str(path.relative_to(CLAUDE)).removesuffix(".jsonl") for path in found]


def sessions() -> list[str]:
    """Return the names of all recorded session files, sub-agents' included."""
    found = [*CLAUDE.rglob("*.session*.jsonl"), *CLAUDE.rglob("*.subagent.jsonl")]
    return [str(path.relative_to(CLAUDE)).removesuffix(".jsonl") for path in sorted(found)]


def rollouts() -> list[str]:
    """Return the names of all recorded session files of Codex."""
    return sorted(
        path.name.removesuffix(".rollout.jsonl") for path in CODEX.glob("*.rollout.jsonl")
    )


def exchanges() -> list[str]:
    """Return the names of all recorded conversations with an app-server of Codex."""
    return sorted(path.stem for path in EXCHANGES.glob("*.jsonl"))


def exchange(name: str, side: str) -> list[bytes]:
    """Return the lines that one side, ``podium`` or ``agent``, wrote in such a conversation."""
    rows = (EXCHANGES / f"{name}.jsonl").read_bytes().splitlines()
    read = (json.loads(row) for row in rows)
    return [json.dumps(row["line"]).encode() for row in read if row["from"] == side]


def rollout(name: str) -> bytes:
    """Return a recorded session file of Codex."""
    return (CODEX / f"{name}.rollout.jsonl").read_bytes()


def session(name: str) -> bytes:
    """Return a recorded session file of Claude Code. ``name``: such as ``text.session``."""
    return (CLAUDE / f"{name}.jsonl").read_bytes()


def of(agent: str, story: str) -> list[Path]:
    """Return the recorded files of an agent's sessions in one story, those that hold most first."""
    found = (SESSIONS / agent / story).rglob("*.jsonl")
    return sorted(found, key=lambda path: (-path.stat().st_size, path))


def transcripts() -> list[tuple[str, bytes]]:
    """Return every recorded session file, with its agent."""
    claude = [("claude", session(name)) for name in sessions()]
    codex = [("codex", rollout(name)) for name in rollouts()]
    others = ((path.relative_to(SESSIONS).parts[0], path) for path in SESSIONS.rglob("*.jsonl"))
    return [*claude, *codex, *((agent, path.read_bytes()) for agent, path in sorted(others))]
