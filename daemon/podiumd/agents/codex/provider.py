"""The provider whose models Codex asks, where that is not OpenAI: it needs no login there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from podiumd.tools.files.plain_file import read_plain

_MOST: Final = 1 << 20
_BUILT_IN: Final = ("amazon-bedrock", "lmstudio", "ollama")
"""Providers that Codex knows without a table, and that need no login at OpenAI."""


class OwnProvider(msgspec.Struct, frozen=True):
    """A provider of a person's own by its ``name``; ``key`` is the variable that has its key."""

    name: str
    key: str | None = None


def own_provider(home: Path) -> OwnProvider | None:
    """Read which provider Codex's own configuration chooses; ``None`` where that needs a login."""
    try:
        config = tomllib.loads(read_plain(home / "config.toml", _MOST, links=True).decode())
    except (OSError, ValueError):
        return None
    name, tables = config.get("model_provider"), config.get("model_providers")
    if not isinstance(name, str):
        return None
    found = tables.get(name) if isinstance(tables, dict) else None
    table = found if isinstance(found, dict) else {}
    if not table and name not in _BUILT_IN:
        return None
    if table.get("requires_openai_auth", False) is not False:
        return None
    key = table.get("env_key")
    return OwnProvider(name, key if isinstance(key, str) else None)
