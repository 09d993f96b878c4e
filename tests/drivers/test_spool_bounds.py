"""How much the agent of a turn may write."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from trio.testing import MockClock

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers import agent_process, spooled
from podiumd.drivers.base import Started
from podiumd.drivers.spool import Line, SpoolReader, watch_spools
from podiumd.tools.process.processes import Identity, alive
from tests.drivers.rig import Rig, follow


async def test_an_agent_that_writes_without_end_is_stopped(
    bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled, "MEBIBYTE", 10)
    async with watch_spools() as watch:
        claude = ClaudeDriver(watch, lambda: 1)
        async with claude.turn(bench("asks").request()) as turn:
            await follow(turn)
    assert turn.report.kind == "failed"
    assert turn.report.detail == (
        "the agent wrote more than 1 MiB of output (limits.spool_megabytes)"
    )


@pytest.mark.parametrize("word", ["endless", "complains"])
async def test_what_is_no_line_yet_and_what_goes_to_stderr_is_output_too(
    bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(spooled, "MEBIBYTE", 50_000)
    async with watch_spools() as watch:
        claude = ClaudeDriver(watch, lambda: 1)
        async with claude.turn(bench(word).request()) as turn:
            await follow(turn)
    assert turn.report.kind == "failed" and "limits.spool_megabytes" in turn.report.detail


async def test_one_that_floods_us_is_not_asked_to_stop_but_terminated(
    bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """By a clock that stands still: no step of the ending is waited for."""
    monkeypatch.setattr(spooled, "MEBIBYTE", 50_000)
    async with watch_spools() as watch:
        claude = ClaudeDriver(watch, lambda: 1)
        async with claude.turn(bench("endless", "unstoppable", "stays").request()) as turn:
            await follow(turn)
    assert (turn.report.kind, turn.report.exit_status) == ("failed", -signal.SIGTERM)


async def test_what_an_agent_left_running_may_write_on_and_the_turn_ends(
    claude: ClaudeDriver, bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, agents, grown = SpoolReader.read, list[Identity](), list[int]()
    request = bench("idle").request()

    def growing(reader: SpoolReader) -> list[Line]:
        if agents and not alive(agents[0]):
            grown.append(spool.stat().st_size + (2 << 20))
            assert len(grown) < 500, "it is read for as long as it is written"
            os.truncate(spool, grown[-1])
        return read(reader)

    spool = Path(request.directory, agent_process.SPOOL)
    monkeypatch.setattr(SpoolReader, "read", growing)
    async with claude.turn(request) as turn:
        async for event in turn:
            if isinstance(event, Started):
                agents.append(Identity(event.pid, event.proc_start))
    assert turn.report.kind in ("done", "broken")


async def test_a_program_that_tells_its_version_without_end_cannot_be_used(
    claude: ClaudeDriver, tmp_path: Path
) -> None:
    endless = tmp_path / "endless"
    endless.write_text("#!/bin/sh\nyes | head -c 200000\n")
    endless.chmod(0o755)
    fault = await claude.available((str(endless),), {"PATH": "/usr/bin:/bin"})
    assert fault == f"`{endless} --version` printed more than 64 KiB"
