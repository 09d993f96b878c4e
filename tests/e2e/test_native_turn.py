"""The native agent over the real daemon and client, with a scripted model behind both APIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    DONE,
    MENDED,
    MENDING,
    READ,
    act,
    after,
    first,
    messages,
    native_machine,
    project,
    says,
)
from tests.fakes.trio_gates import holding
from tests.long import sampled
from tests.patience import HANG_SECONDS

RECIPE = """
initial = "work"

[steps.work]
prompt = "Mend the test."
agent = "native"
allow = ["Edit", "Bash"]
commits = true

[steps.work.on]
complete = { to = "review" }

[steps.review]
prompt = "Review it."
agent = "native"
session = "fresh"
tools = "read-only"

[steps.review.on]
no-issues = { exit = "turn-complete" }
"""


@pytest.fixture(params=sampled(["anthropic", "openai"]))
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return project(machine)


def changed_in(repo: GitRepo, commit: str = "HEAD") -> list[str]:
    """The files that a commit has changed."""
    return repo.git("show", "--name-only", "--format=", commit).splitlines()


async def test_a_failing_test_is_mended_with_a_persons_leave(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    """By default each write and command is asked for: one is answered by the client, one by RPC;
    what the person has lying about in the same repository is no part of the commit."""
    (repo.path / "README.md").write_text("# Mine, not finished\n")
    (repo.path / "staged.txt").write_text("staged\n")
    repo.git("add", "staged.txt")
    prompt = await podium.rpc(
        "sessions.prompt", text="Mend it.", agent="native", working_directory=str(repo.path)
    )
    async with podium.follow(prompt["run_id"]) as feed:
        asked = await feed.until("question.opened")
        (listed,) = await podium.rpc("questions.list")
        assert listed["tool"] == "patch" and "+    return a + b" in listed["detail"]
        shown = await podium.cli("answer", asked["question_id"])
        assert "calc.py" in shown.out, shown
        said = await podium.cli("answer", asked["question_id"][:8], "allow")
        assert said.code == 0, said
        asked = await feed.until("question.opened")
        assert asked["input"] == {"command": "python3 -m unittest"}
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete", run
    assert (repo.path / "calc.py").read_text() == MENDED
    assert repo.subjects == ["AI: modified calc.py", "A calculator", "Begin"]
    assert changed_in(repo) == ["calc.py"]
    assert f"Podium-Run: {prompt['run_id']}" in repo.git("log", "-1", "--format=%B")
    assert repo.git("status", "--porcelain").splitlines() == ["M README.md", "A  staged.txt"]
    rows = messages(machine, prompt["session_id"])
    assert len({row.uuid for row in rows}) == len(rows)


@pytest.mark.long("tests/runtime/test_native.py::test_a_failing_test_is_mended_and_committed")
async def test_a_failing_test_is_mended_from_the_command_line_without_asking(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    turn = await podium.rpc(
        "sessions.prompt",
        text="Mend it.",
        agent="native",
        working_directory=str(repo.path),
        permission_mode="allow-all",
        wait=True,
    )
    assert turn["text"].startswith("I look.\n\nI mend it.\n\nI test it.\n\nThe test passes.")
    assert turn["commit"] == repo.head
    assert (repo.path / "calc.py").read_text() == MENDED
    shown = await podium.cli("show", turn["session_id"])
    assert "Mend it." in shown.out and "I mend it." in shown.out, shown
    listed = await podium.cli("sessions")
    assert turn["session_id"][:8] in listed.out, listed
    machine.model.load({"default": says("You asked for a repair.")})
    again = await podium.cli(
        "prompt", "What did I ask?", "--session", turn["session_id"], cwd=repo.path
    )
    assert (again.code, again.out.strip()) == (0, "You asked for a repair."), again
    assert "Mend it." in machine.model.requests[-1].anywhere


@pytest.mark.long(
    "tests/runtime/test_native_commits.py::test_a_step_that_commits_commits_what_earlier_turns_of_the_run_have_left"
)
async def test_steps_of_a_recipe_are_given_to_the_native_agent(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    """The word that ends a step stands in the agent's text; a step that only reads cannot write,
    and only a step that says so is committed."""
    complete = says('It is done.\n\n{"outcome": "complete"}')
    rules = [
        after("run_tests", True, complete),
        *MENDING[1:],
        after("write_file", False, says('It is well.\n```json\n{"outcome": "no-issues"}\n```')),
        first("Review", says(act({"action": "write_file", "path": "new", "content": ""}))),
    ]
    machine.model.load({"rules": rules})
    async with podium.running(machine.recipe("native", RECIPE), repo.path) as feed:
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete", run
    assert [(one["step"], one["outcome"], one["source"]) for one in run["history"]] == [
        ("work", "complete", "text"),
        ("review", "no-issues", "text"),
    ]
    assert repo.subjects[0] == "AI: modified calc.py"
    refused = [one["result"] for one in feed.data("action.ended") if not one["result"]["success"]]
    assert [one["message"] for one in refused] == [
        "unknown action type: write_file; there are read_file, search, done, report_outcome, notify"
    ]
    assert feed.data("question.opened") == []


@pytest.mark.long(
    "tests/tools/test_shell.py::test_of_five_megabytes_the_head_and_the_tail_are_kept"
)
async def test_much_output_and_many_processes_neither_hang_nor_stay(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    flood = "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo the end"
    fork = "for i in 1 2 3; do (setsid sh -c 'sleep 500' > /dev/null 2>&1 &); done; echo forked"
    commands = [{"action": "run_command", "command": line} for line in (flood, fork)]
    machine.model.load(
        {"rules": [after("run_command", True, says("Seen.")), first("Go", says(act(*commands)))]}
    )
    turn = await podium.rpc(
        "sessions.prompt",
        text="Go.",
        agent="native",
        working_directory=str(repo.path),
        permission_mode="allow-all",
        wait=True,
    )
    assert turn["text"] == "Seen."
    told = machine.model.requests[-1].prompt
    assert "bytes of output left out" in told and "the end" in told and len(told) < 100_000
    assert podium.children() == []


@pytest.mark.long(
    "tests/drivers/native/test_models.py::test_a_refusal_is_told_and_tried_as_often_as_it_helps"
)
async def test_a_wrong_key_is_told_at_once_and_is_shown_nowhere(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    machine.model.load({"key": "the-right-one"})
    failed = await podium.cli("prompt", "Hi.", "--agent", "native", cwd=repo.path)
    assert failed.code == 1, failed
    assert "key" in failed.err and "dummy" not in failed.err + failed.out
    assert len(machine.model.requests) <= 1


@pytest.mark.long(
    "tests/runtime/test_native_commits.py::test_where_nothing_is_left_nothing_is_said_of_a_commit"
)
async def test_done_and_reading_alone_make_no_commit(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    machine.model.load({"turns": [says(act(READ)), says(act(DONE))]})
    said = await podium.cli("prompt", "Look.", "--agent", "native", cwd=repo.path)
    assert said.code == 0, said
    assert "The test passes." in said.out
    assert repo.subjects[0] == "A calculator"


@pytest.mark.needs("bwrap")
async def test_commands_and_hooks_run_in_a_sandbox_that_is_required(tmp_path: Path) -> None:
    """The project's tests run in it; the person's home is not there, and nothing outside of the
    tree can be written."""
    line = (
        f"cat {tmp_path}/home/secret {tmp_path}/podium/config.toml;"
        f" echo x > {tmp_path}/outside; echo inside > inside; cat inside"
    )
    with native_machine(tmp_path, sandbox="required", mode="allow-all") as machine:
        repo = project(machine)
        (tmp_path / "home" / "secret").write_text("the secret\n")
        hook = repo.path / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\npython3 -m unittest\n")
        hook.chmod(0o755)
        async with PodiumDaemon(machine) as podium:
            turn = await podium.rpc(
                "sessions.prompt",
                text="Mend it.",
                agent="native",
                working_directory=str(repo.path),
                wait=True,
            )
            assert turn["commit"] == repo.head and repo.subjects[0] == "AI: modified calc.py", turn
            command = says(act({"action": "run_command", "command": line}))
            machine.model.load(
                {"rules": [after("run_command", True, says("Tried.")), first("Try", command)]}
            )
            tried = await podium.rpc(
                "sessions.prompt", text="Try.", session_id=turn["session_id"], wait=True
            )
        told = machine.model.requests[-1].prompt
    assert tried["text"].startswith("Tried."), tried
    assert "\ninside" in told and "the secret" not in told and "[agents" not in told
    assert not (tmp_path / "outside").exists()


@pytest.mark.long(
    "tests/drivers/native/test_driver.py::test_a_limit_that_says_when_it_ends_parks_the_run_until_then"
)
async def test_a_limit_of_the_provider_parks_the_run_until_it_says(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    """An hour is not waited for in the turn; what it had done so far is told when it goes on."""
    limit = {"status": 429, "type": "rate_limit_error", "headers": {"retry-after": "3600"}}
    rules = [after("read_file", True, {"error": limit}), first("Mend", says(act(READ)))]
    machine.model.load({"rules": rules})
    sent = await podium.rpc(
        "sessions.prompt", text="Mend it.", agent="native", working_directory=str(repo.path)
    )
    async with podium.follow(sent["run_id"]) as feed:
        parked = await feed.until("run.parked")
        assert "T" in parked["until"]
        machine.model.load({"rules": [first("Go on", says("Here I am again."))]})
        await podium.rpc("runs.resume", run_id=sent["run_id"])
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert "read_file calc.py" in machine.model.requests[-1].anywhere


@pytest.mark.long("tests/runtime/test_native.py::test_an_interrupt_stops_the_model_in_mid_answer")
async def test_a_cancel_does_not_wait_for_the_model(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    machine.model.load({"rules": [first("Mend", says("A long thought.", hold="half"))]})
    sent = await podium.rpc(
        "sessions.prompt", text="Mend it.", agent="native", working_directory=str(repo.path)
    )
    await holding(machine.model, "half")
    with trio.fail_after(HANG_SECONDS):
        run = await podium.rpc("runs.cancel", run_id=sent["run_id"])
    assert run["exit"]["reason"] == "user-requested"
    assert await podium.rpc("sessions.locks") == []
