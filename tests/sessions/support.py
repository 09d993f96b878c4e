"""Transcripts made on the spot, for the tests of the index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podiumd.formats.claude_session import ClaudeSession
from podiumd.formats.session import Cursor, Layout, Summary
from podiumd.sessions.index.shapes import Kind
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Companion, Found, Root, look
from podiumd.sessions.index.update import Update, update

FORMAT = ClaudeSession()


def session_id(number: int = 1) -> str:
    return f"5f1c8a52-0000-4000-8000-{number:012x}"


def line(number: int, text: str = "hello", **fields: Any) -> bytes:
    """The record of a person's prompt, with its newline."""
    record = {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{number:012x}",
        "timestamp": f"2026-05-01T10:00:{number % 60:02d}.000Z",
        "cwd": "/home/dev/app",
        "message": {"role": "user", "content": text},
        **fields,
    }
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def lines(first: int, count: int) -> bytes:
    return b"".join(line(number) for number in range(first, first + count))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def replace(path: Path, data: bytes) -> None:
    """Put another file in the place of this one."""
    draft = path.with_name("draft")
    draft.write_bytes(data)
    draft.rename(path)


def overwrite(path: Path, data: bytes) -> None:
    """Write other content into the same file."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(data)


def find(path: Path) -> Found:
    """What a look at a session's file finds."""
    found = look([Root("claude", path.parent.parent)], str(path))
    assert isinstance(found, Found)
    return found


def read(path: Path, row: Row | None = None, cursor: Cursor | None = None) -> Update:
    """Bring a session up to date from a file that can be read."""
    result = update(FORMAT, find(path), row, cursor=cursor)
    assert isinstance(result, Update)
    return result


def placed(path: Path, result: Update) -> list[bytes]:
    """The lines at the places of the messages that were read."""
    data = path.read_bytes()
    return [data[entry.offset : entry.offset + entry.length] for entry in result.entries]


def companion(number: int, name: str = "agent-1.jsonl", size: int = 1) -> Companion:
    path = f"/home/dev/.claude/projects/p/{session_id(number)}/subagents/{name}"
    kind: Kind = "subagent_meta" if name.endswith(".json") else "subagent"
    return Companion(session_id(number), path, kind, size, 1)


class Counting:
    """The format, noting what it is given."""

    agent = FORMAT.agent
    layout: Layout = FORMAT.layout
    beside = FORMAT.beside
    describe = FORMAT.describe
    message = FORMAT.message
    entries = FORMAT.entries

    def __init__(self) -> None:
        self.folded = b""

    def fold(self, summary: Summary, chunk: bytes) -> None:
        self.folded += chunk
        FORMAT.fold(summary, chunk)


def read_counted(path: Path, row: Row | None) -> tuple[Update, bytes]:
    counting = Counting()
    result = update(counting, find(path), row)
    assert isinstance(result, Update)
    return result, counting.folded
