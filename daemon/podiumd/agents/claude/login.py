"""Claude Code's login, by its own answer and without asking a model.

``claude auth status`` answers in some 0.3 s and connects to no server (2.1.328, behind a proxy that
notes every connection). In a home where it was never started it would make its files, so there the
environment alone is looked at: a doctor changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
THIRD_PARTY: Final = "CLAUDE_CODE_USE_"
_MANAGED: Final = Path("/etc/claude-code/managed-settings.json")
_WORDS: Final = {
    "claude.ai": "logged in",
    "oauth_token": "token in the environment",
    "third_party": "asks through another provider",
}


class Login(msgspec.Struct, frozen=True):
    """The login of an agent. ``there``: whether it is logged in, ``None`` where that is unknown;
    ``how`` in words."""

    there: bool | None
    how: str = ""


def was_started(environment: Mapping[str, str]) -> bool:
    """Return whether the agent has its own file in this home already, so that asking makes none."""
    chosen = environment.get("CLAUDE_CONFIG_DIR")
    base = Path(chosen) if chosen else Path(environment.get("HOME", "/"))
    return (base / ".claude.json").exists()


def by_environment(environment: Mapping[str, str]) -> Login:
    """Derive the login from the environment, without asking the agent."""
    for name, value in sorted(environment.items()):
        if value and (name in KEYS or name.startswith(THIRD_PARTY)):
            return Login(there=True, how=f"key in {name}")
    chosen = environment.get("CLAUDE_CONFIG_DIR")
    home = Path(chosen) if chosen else Path(environment.get("HOME", "/"), ".claude")
    stored = (home / ".credentials.json", home / "settings.json", _MANAGED)
    return Login(there=None if any(path.exists() for path in stored) else False)


def by_its_word(said: str) -> Login:
    """Parse the output of ``claude auth status``; an older one may not know the command."""
    try:
        answer: Any = json.loads(said)
        there = answer["loggedIn"]
    except (ValueError, KeyError, TypeError):
        return Login(there=None)
    if not isinstance(there, bool):
        return Login(there=None)
    source = answer.get("apiKeySource")
    how = (
        f"key in {source}" if isinstance(source, str) else _WORDS.get(str(answer.get("authMethod")))
    )
    return Login(there=there, how=how or "logged in")
