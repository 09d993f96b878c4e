"""A phone and Kimi Code, whose ids are no UUIDs and whose files Podium does not read."""

from __future__ import annotations

import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import back, paired
from tests.fakes.model_server import ModelServer
from tests.kimi.machine import KimiMachine
from tests.phone.driver import Phone

pytestmark = [pytest.mark.kimi, pytest.mark.slow]


@pytest.fixture
def machine(kimi_command: tuple[str, ...], server: ModelServer, tmp_path: Path) -> KimiMachine:
    made = KimiMachine(tmp_path, tmp_path / "home", Path(kimi_command[0]), server, kimi_command)
    made.set_up()
    made.configure()
    return made


@pytest.fixture
async def podium(machine: KimiMachine) -> AsyncIterator[PodiumDaemon]:
    async with PodiumDaemon(machine) as daemon:
        yield daemon
    print(daemon.log_text())  # shown where the test fails


@pytest.fixture
def repo(machine: KimiMachine) -> GitRepo:
    return machine.repository()


async def test_a_phone_begins_a_session_comes_back_and_prompts_again_in_one_conversation(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
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
