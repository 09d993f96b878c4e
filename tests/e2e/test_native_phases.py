"""The native agent leads a person through phases; kill -9 in each of them changes nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from podiumd.tools.failpoints import VARIABLE
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import messages, native_machine, project
from tests.e2e.phases_rig import CALLS, RECIPE, RULES, refusals, used
from tests.e2e.rpc_client import Feed, Json


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path, mode="allow-all") as made:
        made.model.load({"rules": RULES})
        made.recipe("phases", RECIPE)
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return project(machine)


async def started(podium: PodiumDaemon, repo: GitRepo) -> str:
    run = await podium.rpc(
        "runs.start", recipe="phases", working_directory=str(repo.path), agent="native"
    )
    return str(run["run_id"])


async def answered(podium: PodiumDaemon, run_id: str) -> None:
    """Wait for the question of the first phase and answer it."""
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="shop")


def the_whole_conversation(run: Json, feed: Feed) -> None:
    """What must be true of it however often the daemon died."""
    assert run["exit"]["reason"] == "conversation-complete", run
    assert run["exit"]["class"] == "completed"
    assert run["ctx"] == {"goal": "a shop", "config": {"role": "a grocer"}}
    assert used(feed.data("tool.used")) == CALLS
    edges = [(one["step"], one["outcome"], one["source"]) for one in feed.data("edge.taken")]
    assert edges[:2] == [("goal", "agreed", "tool"), ("configure", "configured", "tool")]
    assert [one["step"] for one in feed.data("step.entered")] == ["goal", "configure", "finish"]
    assert len(feed.data("question.opened")) == len(feed.data("question.closed")) == 1


async def test_a_conversation_in_phases_with_its_refusals_and_its_question(
    machine: Machine, repo: GitRepo
) -> None:
    async with PodiumDaemon(machine) as podium:
        run_id = await started(podium, repo)
        async with podium.follow(run_id) as feed:
            asked = await feed.until("question.opened")
            assert (asked["kind"], asked["text"]) == ("ask", "What do you want?")
            assert [choice["id"] for choice in asked["choices"]] == ["shop", "blog"]
            waiting = await podium.rpc("runs.get", run_id=run_id)
            assert (waiting["status"], waiting["ctx"]["config"]) == ("waiting", {})
            await podium.rpc("questions.answer", question_id=asked["question_id"], answer="shop")
            run = await feed.end()
        the_whole_conversation(run, feed)
        nowhere, needs = refusals(feed.data("tool.used"))
        assert "no way leads to 'nowhere'" in nowhere and "agreed" in nowhere
        assert "needs 'goal'" in needs
        skipped, unknown = (
            one["result"]["message"]
            for one in feed.data("action.ended")
            if one["result"]["action"] in ("save", "write_file") and not one["result"]["success"]
        )
        assert skipped.startswith("skipped: you have asked")
        assert unknown.startswith("unknown action type: write_file; there are done, ")
        assert not (repo.path / "new.txt").exists()
        systems = [one.system for one in machine.model.requests]
        assert "PHASE CONFIGURE. Set up for: a shop." in systems[-2]
        assert "run_command" not in systems[0] and "read_file" in systems[0]
        assert "read_file" not in systems[-2]
        session = run["session_id"]
        later = await podium.rpc(
            "sessions.prompt", session_id=session, text="Thank you.", wait=True
        )
        assert later["text"] == "You are welcome."
    said = [one.text for one in messages(machine, session) if one.role == "assistant"]
    assert said == ["Hello.", "On.", "I save it.", "I set up for it now.", "I write.", "Then so.",
                    "I am a grocer.", "A shop was made.", "You are welcome."]  # fmt: skip


BEFORE_THE_ANSWER = [
    "turn.after-intended:1",
    "reply.after-received:1",
    "tool.before-call:1",
    "tool.after-recorded:1",
    "tool.after-answer:1",
    "action.after-ended:1",
    "turn.before-ended:1",
    "turn.after-ended:1",
]
AFTER_IT = [
    "say.after-stored:1",
    "turn.after-intended:2",
    "tool.before-call:2",  # the wrong way
    "tool.after-recorded:3",  # the guard that is not met
    "tool.before-call:4",  # the goal is saved
    "tool.after-recorded:4",
    "tool.after-answer:4",
    "tool.after-recorded:5",  # the transition
    "turn.before-ended:2",
    "edge.after-taken:1",
    "turn.after-intended:3",  # the second phase
    "reply.before-received:6",
    "tool.before-call:6",
    "tool.after-recorded:6",
    "tool.after-recorded:7",
    "turn.after-ended:3",
    "edge.after-taken:2",
    "turn.after-intended:4",  # the third
    "reply.after-received:8",
    "turn.before-ended:4",
    "run.before-ended:1",
]


@pytest.mark.parametrize("point", BEFORE_THE_ANSWER)
async def test_a_kill_before_the_question_asks_it_once(
    machine: Machine, repo: GitRepo, point: str
) -> None:
    daemon = PodiumDaemon(machine, **{VARIABLE: point})
    await daemon.start()
    run_id = await started(daemon, repo)
    assert await daemon.wait() == -signal.SIGKILL
    async with PodiumDaemon(machine) as podium:
        await answered(podium, run_id)
        async with podium.follow(run_id) as feed:
            the_whole_conversation(await feed.end(), feed)


@pytest.mark.parametrize("point", AFTER_IT)
async def test_a_kill_after_the_answer_does_nothing_twice(
    machine: Machine, repo: GitRepo, point: str
) -> None:
    daemon = PodiumDaemon(machine, **{VARIABLE: point})
    await daemon.start()
    run_id = await started(daemon, repo)
    with suppress(trio.BrokenResourceError):  # it may die before it says that it has the answer
        await answered(daemon, run_id)
    assert await daemon.wait() == -signal.SIGKILL
    async with PodiumDaemon(machine) as podium, podium.follow(run_id) as feed:
        the_whole_conversation(await feed.end(), feed)


async def test_a_daemon_that_dies_while_the_person_thinks_finds_the_question_open(
    machine: Machine, repo: GitRepo
) -> None:
    daemon = PodiumDaemon(machine)
    await daemon.start()
    run_id = await started(daemon, repo)
    async with daemon.follow(run_id) as feed:
        asked = await feed.until("question.opened")
    await daemon.kill9()
    async with PodiumDaemon(machine) as podium:
        (still,) = await podium.rpc("questions.list")
        assert still["question_id"] == asked["question_id"]
        await answered(podium, run_id)
        async with podium.follow(run_id) as feed:
            the_whole_conversation(await feed.end(), feed)
