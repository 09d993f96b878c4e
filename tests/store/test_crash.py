"""kill -9 at the store's failpoints: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

import podiumd
from podiumd.store.facts import open_store
from tests.long import sampled
from tests.store.support import value_of

CHILD = Path(__file__).with_name("crash_child.py")
WRITERS = 8

Acknowledged = set[tuple[str, int, int, int]]


async def _run_until_killed(directory: Path, failpoint: str) -> Acknowledged:
    package = Path(podiumd.__file__).parent.parent
    result = await trio.run_process(
        [sys.executable, str(CHILD), str(directory), str(WRITERS), "1000000"],
        env={**os.environ, "PYTHONPATH": str(package), "PODIUM_FAILPOINT": failpoint},
        capture_stdout=True,
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    lines = (line.split() for line in result.stdout.decode().splitlines())
    return {(run, int(seq), int(pos), int(value)) for run, seq, pos, value in lines}


async def _stored(directory: Path) -> Acknowledged:
    """Everything in the log, after checking that it has neither holes nor repeats."""
    async with open_store(directory) as store:
        facts = await store.events_after(0, 1_000_000)
        assert [f.pos for f in facts] == list(range(1, len(facts) + 1))
        for number in range(WRITERS):
            own = await store.events(f"run-{number}")
            assert [f.seq for f in own] == list(range(1, len(own) + 1))
            assert [value_of(f) for f in own] == list(range(len(own)))
            assert len(own) % 2 == 0
        return {(f.run_id, f.seq, f.pos, value_of(f)) for f in facts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hits"),
    sampled(
        [
            ("store.before-commit", (2, 40)),
            ("store.before-commit", (1, 2, 5, 17, 40)),
            ("store.after-commit", (1, 2, 5, 17, 40)),
        ]
    ),
)
async def test_what_was_acknowledged_before_a_kill_is_there_after_it(
    tmp_path: Path, name: str, hits: tuple[int, ...]
) -> None:
    """Crashes of one state directory, each some commits further on than the last."""
    acknowledged: Acknowledged = set()
    stored: Acknowledged = set()
    for hit in hits:
        acknowledged |= await _run_until_killed(tmp_path, f"{name}:{hit}")
        stored = await _stored(tmp_path)
        assert acknowledged <= stored
        # At most the one decision of each writer that was under way is there without a word.
        assert len(stored) - len(acknowledged) <= 2 * WRITERS * 5
    if name == "store.after-commit":
        assert stored > acknowledged, "the killed commit itself was durable"
    else:
        assert len(acknowledged) > 2 * 40
