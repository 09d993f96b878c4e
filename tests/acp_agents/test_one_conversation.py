"""A phone and Kimi Code, whose ids are no UUIDs and whose files Podium does not read."""

from __future__ import annotations

import signal
import uuid

import pytest

from tests.acp_agents.machine import AgentMachine
from tests.acp_agents.rows import ROWS, Row
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import back, paired
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = [pytest.mark.acp_agents, pytest.mark.slow]


@pytest.fixture
def row() -> Row:
    """Kimi Code alone."""
    return ROWS["kimi"]


async def test_a_phone_begins_a_session_comes_back_and_prompts_again_in_one_conversation(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: AgentMachine
) -> None:
    said = ("Here it is.", "Welcome.", "Yes.", "You too.")
    server.load({"turns": [{"text": text} for text in said]})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await phone.new(str(repo.path), "Look around", provider="kimi")
        await phone.turns(session, 1)
        await podium.restart(signal.SIGKILL)
        await back(podium, phone)
        await phone.say("Thank you")
        await phone.turns(session, 2)
        assert phone.faults == []
    last = await podium.rpc("sessions.prompt", text="And I?", session_id=session)
    async with podium.follow(last["run_id"]) as feed:
        own = (await feed.until("session.named"))["agent_session_id"]
        await feed.end()
    assert str(uuid.UUID(session)) == session and own.startswith("session_")
    done = await podium.cli("prompt", "Goodbye", "--session", own[:16], cwd=repo.path)
    assert (done.code, done.out.strip()) == (0, "You too."), done
    (wire,) = (machine.home / ".kimi-code").glob("sessions/*/*/agents/main/wire.jsonl")
    assert wire.parts[-4] == own
