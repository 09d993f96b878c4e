"""What a transcript is by the rules: read in the plain way, with the standard library alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROMPT_CHARACTERS = 150
"""Of a session's first prompt: what the manifest keeps of it."""


def read(path: Path) -> dict[str, Any]:
    """Read one of ``session_tree``'s transcripts; the keys are those of its manifest."""
    *lines, rest = path.read_bytes().split(b"\n")
    status = path.stat()
    found: dict[str, Any] = {
        "session_id": path.stem,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "lines": len(lines),
        "torn": bool(rest),
        **dict.fromkeys(("messages", "bad_lines"), 0),
        **dict.fromkeys(("cwd", "title", "prompt", "last_at", "tip"), ""),
    }
    titles = {"summary": "", "ai-title": "", "custom-title": ""}
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            found["bad_lines"] += 1
            continue
        found["messages"] += _is_message(record)
        found["cwd"] = found["cwd"] or record.get("cwd", "")
        found["last_at"] = record.get("timestamp", found["last_at"])
        found["prompt"] = found["prompt"] or _prompt(record)
        if not record.get("isSidechain"):
            found["tip"] = record.get("uuid", found["tip"])
        if record["type"] in titles:
            keys = ("customTitle", "aiTitle", "summary")
            titles[record["type"]] = next(record[key] for key in keys if key in record)
    found["title"] = titles["custom-title"] or titles["ai-title"] or titles["summary"]
    return found


def _is_message(record: dict[str, Any]) -> bool:
    if record["type"] == "attachment":
        return bool(record["attachment"]["type"] == "queued_command")
    own = record.get("isSidechain") or record.get("isMeta")
    return record["type"] in {"user", "assistant"} and not own


def _prompt(record: dict[str, Any]) -> str:
    content = record.get("message", {}).get("content")
    if record["type"] != "user" or not _is_message(record) or not isinstance(content, str):
        return ""
    return " ".join(content.split())[:PROMPT_CHARACTERS]
