"""Recorded output and session files of the real Claude Code."""

from __future__ import annotations

from pathlib import Path

CLAUDE = Path(__file__).parents[1] / "fixtures" / "claude"


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
