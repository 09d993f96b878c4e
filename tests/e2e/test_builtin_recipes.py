"""Every built-in recipe, from start to end on the real agent, with nobody answering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Json
from tests.e2e.stories import bash, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

Walk = Sequence[tuple[str, str]]

NEXT_TASK = "Run bd ready and implement the next task"
DESIGN = "docs/design/shop.md"
DESIGN_AT = f"Design document: {DESIGN}"


def once(prompt: str, *turns: Json) -> Json:
    """A rule for the first prompt that begins so; the next one takes the next rule."""
    return {**when(prompt, *turns), "times": 1}


def commit(message: str, *paths: str) -> Json:
    """An answer that commits these files."""
    return bash(f"git add -- {' '.join(paths)} && git commit --quiet --message='{message}'")


async def walked(podium: PodiumDaemon, recipe: str, repo: GitRepo, walk: Walk, **more: Any) -> Json:
    """Run a recipe that takes this walk and asks nobody anything; returns the run."""
    async with podium.running(recipe, repo.path, **more) as feed:
        for step, outcome in walk:
            await feed.until("edge.taken", step=step, outcome=outcome)
        run = await feed.end()
    assert [(edge["step"], edge["outcome"]) for edge in feed.data("edge.taken")] == list(walk)
    assert run["questions"] == [] and feed.data("question.opened") == []
    assert run["turns"] == len(walk), "no outcome was asked for twice"
    return run


def ended(run: Json) -> tuple[str, str, str]:
    """How a run ended."""
    return (run["exit"]["reason"], run["exit"]["class"], run["exit"]["message"])


async def test_task_after_task_is_implemented_reviewed_and_committed_until_none_is_ready(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    todo = repo.path / "TODO.md"
    todo.write_text("- open a shop\n- buy a till\n")
    repo.git("add", "TODO.md")
    repo.git("commit", "--quiet", "--message=Plan")
    tick = "sed -i 1d TODO.md && "
    rules = [
        once(NEXT_TASK, bash("echo 'price = 2' > shop.py"), word("complete", "The shop.")),
        once(NEXT_TASK, bash("echo 'till = 0' > till.py"), word("complete", "The till.")),
        when(NEXT_TASK, word("no-tasks", "TODO.md is empty.")),
        when("Perform a code review", word("no-issues")),
        once(
            "Commit the work",
            bash(f"{tick}git add -- TODO.md shop.py && git commit --quiet --message='Open a shop'"),
            word("committed"),
        ),
        once(
            "Commit the work",
            bash(f"{tick}git add -- TODO.md till.py && git commit --quiet --message='Buy a till'"),
            word("committed"),
        ),
    ]
    model_server.load({"rules": rules})
    task = [("implement", "complete"), ("code-review", "no-issues"), ("commit", "committed")]
    walk = [*task, *task, ("implement", "no-tasks")]
    run = await walked(podium, "implement-and-review-all", repo, walk, params={"scope": "TODO"})
    assert ended(run) == ("no-tasks-available", "completed", "No tasks are ready")
    assert repo.subjects == ["Buy a till", "Open a shop", "Plan", "Begin"]
    assert todo.read_text() == "" and repo.git("status", "--porcelain") == ""
    firsts = [asked for asked in model_server.requests if asked.prompt.startswith(NEXT_TASK)]
    assert len({asked.session for asked in firsts}) == 3
    assert "TODO" in firsts[0].prompt and "The shop." not in firsts[-1].anywhere


async def test_a_design_is_written_refined_and_broken_down_into_tasks(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Three recipes in a row, as a person would start them; each begins on a clean tree."""
    path = repo.path / DESIGN
    write = {"name": "Write", "input": {"file_path": str(path), "content": "# A shop\n"}}
    rules = [
        when("Write a design document", {"tools": [write]}, word("complete", DESIGN_AT)),
        when("Review a design document that somebody", word("no-issues")),
        when("Commit the design", commit("Design a shop", DESIGN), word("committed")),
        when("Find the design document", word("found", DESIGN_AT)),
        once("Review the design document for simpl", word("issues-found", "1. [low] Shop: two.")),
        when("Make the design simpler", bash(f"echo '# Shop' > {DESIGN}"), word("complete")),
        when("Review the design document for", word("no-issues")),
        when("Review a design document that has been", word("no-issues")),
        when("Commit the refined", commit("Simplify the shop", DESIGN), word("committed")),
        when("Analyze a design", word("complete", f"{DESIGN_AT}. It will be TODO.md.")),
        when("Create the epic", bash("echo '# Shop' > TODO.md"), word("complete")),
        when("Create the tasks", bash("echo '- [ ] Sell' >> TODO.md"), word("complete", "Sell")),
        when("Review tasks", bash("cat TODO.md"), word("no-issues")),
        when("Commit the tasks", commit("Plan the shop", "TODO.md"), word("committed")),
    ]
    model_server.load({"rules": rules})
    written = [("document", "complete"), ("review", "no-issues"), ("commit", "committed")]
    run = await walked(podium, "document-design", repo, written, params={"topic": "A shop"})
    assert ended(run)[:2] == ("design-committed", "completed")
    refined = [
        ("locate-design", "found"),
        ("review-completeness", "no-issues"),
        ("review-breadth", "no-issues"),
        ("review-simplicity", "issues-found"),
        ("fix-simplicity", "complete"),
        ("review-simplicity", "no-issues"),
        ("review-consistency", "no-issues"),
        ("review-polish", "no-issues"),
        ("final-review", "no-issues"),
        ("commit", "committed"),
    ]
    run = await walked(podium, "refine-design", repo, refined, params={"design": DESIGN})
    assert ended(run)[:2] == ("design-refined-and-committed", "completed")
    broken_down = [
        ("analyze", "complete"),
        ("create-epic", "complete"),
        ("create-tasks", "complete"),
        ("review-tasks", "no-issues"),
        ("commit", "committed"),
    ]
    run = await walked(podium, "break-down-tasks", repo, broken_down, params={"design": DESIGN})
    assert ended(run)[:2] == ("tasks-committed", "completed")
    subjects = ["Plan the shop", "Simplify the shop", "Design a shop", "Begin"]
    assert repo.subjects == subjects and repo.git("status", "--porcelain") == ""
    reading = [a for a in model_server.requests if a.prompt.startswith("Review a design document")]
    assert len(reading) == 2 and all(DESIGN_AT in asked.prompt for asked in reading)
    assert not {"Bash", "Write", "Edit"} & {tool for asked in reading for tool in asked.tools}
    review = next(a for a in model_server.requests if a.prompt.startswith("Review tasks"))
    assert DESIGN_AT in review.prompt and "Sell" in review.prompt


