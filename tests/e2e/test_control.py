"""A person takes hold of a run: interrupt, pause, steer, cancel, and goes on by hand."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

LONG = "Thinking about it. " * 20
GO_ON = "Go on with this step where you stopped."
HOSTILE = "  Wie geht's?\n\n\tÜbrig: {{x}} $HOME `id` \\n \u2028 ende \U0001f3b5  "


async def test_an_interrupted_run_lets_its_person_speak_and_then_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The go-on prompt is no visit, and the person's own exchange is nothing foreign."""
    model_server.load({"rules": [when("Work", held(word("complete", LONG)))]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        run = await podium.rpc("runs.interrupt", run_id=run_id)
        assert run["status"] == "paused" and podium.children() == []
        rules = [when("How far", {"text": "Half way."}), when(GO_ON, word("blocked"))]
        model_server.load({"rules": rules})
        aside = await podium.rpc(
            "sessions.prompt", text="How far are you?", session_id=run["session_id"], wait=True
        )
        assert aside["text"] == "Half way." and aside["exit"]["reason"] == "turn-complete"
        await podium.rpc("runs.resume", run_id=run_id)
        run = await feed.end()
    assert run["exit"]["reason"] == "implementation-blocked"
    assert (run["step_count"], run["visits"]) == (1, {"work": 1})
    assert feed.data("turn.ended")[0]["report"]["kind"] == "interrupted"
    said = [
        line.partition("\n")[0] for line in podium.machine.prompts(run["session_id"], repo.path)
    ]
    assert [line for line in said if not line.startswith("[Request interrupted")] == [
        "Work on it.",
        "How far are you?",
        f"{GO_ON} If it is already finished, say how it went.",
    ]


async def test_a_steer_reaches_the_agent_at_its_next_tool(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [held(bash("true", LONG)), word("blocked")]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        steered = await podium.rpc("runs.steer", run_id=run_id, text="Mind the gap.")
        assert steered == {"state": "queued"}
        model_server.release("half")
        delivered = await feed.until("effect.ended", state="delivered")
        run = await feed.end()
    uuid = feed.data("steer.intended")[0]["uuid"]
    assert delivered["effect"] == f"steer:{uuid}"
    assert "Mind the gap." in model_server.requests[1].anywhere
    assert feed.data("run.ended")[0]["undelivered"] == []
    assert run["turns"] == 1, "the turn was still judged for its outcome"
    lines = podium.machine.transcript(run["session_id"], repo.path)
    assert sum(uuid.encode() in line and b"queued_command" in line for line in lines) == 1


async def test_after_a_cancel_the_session_is_plain_chat_byte_for_byte(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"rules": [when("Work", held(word("complete", LONG)))]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        await holding(model_server, "half")
        await podium.rpc("runs.steer", run_id=run_id, text="Never mind.")
        run = await podium.rpc("runs.cancel", run_id=run_id)
        assert podium.children() == [] and await podium.rpc("sessions.locks") == []
        ended = await feed.end()
    assert {name: ended[name] for name in run} == run, "its history apart"
    assert (run["exit"]["reason"], run["exit"]["class"]) == ("user-requested", "cancelled")
    assert feed.data("run.ended")[0]["undelivered"] == ["Never mind."]
    answer = {"text": 'Well. {"outcome": "complete"}'}
    model_server.load({"default": answer})
    turn = await podium.rpc(
        "sessions.prompt", text=HOSTILE, session_id=run["session_id"], wait=True
    )
    assert turn["text"] == answer["text"] and turn["outcome"] is None
    assert turn["exit"]["reason"] == "turn-complete"
    assert podium.machine.prompts(run["session_id"], repo.path)[-1] == HOSTILE
    assert "Work on it." in model_server.requests[-1].anywhere, "the same conversation"


async def test_a_server_that_the_agent_left_behind_is_ended_and_reported(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    serve = "python3 -m http.server --bind 127.0.0.1 0"
    command = f"nohup setsid {serve} >/dev/null 2>&1 & echo started"
    model_server.load({"turns": [bash(command), word("blocked", "It serves.")]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run = await feed.end()
    assert "started" in model_server.requests[1].result
    stopped = feed.data("turn.ended")[0]["report"]["background_stopped"]
    assert any("http.server" in line for line in stopped), stopped
    assert podium.children() == []
    assert run["exit"]["reason"] == "implementation-blocked"
