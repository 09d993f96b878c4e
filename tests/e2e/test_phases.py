"""The guided design with the real agent: its tools over MCP, a phone that answers, a terminal
that looks on, and a daemon that dies."""

from __future__ import annotations

import json

import pytest

from tests.e2e import guided
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import back, exited, heard, paired, started
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude


async def answer(phone: Phone, text: str, choice: str) -> None:
    """Answer the open question of this text from the phone."""

    def open_now(phone: Phone) -> list[str]:
        asked = phone.model.board.questions.values()
        return [one["question_id"] for one in asked if one["text"] == text]

    (question_id,) = await phone.until(open_now)
    phone.send({"type": "answer_question", "question_id": question_id, "answer": choice})
    await phone.until(lambda p: question_id in p.model.board.closed)


async def test_a_design_is_talked_through_from_the_phone_while_the_terminal_looks_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(guided.story())
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await started(phone, guided.RECIPE, repo)
        (run,) = await podium.rpc("runs.list", active=True)
        async with (
            podium.watching("attach", run["run_id"]) as terminal,
            podium.follow(run["run_id"]) as feed,
        ):
            await terminal.until(guided.ASKED_GOAL)
            await answer(phone, guided.ASKED_GOAL, "It is right")
            await feed.until("snapshot", phase="blueprint-design")
            await podium.restart()  # kill -9, and all of it is there again
            await terminal.until(guided.ASKED_BLUEPRINT)
        await back(podium, phone)
        await answer(phone, guided.ASKED_BLUEPRINT, "Write it")
        told = await exited(phone, session)
        assert told["reason"] == "conversation-complete"
        await phone.open(session)
        await heard(phone, session, guided.LAST_WORDS)
        await phone.say("And now?")  # plain words, in the same conversation
        await heard(phone, session, "Plain words.")
        assert phone.faults == []
    ended = await podium.rpc("runs.get", run_id=run["run_id"])
    assert ended["ctx"] == guided.CONTEXT
    events = (await podium.rpc("runs.events", run_id=run["run_id"]))["events"]
    used = [event["data"] for event in events if event["type"] == "tool.used"]
    assert [(one["tool"], one["success"]) for one in used] == [
        ("ask", True),
        ("transition", False),  # no such way
        ("transition", False),  # what it requires is not saved
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
    written = json.loads((repo.path / "docs/blueprint.json").read_text())
    assert written == {"phase": "blueprint-design", **guided.CONTEXT}
    assert guided.GOAL in (repo.path / "docs/blueprint.md").read_text()
