"""A person's own ``claude``: in a terminal, with its screen drawn, or asked once without one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import termios
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.e2e.machine import AGENT_SETTINGS, Machine
from tests.patience import HANG_SECONDS

ROWS, COLUMNS = 40, 120
PROMPT_MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


class Terminal:
    """A session that is open on a person's screen; ``drawn`` is all that was drawn there."""

    def __init__(self, master: int) -> None:
        self.pid = 0
        self.drawn = b""
        self._master = master
        self._more = trio.Event()

    async def say(self, word: str) -> None:
        """Type one word (between words the screen moves its cursor) and press return."""
        with trio.fail_after(HANG_SECONDS):
            await self._until(PROMPT_MARK)
            os.write(self._master, word.encode())
            await self._until(word)  # return in one piece with it would be a paste
            os.write(self._master, b"\r")

    async def _until(self, words: str) -> None:
        while words.encode() not in self.drawn:
            await self._more.wait()

    async def look(self) -> bytes:
        """Read what it draws next, as a screen would."""
        await trio.lowlevel.wait_readable(self._master)
        drawn = os.read(self._master, 65_536)
        self.drawn += drawn
        self._more.set()
        self._more = trio.Event()
        return drawn

    async def look_on(self) -> None:
        """Read all that it draws, so that it never waits for us."""
        drawn = b"some"
        while drawn:
            try:
                drawn = await self.look()
            except OSError:  # the other side of the terminal is closed
                return
            await trio.lowlevel.checkpoint()


@asynccontextmanager
async def terminal(machine: Machine, session_id: str, where: Path) -> AsyncIterator[Terminal]:
    """Resume a session in a terminal, and yield it once it is open there."""
    _past_onboarding(machine, where)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = Terminal(master)
    process = await trio.lowlevel.open_process(
        [str(machine.claude), "--resume", session_id],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=where,
        env=machine.environment(TERM="xterm-256color", **AGENT_SETTINGS),
        start_new_session=True,
    )
    os.close(slave)
    os.set_blocking(master, False)
    screen.pid = process.pid
    record = machine.home / ".claude" / "sessions" / f"{process.pid}.json"
    try:
        with trio.fail_after(HANG_SECONDS):
            while not record.exists():  # it draws before and after it writes its record
                await screen.look()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(screen.look_on)
            yield screen
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(HANG_SECONDS, shield=True):
            if process.returncode is None:
                process.terminate()
            await process.wait()
        os.close(master)


async def ask_alone(
    machine: Machine, session_id: str, where: Path, prompt: str, *options: str
) -> str:
    """Ask in a session behind Podium's back, as ``claude -p --resume`` in a shell does."""
    return await _alone(machine, where, "-p", prompt, "--resume", session_id, *options)


async def begin_alone(
    machine: Machine, where: Path, prompt: str, *options: str, session_id: str | None = None
) -> str:
    """Begin a session that Podium has no part in, and return its id."""
    session_id = session_id or str(uuid.uuid4())
    await _alone(machine, where, "-p", prompt, "--session-id", session_id, *options)
    return session_id


async def _alone(machine: Machine, where: Path, *arguments: str) -> str:
    done = await trio.run_process(
        [str(machine.claude), *arguments],
        cwd=where,
        env=machine.environment(CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="1", **AGENT_SETTINGS),
        stdin=b"",
        capture_stdout=True,
    )
    return done.stdout.decode().strip()


def _past_onboarding(machine: Machine, where: Path) -> None:
    """Answer beforehand what a first start in a terminal asks."""
    path = machine.home / ".claude.json"
    settings = json.loads(path.read_text())
    settings |= {"hasCompletedOnboarding": True, "theme": "dark"}
    settings["customApiKeyResponses"] = {"approved": ["dummy"], "rejected": []}
    settings["projects"] = {str(where): {"hasTrustDialogAccepted": True}}
    path.write_text(json.dumps(settings))
