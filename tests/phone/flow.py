"""Messages on their way into transcripts: what people and agents might write, by a seed."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

BEGIN = datetime(2026, 5, 1, 10, tzinfo=UTC)
MANY_WORDS = 24_000
"""Characters of the longest messages: more than a phone is given of one."""
WORDS = (
    "Grüße",
    "the door",
    "🐢🐢",
    "x" * 40,
    "\u2028line\n",
    "```py\nprint()\n```",
    "日本語",
    '"q"',
)


class Line(NamedTuple):
    """One record of a transcript, and what a phone has to make of it."""

    uuid: str
    role: str
    text: str
    record: bytes


class Transcript:
    """One session's file; ``lines`` are all that were written."""

    def __init__(self, projects: Path, session_id: str, chance: random.Random) -> None:
        self.session_id = session_id
        self.lines: list[Line] = []
        self._chance = chance
        folder = projects / "-home-ada-project"
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{session_id}.jsonl"

    def append(self, count: int) -> Iterator[None]:
        """Write so many messages, in a few pieces that need not end where a line does; each step
        of the iterator has written one piece."""
        added = [self._make(len(self.lines) + at) for at in range(count)]
        self.lines += added
        data = b"".join(line.record for line in added)
        cuts = sorted(self._chance.randrange(len(data)) for _ in range(self._chance.randrange(8)))
        at = 0
        for end in (*cuts, len(data)):
            with self._path.open("ab") as file:
                file.write(data[at:end])
            at = end
            yield

    def _make(self, number: int) -> Line:
        role = self._chance.choice(("user", "assistant", "assistant"))
        text = self._text(number)
        identity = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        content = text if role == "user" else [{"type": "text", "text": text}]
        moment = BEGIN + timedelta(milliseconds=number * 137)
        record = {
            "type": role,
            "uuid": identity,
            "sessionId": self.session_id,
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "cwd": "/home/ada/project",
            "message": {"role": role, "content": content},
        }
        data = json.dumps(record, ensure_ascii=self._chance.random() < 0.5).encode() + b"\n"
        return Line(identity, role, text, data)

    def _text(self, number: int) -> str:
        size = self._chance.random()
        if size < 0.003:
            return f"{number} " + "A wall of words. " * (MANY_WORDS // 17)
        words = self._chance.choices(WORDS, k=int(40 ** self._chance.random()))
        return f"{number} {' '.join(words)}"


def made(projects: Path, count: int, seed: int) -> list[Transcript]:
    """So many sessions, each with its first message."""
    chance = random.Random(seed)
    sessions = []
    for _ in range(count):
        session_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        session = Transcript(projects, session_id, random.Random(chance.getrandbits(64)))
        for _ in session.append(1):
            pass
        sessions.append(session)
    return sessions
