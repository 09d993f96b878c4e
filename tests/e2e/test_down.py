"""``podium down``, and a daemon whose socket was taken away: nobody is left without a word."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine

pytestmark = pytest.mark.claude

SCRIPT = """
[[turns]]
times = 0
ask = { tool = "Bash" }
text = "Never said."
"""


def asking(machine: Machine, tmp_path: Path) -> PodiumDaemon:
    """A daemon whose scripted agent asks before everything, and waits."""
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    return PodiumDaemon(machine, PODIUM_AGENTS_SCRIPTED_SCRIPT=str(script))


async def test_everyone_who_follows_is_told_what_down_has_ended(
    machine: Machine, tmp_path: Path
) -> None:
    """Four prompts, each followed by a client of its own: as many as run at once."""
    async with asking(machine, tmp_path) as podium, AsyncExitStack() as stack:
        words = ["--agent", "scripted", "--json"]
        screens = [
            await stack.enter_async_context(podium.watching("prompt", f"Wait {n}.", *words))
            for n in range(4)
        ]
        for screen in screens:
            await screen.until('"question.opened"')
        assert (await podium.cli("down")).code == 0
        for screen in screens:
            assert '"run.ended"' in await screen.until("user-requested")


async def test_a_daemon_without_its_socket_is_named_and_can_be_stopped(
    machine: Machine, repo: GitRepo, tmp_path: Path
) -> None:
    async with asking(machine, tmp_path) as podium:
        machine.socket.unlink()
        status = await podium.cli("status")
        up = await podium.cli("up")
        down = await podium.cli("down")
        assert await podium.wait() == 0
    assert status.code == 6 and f"(pid {podium.pid}) runs" in status.err
    assert "'podium down'" in status.err
    assert up.code == 1 and "'podium down' stops it" in up.err
    assert down.code == 0, down
    assert f"pid {podium.pid}" in down.out and "signal" in down.out
