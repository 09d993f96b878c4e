"""The native agent over the real daemon and client, with a scripted model behind both APIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    MENDED,
    act,
    after,
    first,
    messages,
    native_machine,
    project,
    says,
)
from tests.long import sampled


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
