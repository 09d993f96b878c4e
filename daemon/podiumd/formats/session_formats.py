"""The formats of session files, by the agent that writes them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.codex_session import CodexSession
from podiumd.formats.native_session import NativeSession
from podiumd.formats.session import SessionFormat

FORMATS: Final[Mapping[str, SessionFormat]] = MappingProxyType(
    {"claude": ClaudeSession(), "codex": CodexSession(), "native": NativeSession()}
)
