"""What works on is not what the facts know of: another agent, one of no turn, a git. All found."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon, gone
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.runtime.processes import marker_of
from tests.tools.git_repository import set_for_person

pytestmark = [pytest.mark.claude, pytest.mark.slow]

ONCE = bash("echo ran >> made")


async def test_the_agent_of_a_turn_begun_once_more_is_taken_up_though_its_start_is_not_stored(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    """The first agent dies with its daemon; the next daemon dies once it has spawned another."""
    work = when("Work", held({"text": "Thinking."}), ONCE, held(word("blocked", "No key."), "end"))
    model_server.load({"rules": [work]})
    podium = PodiumDaemon(machine)
    async with podium:
        async with podium.running(machine.recipe("loop", LOOP), repo.path) as feed:
            run_id = feed.seen[0]["run_id"]
            first = (await feed.until("turn.started"))["pid"]
            await holding(model_server, "half")
        await podium.kill9()
        os.kill(first, signal.SIGKILL)
        await gone(first)

        podium._environment["PODIUM_FAILPOINT"] = "turn.after-spawn"
        with suppress(AssertionError):  # it may die before it is ready
            await podium.start()
        assert await podium.wait() == -signal.SIGKILL
        podium._environment.clear()
        (second,) = podium.agents()

        await podium.start()
        await holding(model_server, "end")
        assert podium.agents() == [second]
        async with podium.follow(run_id) as feed:
            model_server.release("end")
            run = await feed.end()
        assert run["exit"]["reason"] == "implementation-blocked"
        started = [fact["pid"] for fact in feed.data("turn.started")]
        assert started == [first, second.pid]
        assert (repo.path / "made").read_text() == "ran\n"
        assert len(model_server.requests) == 3
        prompts = machine.prompts(run["session_id"], repo.path)
        assert [prompt.partition("\n")[0] for prompt in prompts] == ["Work on it."]


async def test_an_agent_whose_turn_can_no_longer_be_read_is_ended_and_its_session_is_free(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    work = when("Work", held({"text": "Thinking."}), ONCE, word("blocked", "No key."))
    model_server.load({"rules": [work]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await feed.until("turn.started")
        await holding(model_server, "half")
    (agent,) = podium.agents()
    await podium.kill9()
    path = podium.machine.podium_home / "state" / "facts.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as facts:
        lost = "UPDATE facts SET data = CAST('x' AS BLOB) WHERE type = 'turn.intended'"
        assert facts.execute(lost).rowcount == 1
    await podium.start()
    assert agent not in podium.agents()
    assert [line["processes"] for line in podium.logged("Agent of no turn ended")] == [1]
    (question,) = await podium.rpc("questions.list")
    assert question["kind"] == "recover"
    async with podium.follow(run_id) as feed:
        await podium.rpc("questions.answer", question_id=question["question_id"], answer="retry")
        run = await feed.end()
    assert run["exit"]["reason"] == "implementation-blocked"
    assert (repo.path / "made").read_text() == "ran\n"


async def test_the_git_of_a_killed_daemon_does_not_work_on_at_what_the_next_one_makes(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Two at one worktree would spoil it: the first, once it fails, removes what it was at."""
    model_server.load({"rules": [when("Work", word("blocked", "No key."))]})
    for name in ("a.txt", "m.slow", "z.txt"):
        (repo.path / name).write_text("one\n")
    (repo.path / ".gitattributes").write_text("*.slow filter=slow\n")
    repo.git("add", "--all")
    repo.git("commit", "-m", "slow")
    fifo = podium.machine.root / "reached"
    os.mkfifo(fifo)
    set_for_person(
        podium.machine.home, "filter.slow.smudge", f"echo here > '{fifo}'; exec sleep 3600"
    )
    run = await podium.rpc(
        "runs.start",
        recipe=podium.machine.recipe("loop", LOOP),
        working_directory=str(repo.path),
        worktree=True,
    )
    assert await marker_of(fifo) == "here"
    await podium.kill9()
    set_for_person(podium.machine.home, "filter.slow.smudge", "cat")
    assert [line for line in podium.children() if line.startswith("sleep ")]
    await podium.start()
    ended = await podium.ended(run["run_id"])
    assert ended["exit"]["reason"] == "implementation-blocked", ended
    assert podium.children() == []
    tree = Path(ended["worktree"]["directory"])
    assert (tree / "z.txt").exists() and (tree / "m.slow").read_text() == "one\n"
    assert repo.git("-C", str(tree), "status", "--porcelain") == ""
