"""Claude Code's records made on the spot, and what its format makes of them."""

from __future__ import annotations

import json
from typing import Any

from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.message import (
    Message,
)
from podiumd.formats.session import Cursor, Entry, Summary

FORMAT = ClaudeSession()


def row(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def user(content: Any, **more: Any) -> bytes:
    return row(type="user", message={"role": "user", "content": content}, **more)


def assistant(*blocks: Any, **more: Any) -> bytes:
    return row(type="assistant", message={"role": "assistant", "content": list(blocks)}, **more)


def queued(prompt: Any, mode: Any = "prompt", **more: Any) -> bytes:
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
    return row(type="attachment", attachment=attachment, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def chunk(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def folded(*lines: bytes) -> Summary:
    summary = Summary()
    FORMAT.fold(summary, chunk(*lines))
    return summary


def entries(*lines: bytes) -> list[Entry]:
    return FORMAT.entries(Cursor(), chunk(*lines))


def message(line: bytes) -> Message:
    found = FORMAT.message(line)
    assert found is not None
    return found
