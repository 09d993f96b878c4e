"""Who holds a session or a working tree, and what the others are told."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon, gone
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, held, when, word
from tests.e2e.terminal import ask_alone, terminal
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude


async def test_a_session_open_in_a_terminal_is_refused_with_its_pid_and_free_afterwards(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Hello."}})
    first = await podium.rpc(
        "sessions.prompt", text="Hi.", working_directory=str(repo.path), wait=True
    )
    session = first["session_id"]
    again = {"text": "Hi again.", "session_id": session}
    async with terminal(podium.machine, session, repo.path) as screen:
        refusals = [
            await podium.refused("sessions.prompt", **again),
            await podium.refused(
                "runs.start",
                recipe="implement-and-review",
                working_directory=str(repo.path),
                session_id=session,
            ),
        ]
        for refusal in refusals:
            assert refusal.code == -32001 and refusal.data["session_id"] == session
            holder = refusal.data["holder"]
            assert (holder["kind"], holder["pid"]) == ("foreign", screen.pid) and holder["since"]
        (lock,) = await podium.rpc("sessions.locks")
        assert (lock["session_id"], lock["holder"]["pid"]) == (session, screen.pid)
        said = await podium.cli("prompt", "Hi again.", "--session", session)
        assert said.code == 5 and str(screen.pid) in said.err
    await gone(screen.pid)
    turn = await podium.rpc("sessions.prompt", **again, wait=True)
    assert turn["text"] == "Hello." and len(model_server.requests) == 2


async def test_what_somebody_else_wrote_into_the_session_is_asked_about(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Work", held(word("complete", "Thinking. " * 20))),
        when("Review", word("no-issues")),
        when("Behind", {"text": "Noted."}),
    ]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id, session = feed.seen[0]["run_id"], feed.seen[0]["session_id"]
        await holding(model_server, "half")
        await podium.rpc("runs.pause", run_id=run_id)
        model_server.release("half")
        await feed.until("run.paused")
        said = await ask_alone(podium.machine, session, repo.path, "Behind your back.")
        assert said == "Noted."
        await podium.rpc("runs.resume", run_id=run_id)
        asked = await feed.until("question.opened", kind="recover")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="continue")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    prompts = podium.machine.prompts(session, repo.path)
    assert [prompt.partition("\n")[0] for prompt in prompts] == [
        "Work on it.",
        "Behind your back.",
        "Review it.",
    ]
