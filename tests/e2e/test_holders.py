"""Who holds a session or a working tree, and what the others are told."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon, gone
from tests.e2e.machine import GitRepo
from tests.e2e.terminal import terminal
from tests.fakes.model_server import ModelServer

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
