"""A real ``claude`` in stream-json over plain pipes: as little as possible between test and CLI."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio

from podiumd.formats.claude_control import end_session, user_message
from podiumd.formats.claude_events import Event
from podiumd.formats.claude_stream import decode
from podiumd.formats.claude_turn import TurnReader
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

E = TypeVar("E")

STREAM = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio"),
)
SMALL = (
    *("--system-prompt", "You are a test agent.", "--system-prompt-snapshot", "off"),
    "--disable-slash-commands",
)
TOOLS = ("--tools", "Bash,Read,Write,Edit")


class Claude:
    """One process. ``events`` is all that it has said so far."""

    def __init__(self, process: trio.Process, session: str) -> None:
        self.session = session
        self.events: list[Event] = []
        self.turn = TurnReader()
        self._process = process
        self._rest = b""
        self._waiting: list[Event] = []

    async def send(self, line: bytes) -> None:
        """Write one line to its stdin."""
        assert self._process.stdin is not None
        await self._process.stdin.send_all(line)

    async def prompt(self, text: str, prompt_uuid: str | None = None) -> str:
        """Send a prompt, or a steer, and return its uuid."""
        identity = prompt_uuid or str(uuid.uuid4())
        self.turn.sent(identity)
        await self.send(user_message(text, identity))
        return identity

    async def event(self) -> Event:
        """Return its next event; fails when its output ends."""
        assert self._process.stdout is not None
        while not self._waiting:
            chunk = await self._process.stdout.receive_some(65_536)
            assert chunk, f"the output ended after {self.events[-3:]}"
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._waiting = [decode(line) for line in lines]
        found = self._waiting.pop(0)
        self.events.append(found)
        self.turn.feed(found)
        return found

    async def until(self, kind: type[E]) -> E:
        """Read on to the next event of this kind and return it."""
        while not isinstance(found := await self.event(), kind):
            pass
        return found

    async def finish(self) -> None:
        """Read on to the end of the turn."""
        while not self.turn.over:
            await self.event()

    def all(self, kind: type[E]) -> list[E]:
        """Return the events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def running(
    binary: Path,
    server: ModelServer,
    home: Path,
    *options: str,
    resume: str | None = None,
    environment: dict[str, str] | None = None,
    tools: tuple[str, ...] = TOOLS,
) -> AsyncIterator[Claude]:
    """Run ``claude`` in ``home``/work and end its session on the way out."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    (home / "work").mkdir(exist_ok=True)
    session = resume or str(uuid.uuid4())
    which = ("--resume", session) if resume else ("--session-id", session)
    process = await trio.lowlevel.open_process(
        [str(binary), *STREAM, *which, *SMALL, *tools, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home / "work",
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "ANTHROPIC_BASE_URL": server.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
            **(environment or {"ANTHROPIC_API_KEY": "dummy"}),
        },
    )
    claude = Claude(process, session)
    try:
        with trio.fail_after(HANG_SECONDS):
            yield claude
            await claude.send(end_session("end"))
            await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            if process.poll() is None:
                process.kill()
            await process.wait()
            assert process.stdin is not None and process.stdout is not None
            await process.stdin.aclose()
            await process.stdout.aclose()
