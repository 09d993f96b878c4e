"""The main job: a recipe drives the real agent through implement, review, fix, review, commit."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import bash, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

FINDING = "1. [high] shop.py:1: the price is wrong, customers pay nothing, it has to be 2."
LOOP = {
    "rules": [
        when(
            "Implement one task",
            bash("echo 'price = 0' > shop.py"),
            word("complete", "Made a shop."),
        ),
        when(
            "Perform a code review",
            word("issues-found", FINDING),
            bash("cat shop.py"),
            word("no-issues", "Looked at shop.py."),
        ),
        when("Address the issues", bash("echo 'price = 2' > shop.py"), word("complete", "Fixed.")),
        when(
            "Commit the work",
            bash("git add -- shop.py && git commit --quiet --message='Open a shop'"),
            word("committed", "Committed."),
        ),
    ]
}
WALK = ["implement", "code-review", "fix", "code-review", "commit"]


async def test_a_task_is_implemented_reviewed_fixed_and_committed_with_nobody_answering(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """By the command line, with the default configuration: two rounds of review, one commit."""
    model_server.load(LOOP)
    before = repo.head
    said = await podium.cli("run", "implement-and-review", "-p", "task=Open a shop", cwd=repo.path)
    assert said.code == 0, said
    lines = said.out.splitlines()
    assert lines[0] == "implement-and-review: Open a shop"
    assert lines[1].endswith("at most 12 steps, 240 minutes")
    (end,) = [line for line in lines if line.startswith("✓")]
    assert "Task implementation committed successfully (changes-committed)" in end
    assert repo.subjects == ["Open a shop", "Begin"] and repo.git("rev-parse", "HEAD~1") == before
    assert repo.git("show", "HEAD:shop.py") == "price = 2"
    assert repo.git("status", "--porcelain") == ""
    run = await podium.only_run()
    assert [visit["step"] for visit in run["history"]] == WALK
    assert run["turns"] == len(WALK)
    prompts = podium.machine.prompts(run["session_id"], repo.path)
    begins = [prompt.partition("\n")[0] for prompt in prompts]
    assert begins == [
        "Implement one task in this repository.",
        "Perform a code review on the task that you just completed.",
        "Address the issues found.",
        "Perform a code review on the task that you just completed.",
        "Commit the work of this task. Do not push.",
    ]
    assert FINDING in prompts[2] and "Open a shop" in prompts[0]
