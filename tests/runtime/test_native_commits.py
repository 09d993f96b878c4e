"""The commits of the native agent in a daemon: several at once, and where none can be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.tools.commit import index_lock
from tests.runtime.harness import Json, running
from tests.runtime.native_bench import (
    BROKEN,
    DONE,
    MENDED,
    PATCH,
    NativeMachine,
    act,
    report,
)
from tests.tools.git_repository import run_git


@pytest.fixture
def machine(tmp_path: Path, databases: list[Path]) -> NativeMachine:
    return NativeMachine(tmp_path, databases)


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


# -- a recipe whose last step commits --------------------------------------------------------------

RECIPE = """
format = 1
id = "work"
label = "Work"
description = "Work, then commit"
initial = "work"

[steps.work]
prompt = "Work on it."
agent = "native"

[steps.work.on]
complete = { to = "commit" }

[steps.commit]
prompt = "Commit it."
agent = "native"
commits = true

[steps.commit.on]
committed = { exit = "changes-committed" }
nothing-to-commit = { exit = "no-changes-to-commit" }
"""
COMPLETE = 'Done. {"outcome": "complete"}'
COMMITTED = 'Done. {"outcome": "committed"}'
NEW: Json = {"action": "write_file", "path": "new.txt", "content": "x\n"}
BESIDE: Json = {"action": "run_command", "command": "echo y > beside.txt; rm test_calc.py"}
NOTE: Json = {
    "action": "patch",
    "file": "calc.py",
    "operations": [{"line": 1, "type": "insert", "content": ["# Adds."]}],
}


def after(words: str, *actions: Json, text: str = "") -> Json:
    """What the model says where the last message has these words."""
    return {"when": words, "text": text or act(*actions)}


@pytest.fixture
def work(machine: NativeMachine) -> str:
    return machine.recipe(RECIPE, "work")


def left(machine: NativeMachine) -> str:
    return run_git(machine.project, "status", "--porcelain")


async def test_a_step_that_commits_commits_what_earlier_turns_of_the_run_have_left(
    machine: NativeMachine, work: str
) -> None:
    """Files that it does not touch itself, and its own lines on top of earlier ones."""
    machine.replies(
        after("Work on it", NEW, PATCH, BESIDE),
        after("created new.txt", text=COMPLETE),
        after("Commit it", NOTE),
        after("patched calc.py", text=COMMITTED),
    )
    async with running(machine) as daemon:
        ended = await daemon.ended(await daemon.start(work))

    assert ended["exit"]["reason"] == "changes-committed"
    assert machine.subjects[1:] == ["Begin"]
    shown = run_git(machine.project, "show", "--format=", "--name-status", "HEAD")
    assert shown.replace("\t", " ").splitlines() == [
        "A beside.txt", "M calc.py", "A new.txt", "D test_calc.py"
    ]  # fmt: skip
    assert run_git(machine.project, "show", "HEAD:calc.py") == f"# Adds.\n{MENDED}".strip()
    assert left(machine) == ""


async def test_where_nothing_is_left_nothing_is_said_of_a_commit(
    machine: NativeMachine, work: str
) -> None:
    nothing = 'Done. {"outcome": "nothing-to-commit"}'
    machine.replies(after("Work on it", text=COMPLETE), after("Commit it", text=nothing))
    async with running(machine) as daemon:
        run_id = await daemon.start(work)
        ended = await daemon.ended(run_id)
        *_, told = await daemon.events(run_id, "turn.ended")

    assert ended["exit"]["reason"] == "no-changes-to-commit"
    assert "nothing was committed" not in told["text"]
    assert machine.subjects == ["Begin"]
