"""Claude Code's words about itself: what its answer to the greeting holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from podiumd.agents.halves import Greeting


def greeting(lines: Sequence[bytes]) -> Greeting:
    """Read them off the lines of a turn that only opened a session."""
    told: Mapping[str, Any] = next(filter(None, map(_told, lines)), {})
    models = [one.get("value") for one in told.get("models") or () if isinstance(one, dict)]
    return Greeting(models=tuple(one for one in models if isinstance(one, str)))


def traces(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """List the file in which it notes the projects that it has been in."""
    chosen = environment.get("CLAUDE_CONFIG_DIR")
    return (Path(chosen or environment.get("HOME", "/"), ".claude.json"),)


def _told(line: bytes) -> Mapping[str, Any] | None:
    try:
        said = json.loads(line)["response"]["response"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
