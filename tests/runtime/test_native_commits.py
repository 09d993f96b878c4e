"""The commits of the native agent in a daemon: several at once, and where none can be made."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from podiumd.tools import index_lock
from tests.runtime.harness import running
from tests.runtime.native_bench import BROKEN, DONE, PATCH, NativeMachine, act, report
from tests.tools.git_repository import run_git


@pytest.fixture
def machine(tmp_path: Path) -> NativeMachine:
    return NativeMachine(tmp_path)


async def test_prompts_at_once_in_one_tree_all_have_their_commit(machine: NativeMachine) -> None:
    names = [f"f{number}.txt" for number in range(4)]
    writes = [act({"action": "write_file", "path": name, "content": "x\n"}) for name in names]
    machine.replies(
        # The prompt goes with a list of the files, which the others are writing.
        *({"when": f"Write number {n}", "text": text} for n, text in enumerate(writes)),
        {"when": "^Result", "text": "Done."},
    )
    ends: list[str] = []
    async with running(machine) as daemon:

        async def prompt(number: int) -> None:
            sent = await daemon.prompt(f"Write number {number}", agent="native")
            ended = await daemon.ended(sent["run_id"])
            ends.append(ended["exit"]["reason"])

        async with trio.open_nursery() as nursery:
            for number in range(len(names)):
                nursery.start_soon(prompt, number)

    assert ends == ["turn-complete"] * 4
    assert sorted(machine.subjects) == sorted([*(f"AI: created {n}" for n in names), "Begin"])
    assert run_git(machine.project, "status", "--porcelain") == ""


async def test_where_git_is_held_by_another_nothing_is_committed_and_that_comes_first(
    machine: NativeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lock, "LOCK_SECONDS", 0.0)
    lock = machine.project / ".git/index.lock"
    lock.touch()
    machine.replies(act(PATCH, words="I mend it."), act(DONE))
    async with running(machine) as daemon:
        sent = await daemon.prompt("Mend it.", agent="native")
        await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])

    assert told["commit"] is None
    assert told["text"].startswith(f"nothing was committed: another git has held '{lock}'")
    assert told["text"].endswith("I mend it.\n\nThe test passes.")
    lock.unlink()
    assert machine.subjects == ["Begin"]
    assert run_git(machine.project, "diff", "--cached", "--name-only") == ""
    assert machine.read() != BROKEN