def diverged(repo: GitRepo) -> str:
    """Put the repository on a branch that conflicts with main; returns its tip."""
    for branch, words in (("shop", "A shop"), ("main", "A house")):
        repo.git("checkout", "--quiet", *(["-b"] if branch == "shop" else []), branch)
        (repo.path / "README.md").write_text(words + "\n")
        repo.git("commit", "--quiet", "--all", f"--message={words}")
    repo.git("checkout", "--quiet", "shop")
    return repo.head


async def test_a_branch_is_rebased_to_the_end_and_compared_with_what_it_was(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The agent claims to be done in the middle of it: Podium looks, and lets it go on."""
    before = diverged(repo)
    begin = bash("git update-ref refs/before-rebase/shop HEAD; git rebase main")
    go_on = bash(
        "echo 'A house with a shop' > README.md && git add -- README.md && "
        "GIT_EDITOR=true git rebase --continue"
    )
    tries = [begin, word("complete"), go_on, word("complete", "Joined README.md.")]
    compare = bash("git range-diff main refs/before-rebase/shop HEAD")
    rules = [
        when("Rebase the current branch", *tries),
        when("Review a rebase", compare, word("no-issues")),
        when("Close the rebase", bash("git status"), word("done", "Rebased.")),
    ]
    model_server.load({"rules": rules})
    walk = [
        ("rebase", "checks-failed"),
        ("rebase", "complete"),
        ("review", "no-issues"),
        ("complete", "done"),
    ]
    run = await walked(podium, "rebase", repo, walk)
    assert ended(run) == ("rebase-complete", "completed", "Branch rebased; nothing was pushed")
    assert repo.subjects == ["A shop", "A house", "Begin"]
    assert (repo.path / "README.md").read_text() == "A house with a shop\n"
    assert repo.git("rev-parse", "refs/before-rebase/shop") == before
    review = next(a for a in model_server.requests if a.prompt.startswith("Review a rebase"))
    assert "Joined README.md." in review.prompt
    again = [a for a in model_server.requests if a.prompt.startswith("Rebase the current")][-1]
    assert "ref HEAD is not a symbolic ref" in again.prompt
