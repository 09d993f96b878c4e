"""A daemon whose native agent plays replies from a script, in a little project under git."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podiumd.agents.native.assembling import Workshop
from podiumd.agents.native.driver import NativeDriver
from podiumd.agents.native.kind import SESSIONS, NativeSettings
from podiumd.formats.message import Message
from podiumd.formats.native_session import NativeSession
from podiumd.formats.session import Cursor
from podiumd.sessions.index.tree import Root
from tests.runtime.harness import Daemon, Json, Machine
from tests.tools.git_repository import begin, run_git

BROKEN = "def add(a, b):\n    return a - b\n"
MENDED = "def add(a, b):\n    return a + b\n"
TESTS = "from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\n"


def act(*actions: Mapping[str, Any], words: str = "") -> str:
    """A reply with actions."""
    return f"{words}\n```json\n{json.dumps(list(actions))}\n```\n"


READ: Json = {"action": "read_file", "path": "calc.py"}
PATCH: Json = {
    "action": "patch",
    "file": "calc.py",
    "operations": [{"line": 2, "type": "replace", "content": ["    return a + b"]}],
}
TEST: Json = {"action": "run_tests"}
DONE: Json = {"action": "done", "summary": "The test passes."}
MENDING = [act(READ, words="I look."), act(PATCH, words="I mend it."), act(TEST), act(DONE)]


class NativeMachine(Machine):
    """A machine with the native agent; ``replies`` go into the script that it plays."""

    def __init__(self, root: Path, databases: Iterable[Path] = (), **settings: Any) -> None:
        super().__init__(root, databases)
        begin(self.project, {"calc.py": BROKEN, "test_calc.py": TESTS}, "Begin", named=True)
        self.script = root / "replies.json"
        given = {"mode": "allow-all", "sandbox": "off", "test_command": "python3 test_calc.py"}
        self.settings = NativeSettings(
            provider="scripted", model=str(self.script), **{**given, **settings}
        )
        self.drivers["native"] = NativeDriver(
            Workshop(
                agent="native",
                settings=lambda: self.settings,
                environ=os.environ,
                state=self.state,
            )
        )
        self.replies(*MENDING)

    @property
    def roots(self) -> list[Root]:
        """Where agents keep their session files, ours among them."""
        return [*super().roots, Root("native", self.state / SESSIONS)]

    def replies(self, *replies: str | Json) -> None:
        """What the model will say: texts, or whole replies of the script."""
        whole = [{"text": one} if isinstance(one, str) else one for one in replies]
        self.script.write_text(json.dumps({"replies": whole}))

    def configure(self, **settings: Any) -> None:
        """Change settings for turns that start later."""
        self.settings = replace(self.settings, **settings)

    def read(self, name: str = "calc.py") -> str:
        """A file of the project."""
        return (self.project / name).read_text()

    @property
    def subjects(self) -> list[str]:
        """The subjects of all commits, newest first."""
        return run_git(self.project, "log", "--format=%s").splitlines()

    def messages(self, session_id: str) -> list[Message]:
        """What a session's file holds for people; each message once."""
        data = (self.state / SESSIONS / f"{session_id}.jsonl").read_bytes()
        reader = NativeSession()
        entries = {one.identity: one for one in reader.entries(Cursor(), data)}
        found = (reader.message(data[e.offset : e.offset + e.length]) for e in entries.values())
        return [message for message in found if message is not None]


async def report(daemon: Daemon, run_id: str) -> Json:
    """The turn's end, with its text."""
    (ended,) = await daemon.events(run_id, "turn.ended")
    told: Json = ended["report"] | {"text": ended["text"]}
    return told
