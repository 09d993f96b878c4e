"""Plain prompts: chat, forks, and a person's words to a session that is busy."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, bash, word
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


@pytest.mark.long(
    "tests/drivers/test_claude_args.py::test_an_agent_gets_its_requests_environment_and_nothing_of_the_daemons"
)
async def test_an_agent_gets_nothing_of_the_daemons_own_environment(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    machine.configure(pass_env=["WANTED"], permission_mode="acceptEdits")
    recipe = machine.recipe("loop", LOOP)
    model_server.load({"turns": [bash("env | cut -d= -f1 | sort"), word("blocked")]})
    given = {"SECRET_OF_THE_DAEMON": "s3cret", "CLAUDECODE": "1", "WANTED": "yes"}
    async with (
        PodiumDaemon(machine, **given) as podium,
        podium.running(recipe, repo.path) as feed,
    ):
        await feed.end()
    names = set(model_server.requests[1].result.split())
    assert {"PODIUM_TURN", "HOME", "PATH", "WANTED"} <= names
    assert not names & {"SECRET_OF_THE_DAEMON", "PODIUM_HOME", "PYTHONPATH"}
