"""A person's own ``claude``: in a terminal, with its screen drawn, or asked once without one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.e2e.machine import AGENT_SETTINGS, Machine

ROWS, COLUMNS = 40, 120
SECONDS = 15.0


@asynccontextmanager
async def terminal(machine: Machine, session_id: str, where: Path) -> AsyncIterator[int]:
    """Resume a session in a terminal, and yield its pid once it is open there."""
    _past_onboarding(machine, where)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
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
    record = machine.home / ".claude" / "sessions" / f"{process.pid}.json"
    try:
        with trio.fail_after(SECONDS):
            while not record.exists():  # it draws before and after it writes its record
                await _look(master)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_look_on, master)
            yield process.pid
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SECONDS):
            if process.returncode is None:
                process.terminate()
            await process.wait()
        os.close(master)


async def ask_alone(machine: Machine, session_id: str, where: Path, prompt: str) -> str:
    """Ask in a session behind Podium's back, as ``claude -p --resume`` in a shell does."""
    done = await trio.run_process(
        [str(machine.claude), "-p", prompt, "--resume", session_id],
        cwd=where,
        env=machine.environment(**AGENT_SETTINGS),
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


async def _look(master: int) -> bytes:
    await trio.lowlevel.wait_readable(master)
    return os.read(master, 65_536)


async def _look_on(master: int) -> None:
    """Read what it draws, as a screen would, so that it never waits for us."""
    drawn = b"some"
    while drawn:
        try:
            drawn = await _look(master)
        except OSError:  # the other side of the terminal is closed
            return
        await trio.lowlevel.checkpoint()
