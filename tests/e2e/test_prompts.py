"""Plain prompts: chat, forks, and a person's words to a session that is busy."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude


async def test_a_prompt_by_the_command_line_prints_the_answer_and_goes_on_in_its_session(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [{"text": "Hello."}, {"text": "As I said."}]})
    first = await podium.cli("prompt", "Hi.", "--json", cwd=repo.path)
    assert first.code == 0, first
    session = model_server.requests[0].session
    assert session in first.out
    second = await podium.cli("prompt", "-", "--session", session, stdin=b"Again?", cwd=repo.path)
    assert (second.code, second.out.strip()) == (0, "As I said."), second
    assert "Hi." in model_server.requests[1].anywhere
    assert await podium.rpc("runs.list") == [], "plain prompts are no runs in the list"
