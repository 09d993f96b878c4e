"""The guided design while its daemon, its agent or both are killed: in the middle of a turn of each
phase, and while it waits for the person; and when the agent's conversation is gone."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter

import pytest
import trio

from tests.e2e import guided
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Json, Refused
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.claude, pytest.mark.slow]

GATES = ("first", "second", "third", "last")
_ANSWERED = -32004


async def begin(podium: PodiumDaemon, repo: GitRepo) -> str:
    run = await podium.rpc(
        "runs.start", recipe=guided.RECIPE, working_directory=str(repo.path), client_token="once"
    )
    run_id: str = run["run_id"]
    return run_id


async def agree(podium: PodiumDaemon, run_id: str) -> None:
    """Answer whatever the run asks with its first choice, until it is over or the daemon dies."""
    async with podium.follow(run_id) as feed:
        while True:
            event = await feed.next()
            if event["type"] == "run.ended":
                return
            if event["type"] == "question.opened" and "seq" in event:
                question = event["data"]
                assert question["kind"] == "ask", question
                try:
                    await podium.rpc(
                        "questions.answer",
                        question_id=question["question_id"],
                        answer=question["choices"][0]["id"],
                    )
                except Refused as refused:
                    if refused.code != _ANSWERED:
                        raise


async def asked(podium: PodiumDaemon, run_id: str, text: str) -> Json:
    """Wait until the run asks this; others are agreed to."""
    async with podium.follow(run_id) as feed:
        while True:
            question: Json = await feed.until("question.opened")
            if question["text"] == text:
                return question
            await podium.rpc(
                "questions.answer",
                question_id=question["question_id"],
                answer=question["choices"][0]["id"],
            )


async def until_held(podium: PodiumDaemon, run_id: str, model: ModelServer, gate: str) -> None:
    """Agree to all that is asked until the model stands at a gate."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agree, podium, run_id)
        await holding(model, gate)
        nursery.cancel_scope.cancel()


async def designed(podium: PodiumDaemon, repo: GitRepo, run_id: str) -> list[Json]:
    """See the run through; all of the design is there, and written. Returns the run's events."""
    with trio.fail_after(HANG_SECONDS):
        await agree(podium, run_id)
    run = await podium.rpc("runs.get", run_id=run_id)
    assert run["exit"]["reason"] == "conversation-complete", run["exit"]
    assert run["ctx"] == guided.CONTEXT
    written = json.loads((repo.path / "docs/blueprint.json").read_text())
    assert written == {"phase": "blueprint-design", **guided.CONTEXT}
    assert sorted(path.name for path in (repo.path / "docs").iterdir()) == [
        "blueprint.json",
        "blueprint.md",
    ]
    assert podium.children() == []
    events: list[Json] = (await podium.rpc("runs.events", run_id=run_id))["events"]
    opened = Counter(e["data"]["question_id"] for e in events if e["type"] == "question.opened")
    closed = Counter(e["data"]["question_id"] for e in events if e["type"] == "question.closed")
    assert opened == closed and set(opened.values()) <= {1}
    return events


def used(events: list[Json]) -> list[tuple[str, bool]]:
    """The uses of Podium's tools, and whether each was done."""
    found = [event["data"] for event in events if event["type"] == "tool.used"]
    return [(one["tool"], one["success"]) for one in found]


UNDISTURBED = [
    ("ask", True),
    ("transition", False),
    ("transition", False),
    ("save", True),
    ("transition", True),
    ("save", True),
    ("transition", True),
    ("ask", True),
    ("save", True),
    ("save", True),
    ("save", True),
    ("transition", True),
]


@pytest.mark.parametrize("gate", GATES)
async def test_a_daemon_that_dies_in_the_middle_of_a_phases_turn_takes_it_up_again(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, gate: str
) -> None:
    model_server.load(guided.story(gate))
    run_id = await begin(podium, repo)
    await until_held(podium, run_id, model_server, gate)
    await podium.kill9()
    model_server.release(gate)
    await podium.start()
    assert used(await designed(podium, repo, run_id)) == UNDISTURBED
    assert (await podium.rpc("runs.get", run_id=run_id))["turns"] == 6


@pytest.mark.parametrize("gate", GATES)
async def test_a_turn_whose_agent_died_with_its_daemon_is_gone_on_with(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, gate: str
) -> None:
    model_server.load(guided.story(gate))
    run_id = await begin(podium, repo)
    await until_held(podium, run_id, model_server, gate)
    state = await podium.rpc("runs.events", run_id=run_id)
    agent = [e["data"]["pid"] for e in state["events"] if e["type"] == "turn.started"][-1]
    await podium.kill9()
    os.kill(agent, signal.SIGKILL)
    model_server.release(gate)
    await podium.start()
    events = await designed(podium, repo, run_id)
    turns = [event["data"] for event in events if event["type"] == "turn.intended"]
    # Of the last phase nothing had reached the agent's record: the same prompt is sent again.
    interrupted = [turn["purpose"] for turn in turns].count("interrupted")
    assert interrupted == (gate != "last")
    assert {turn["session_id"] for turn in turns} == {turns[0]["session_id"]}
    assert not any(turn["anew"] for turn in turns)


@pytest.mark.parametrize("question", [guided.ASKED_GOAL, guided.ASKED_BLUEPRINT])
async def test_a_question_is_the_same_after_a_kill_and_can_be_answered(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, question: str
) -> None:
    model_server.load(guided.story())
    run_id = await begin(podium, repo)
    before = await asked(podium, run_id, question)
    await podium.restart()
    (after,) = await podium.rpc("questions.list")
    assert (after["question_id"], after["text"]) == (before["question_id"], question)
    assert used(await designed(podium, repo, run_id)) == UNDISTURBED


async def test_words_and_an_answer_survive_a_kill_right_after_they_were_said(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Another answer than the choices: the agent asks once more."""
    model_server.load(guided.story())
    run_id = await begin(podium, repo)
    await asked(podium, run_id, guided.ASKED_GOAL)
    session = (await podium.rpc("runs.get", run_id=run_id))["session_id"]
    said = {"session_id": session, "text": "Rather a till for a zoo", "client_token": "words"}
    first = await podium.rpc("sessions.prompt", **said)
    await podium.restart()
    again = await podium.rpc("sessions.prompt", **said)
    assert (again["uuid"], again["turn_id"]) == (first["uuid"], first["turn_id"])
    events = await designed(podium, repo, run_id)
    received = [e["data"]["text"] for e in events if e["type"] == "message.received"]
    assert received.count("Rather a till for a zoo") == 1
    prompts = podium.machine.prompts(session, repo.path)
    assert prompts.count("Rather a till for a zoo") == 1


async def test_an_agents_conversation_that_is_gone_begins_anew_with_what_is_known(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(guided.story())
    run_id = await begin(podium, repo)
    await asked(podium, run_id, guided.ASKED_BLUEPRINT)
    await podium.restart()
    session = (await podium.rpc("runs.get", run_id=run_id))["session_id"]
    podium.machine.transcript_path(session, repo.path).unlink()
    events = await designed(podium, repo, run_id)
    turns = [event["data"] for event in events if event["type"] == "turn.intended"]
    assert [turn["anew"] for turn in turns].count(True) == 1
    (anew,) = [turn for turn in turns if turn["anew"]]
    assert anew["prompt"].startswith("This conversation is new to you")
    assert guided.GOAL in anew["prompt"] and anew["prompt"].endswith("The answer: Write it")
