"""The daemon dies, and nothing is lost: turns go on without it, and the next one takes them up."""

from __future__ import annotations

import os
import signal

import pytest
import trio

from podiumd.tools.process.processes import alive
from tests.e2e.daemon import PodiumDaemon, Said, gone
from tests.e2e.machine import GitRepo
from tests.e2e.spools import until_written
from tests.e2e.stories import ASKING, LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

PUSH = """
initial = "push"
[steps.push]
shell = "echo begun > begun; sleep 600; echo done > done"
irreversible = true
[steps.push.on]
passed = { exit = "conversation-complete" }
failed = { exit = "not-pushed", class = "error" }
"""

LONG = "Thinking about it. " * 20
ONCE = bash("echo ran >> made", LONG)


@pytest.mark.long(
    "tests/runtime/test_recovery.py::test_a_turn_that_ended_while_no_daemon_looked_is_adopted"
)
async def test_what_the_agent_did_alone_is_adopted_and_the_run_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The daemon is killed in the middle of each turn and stays away until the agent is done."""
    rules = [
        when("Work", held(ONCE, "work"), word("complete")),
        when("Review", held(bash("echo looked >> made", LONG), "review"), word("no-issues")),
    ]
    model_server.load({"rules": rules})
    start = {"recipe": podium.machine.recipe("loop", LOOP), "working_directory": str(repo.path)}
    run_id = (await podium.rpc("runs.start", **start))["run_id"]
    for step in ("work", "review"):
        async with podium.follow(run_id) as feed:
            turn = await feed.until("turn.intended", step=step)
            await holding(model_server, step)
        await podium.kill9()
        model_server.release(step)
        await until_written(podium.machine, turn["turn_id"])
        await podium.start()
    run = await podium.ended(run_id)
    assert run["exit"]["reason"] == "turn-complete"
    assert (run["turns"], run["step_count"]) == (2, 2)
    assert (repo.path / "made").read_text() == "ran\nlooked\n"
    prompts = podium.machine.prompts(run["session_id"], repo.path)
    assert [prompt.partition("\n")[0] for prompt in prompts] == ["Work on it.", "Review it."]


@pytest.mark.long(
    "tests/client/test_run.py::test_a_restarted_daemon_is_followed_without_hole_or_repeat"
)
async def test_a_client_that_follows_goes_on_over_a_restart(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [held(ONCE), word("blocked", "No key.")]})
    recipe = podium.machine.recipe("loop", LOOP)
    said: list[Said] = []

    async def follow() -> None:
        said.append(await podium.cli("run", recipe, "--json", cwd=repo.path))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        await holding(model_server, "half")
        await podium.restart()
        model_server.release("half")
    (client,) = said
    assert client.code == 4, client
    durable = [line for line in client.out.splitlines() if '"seq":' in line]
    types = [line.partition('"type":"')[2].partition('"')[0] for line in durable]
    assert types.count("turn.started") == 1 and types[-1] == "run.ended", types
    assert (repo.path / "made").read_text() == "ran\n"


@pytest.mark.long(
    "tests/runtime/test_recovery.py::test_a_turn_that_was_cut_off_is_told_so_twice_and_then_a_person_is_asked"
)
async def test_an_agent_killed_with_its_daemon_is_told_that_it_was_interrupted(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Its tool has run, so its prompt is not sent again."""
    rules = [
        when("Work", ONCE, held({"text": LONG})),
        when("You were interrupted", word("blocked", "I saw.")),
    ]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        agent = (await feed.until("turn.started"))["pid"]
        await holding(model_server, "half")
    await podium.kill9()
    os.kill(agent, signal.SIGKILL)
    await gone(agent)
    await podium.start()
    run = await podium.ended(run_id)
    assert run["exit"]["reason"] == "implementation-blocked"
    assert (run["step_count"], run["visits"]) == (1, {"work": 1})
    assert (repo.path / "made").read_text() == "ran\n"
    prompts = podium.machine.prompts(run["session_id"], repo.path)
    assert [prompt.split(" on it")[0].split(":")[0] for prompt in prompts] == [
        "Work",
        "You were interrupted",
    ]


@pytest.mark.long(
    "tests/runtime/test_plain_steps.py::test_one_that_must_not_be_repeated_is_asked_about_instead"
)
async def test_a_command_that_must_not_be_repeated_is_ended_before_anybody_is_asked_about_it(
    podium: PodiumDaemon, repo: GitRepo
) -> None:
    """Whoever answers 'continue' takes what is there: nothing may still be at work on it."""
    begun = repo.path / "begun"
    os.mkfifo(begun)
    async with podium.running(podium.machine.recipe("push", PUSH), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        with trio.fail_after(HANG_SECONDS):
            await trio.to_thread.run_sync(begun.read_text, abandon_on_cancel=True)
    await podium.kill9()
    left = [identity for identity, line in podium.living() if "sleep 600" in line]
    assert left, "the command goes on without its daemon"
    await podium.start()
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        assert not any(alive(identity) for identity in left)
        assert "Nothing of it runs any more" in asked["text"]
        assert "still ran, and was ended" in asked["detail"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="continue")
        run = await feed.end()
    assert run["exit"]["reason"] == "conversation-complete"
    assert not (repo.path / "done").exists()
    assert await podium.rpc("sessions.locks") == [], "the tree is free for the next run"


async def test_an_approval_outlives_its_daemon_and_its_tool_runs_once(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [ONCE, word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        asked = await feed.until("question.opened")
    await podium.restart()
    (listed,) = await podium.rpc("questions.list")
    assert listed["question_id"] == asked["question_id"]
    await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    async with podium.follow(run_id) as feed:
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    assert len(feed.data("question.opened")) == 1
    assert len(model_server.requests) == 2


@pytest.mark.long(
    "tests/runtime/test_recovery.py::test_a_running_turn_is_let_go_and_taken_up_with_its_session_held_meanwhile"
)
async def test_a_daemon_told_to_stop_leaves_the_turn_to_the_next_one(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [held(ONCE), word("blocked")]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        assert await podium.stop(signal.SIGTERM) == 0
    assert len(podium.children()) == 1, "the agent works on"
    assert not podium.machine.socket.exists()
    await podium.start()
    async with podium.follow(run_id) as feed:
        assert (await podium.rpc("daemon.status"))["taken_up"] == 1
        model_server.release("half")
        run = await feed.end()
    assert run["exit"]["reason"] == "implementation-blocked" and run["turns"] == 1
    assert (repo.path / "made").read_text() == "ran\n"


@pytest.mark.long(
    "tests/runtime/test_stopping.py::test_stopping_all_turns_interrupts_them_and_begins_nothing_new"
)
async def test_down_leaves_no_child_and_its_runs_go_on_another_day(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("Work", held(ONCE)), when("Go on with this step", word("blocked"))]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        said = await podium.cli("down")
    assert said.code == 0, said
    assert await podium.wait() == 0 and podium.living() == []
    assert (await podium.cli("status")).code == 6
    await podium.start()
    run = await podium.rpc("runs.get", run_id=run_id)
    assert (run["status"], run["exit"]) == ("paused", None)
    await podium.rpc("runs.resume", run_id=run_id)
    run = await podium.ended(run_id)
    assert run["exit"]["reason"] == "implementation-blocked"
    assert not (repo.path / "made").exists()
