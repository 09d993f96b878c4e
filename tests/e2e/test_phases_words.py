"""A person's words to a conversation, from wherever they speak: they reach the agent of its phase,
and whoever waits hears what it says to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from tests.doors.house import port_of
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import heard, holding, paired, started
from tests.e2e.stories import held, when
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

TALK = """
initial = "goal"

[context]
goal = "string"

[steps.goal]
talk = true
opening = "Ask for the goal."
system = "You find out the goal."

[steps.goal.on]
agreed = { exit = "goal-agreed", class = "completed", requires = ["goal"] }
"""

STORY = {
    "rules": [
        when("Ask for the goal", {"text": "What is it?"}),
        when("From the phone", {"text": "Heard the phone."}),
        when("Over HTTP", {"text": "Heard HTTP."}),
        when("From the terminal", {"text": "Heard the terminal."}),
        when("Slowly", held({"text": "Thinking about it. " * 20})),
        when("One more", {"text": "Heard one more."}),
    ]
}


POST = ("curl", "-s", "-w", "\\n%{http_code}", "-H", "Content-Type: application/json")


async def post(podium: PodiumDaemon, key: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Post a prompt as a Shortcut does; the answer's status and body."""
    url = f"http://127.0.0.1:{await port_of(podium)}/v1/prompt"
    with trio.fail_after(HANG_SECONDS):
        done = await trio.run_process(
            [*POST, "-H", f"Authorization: Bearer {key}", "-d", json.dumps(body), url],
            capture_stdout=True,
        )
    text, _, status = done.stdout.decode().rpartition("\n")
    return status, json.loads(text)


async def waits(podium: PodiumDaemon, run: dict[str, Any]) -> None:
    """Wait until it is a person's turn."""
    async with podium.follow(run["run_id"]) as feed:
        await feed.until("snapshot", lambda data: data["run"]["status"] == "waiting")


async def test_words_from_phone_http_and_terminal_reach_the_phase_and_are_answered(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(STORY)
    recipe = podium.machine.recipe("talk", TALK)
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await started(phone, recipe, repo)
        await phone.open(session)
        await heard(phone, session, "What is it?")
        (run,) = await podium.rpc("runs.list", active=True)
        await waits(podium, run)
        await phone.say("From the phone")
        assert phone.model.acks[-1] == "Delivered: the conversation's next prompt"
        await heard(phone, session, "Heard the phone.")
        await waits(podium, run)
        status, told = await post(
            podium, key, {"text": "Over HTTP", "session_id": session, "wait": 30}
        )
        assert (status, told["text"], told["run_id"]) == ("200", "Heard HTTP.", run["run_id"])
        assert told["status"] == "answered" and told["exit"] is None
        said = await podium.cli("prompt", "From the terminal", "--session", session, cwd=repo.path)
        assert said.code == 0 and "Heard the terminal." in said.out, said
        await phone.say("Slowly")
        await holding(model_server, "half")
        status, told = await post(
            podium, key, {"text": "One more", "session_id": session, "wait": 0}
        )
        assert (status, told["delivery"]) == ("202", "steered")
        model_server.release("half")
        await heard(phone, session, "Heard one more.")
        assert phone.faults == []
    (kept,) = await podium.rpc("runs.list", active=True)
    assert kept["run_id"] == run["run_id"] and kept["step"] == "goal"
    listed = (await podium.rpc("sessions.get", session_id=session))["active_recipe"]
    assert (listed["run_id"], listed["current_step"]) == (run["run_id"], "goal")
