"""The built-in demo: implement-and-review with no agent at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import (
    demo_script,
)
from tests.drivers.rig import (
    Rig,
    play,
)


@pytest.fixture
def bench(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


STEPS = {
    "implement": "complete, no-tasks, blocked, other",
    "code-review": "no-issues, issues-found, other",
    "fix": "complete, other",
    "commit": "committed, nothing-to-commit, other",
}


@pytest.mark.slow
async def test_the_demo_plays_implement_and_review_for_real(bench: Rig) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=bench.work, check=True, capture_output=True, text=True
        ).stdout

    def tests_pass() -> bool:
        command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "demo"]
        return (
            subprocess.run(command, cwd=bench.work, capture_output=True, check=False).returncode
            == 0
        )

    def slug() -> str:
        code = "from slug import slug; print(slug('Hello, World!'))"
        command = [sys.executable, "-B", "-c", code]
        return subprocess.run(
            command, cwd=bench.work / "demo", check=True, capture_output=True, text=True
        ).stdout.strip()

    scripted = ScriptedDriver(demo_script())

    async def step(name: str, run: str) -> Any:
        block = f"Your possible outcomes for this step: {STEPS[name]}"
        turn, _ = await play(scripted, bench.request(f"...\n\n{block}", run_id=run))
        assert turn.report.kind == "done", turn.report.detail
        return turn.report.structured and turn.report.structured["outcome"]

    git("init", "--quiet")
    assert await step("implement", "a") == "complete"
    assert tests_pass() and slug() == "hello--world-"
    assert await step("code-review", "a") == "issues-found"
    assert await step("fix", "a") == "complete"
    assert tests_pass() and slug() == "hello-world"
    assert await step("code-review", "a") == "no-issues"
    assert await step("commit", "a") == "committed"
    assert git("log", "--format=%s") == "Add URL slugs\n" and git("status", "--porcelain") == ""

    again = [await step(name, "b") for name in ("implement", "code-review", "fix", "code-review")]
    assert again == ["complete", "issues-found", "complete", "no-issues"]
    assert await step("commit", "b") == "nothing-to-commit"


async def test_the_demo_answers_anything_else_too(
    bench: Rig, autojump_clock: trio.testing.MockClock, journal_without_threads: None
) -> None:
    turn, _ = await play(ScriptedDriver(demo_script()), bench.request("hello"))
    assert turn.report.kind == "done" and "demo agent" in turn.report.result_text
