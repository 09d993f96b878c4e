"""An agent that takes much memory is noted, and goes on."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from podiumd.core.run.facts import RunStarted, TurnIntended, TurnStarted
from podiumd.core.run.state import ActiveTurn, RunState
from podiumd.runtime.maintenance.memory_notes import MIB, MemoryNotes
from podiumd.tools.process.memory import tree_bytes

HOLD = """
import subprocess, sys
held = bytes(range(256)) * {kib} * 4
child = [sys.executable, "-c", "held = b'x' * (40 * 1024 * 1024); print(flush=True); input()"]
with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
    process.stdout.readline()
    print(flush=True)
    input()
    process.stdin.close()
"""


def at_work(run_id: str, pid: int) -> RunState:
    start = RunStarted(
        run_id=run_id, kind="prompt", session_id="s", working_directory="/", agent="claude"
    )
    intent = TurnIntended(
        turn_id=f"{run_id}-turn",
        prompt_uuid="p",
        purpose="prompt",
        session_id="s",
        agent="claude",
        prompt="Hello",
    )
    started = TurnStarted(turn_id=intent.turn_id, pid=pid, proc_start=1, group=pid, mono=0.0)
    turn = ActiveTurn(intent=intent, started=started)
    return RunState(start=start, started_at="2026-01-01T00:00:00.000Z", turn=turn)


class Looking:
    """Notes on runs whose agents take what the test says, in MiB by pid."""

    def __init__(self, limit: int, **megabytes: int) -> None:
        self.megabytes = {int(name[1:]): value for name, value in megabytes.items()}
        self.states = [at_work(f"run-{pid}", pid) for pid in self.megabytes]
        self.limit = limit
        self.noted: list[tuple[str, int]] = []
        self.notes = MemoryNotes(
            lambda: self.states,
            lambda: self.limit,
            self._log,
            lambda pid: self.megabytes[pid] * MIB,
        )

    def _log(self, event: str, level: str = "info", **fields: Any) -> None:
        assert (event, level) == ("Agent memory high", "warning")
        self.noted.append((fields["run_id"], fields["megabytes"]))


def test_who_takes_more_than_the_limit_is_noted_once() -> None:
    looking = Looking(100, p1=100, p2=101)

    assert looking.notes.total() == 201 * MIB
    looking.notes.total()

    assert looking.noted == [("run-2", 101)]


def test_each_doubling_is_noted_again() -> None:
    looking = Looking(100, p1=150)
    for megabytes in (150, 299, 300, 120, 599, 600):
        looking.megabytes[1] = megabytes
        looking.notes.total()

    assert [megabytes for _, megabytes in looking.noted] == [150, 300, 600]


def test_without_a_limit_nothing_is_noted() -> None:
    looking = Looking(0, p1=10_000)

    assert (looking.notes.total(), looking.noted) == (10_000 * MIB, [])


def test_a_run_without_an_agent_takes_nothing() -> None:
    looking = Looking(100, p1=150)
    looking.states = []

    assert (looking.notes.total(), looking.noted) == (0, [])


def test_a_process_counts_with_what_it_started() -> None:
    command = [sys.executable, "-c", HOLD.format(kib=20 * 1024)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        taken = tree_bytes(process.pid)
        process.stdin.write(b"\n")
        process.stdin.close()

    assert 60 * MIB < taken < 200 * MIB
    assert tree_bytes(process.pid) == 0
