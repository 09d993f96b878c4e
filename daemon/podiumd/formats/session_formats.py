"""The formats of session files: the one place where a format is registered."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from podiumd.formats.acp.session import AcpSession
from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.codex_session import CodexSession
from podiumd.formats.copilot_session import CopilotSession
from podiumd.formats.gemini_session import GeminiSession
from podiumd.formats.kimi_session import KimiSession
from podiumd.formats.native_session import NativeSession
from podiumd.formats.qwen_session import QwenSession
from podiumd.formats.session import SessionFormat

FORMATS: Final[Mapping[str, SessionFormat]] = MappingProxyType(
    {
        form.agent: form
        for form in (
            AcpSession(),
            ClaudeSession(),
            CodexSession(),
            NativeSession(),
            QwenSession(),
            GeminiSession(),
            KimiSession(),
            CopilotSession(),
        )
    }
)
"""By name. A kind of agent says which is its own (``podiumd.agents.kind.Kind.session_format``)."""
