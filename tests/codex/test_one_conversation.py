"""A phone, a terminal and Codex' own file speak of one conversation, by one id."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from tests.codex.machine import CodexMachine
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import agrees, back, heard, paired
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.phone.driver import Phone

pytestmark = [pytest.mark.codex, pytest.mark.slow]


@pytest.fixture
def machine(codex_binary: Path, server: ModelServer, tmp_path: Path) -> CodexMachine:
    made = CodexMachine(tmp_path, tmp_path / "home", codex_binary, server)
    made.set_up()
    made.configure()
    return made


@pytest.fixture
async def podium(machine: CodexMachine) -> AsyncIterator[PodiumDaemon]:
    async with PodiumDaemon(machine) as daemon:
        yield daemon
    print(daemon.log_text())  # shown where the test fails


@pytest.fixture
def repo(machine: CodexMachine) -> GitRepo:
    return machine.repository()


def threads(machine: CodexMachine) -> list[str]:
    return [path.stem[-36:] for path in machine.codex.glob("sessions/*/*/*/*.jsonl")]


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
async def test_a_phone_begins_a_session_comes_back_and_prompts_again_in_one_conversation(
    podium: PodiumDaemon,
    repo: GitRepo,
    server: ModelServer,
    machine: CodexMachine,
    number: signal.Signals | None,
) -> None:
    server.load({"turns": [{"text": "Here it is.", "hold": "slow"}, {"text": "Welcome."}]})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        session = await phone.new(str(repo.path), "Take your time", provider="codex")
        await holding(server, "slow")
        if number is not None:
            await podium.restart(number)
            await back(podium, phone)
        server.release("slow")
        await heard(phone, session, "Here it is.")
        await phone.turns(session, 1)
        if number is not None:
            await podium.kill9()
            databases = [*machine.podium_home.rglob("index.db*")]
            assert databases
            for database in databases:
                database.unlink()
            await podium.start()
        else:
            await podium.restart(signal.SIGTERM)
        await back(podium, phone)
        await phone.say("Thank you")
        await heard(phone, session, "Welcome.")
        assert phone.texts(session) == ["Take your time", "Here it is.", "Thank you", "Welcome."]
        assert phone.unsent(session) == [] and phone.faults == []
        await agrees(podium, phone, session)
    (thread,) = threads(machine)
    assert thread != session
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    assert (row["session_id"], row["agent"], row["message_count"]) == (session, "codex", 4)
    said = await podium.cli("prompt", "And I?", "--session", thread, cwd=repo.path)
    assert said.code == 0, said
    assert threads(machine) == [thread]
    assert (await podium.rpc("sessions.get", session_id=thread))["session_id"] == session


async def test_a_session_that_codex_began_itself_is_gone_on_with_under_its_own_id(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    server.load({"turns": [{"text": "First."}, {"text": "Second."}]})
    await trio.run_process(
        [str(machine.claude), "exec", "Begin"],
        cwd=repo.path,
        env=machine.environment(),
        capture_stdout=True,
        capture_stderr=True,
    )
    (thread,) = threads(machine)
    await podium.rpc("sessions.get", session_id=thread)
    said = await podium.cli("prompt", "Go on", "--session", thread[:13], cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "Second."), said
    assert threads(machine) == [thread] and "Begin" in server.requests[-1].anywhere
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    assert row["session_id"] == thread


async def test_nothing_else_of_this_person_writes_to_the_thread_meanwhile(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    server.load({"turns": [{"text": "Slowly.", "hold": "slow"}]})
    went = await podium.rpc(
        "sessions.prompt", text="Begin", working_directory=str(repo.path), agent="codex"
    )
    await holding(server, "slow")
    async with podium.follow(went["run_id"]) as feed:
        await feed.until("session.named")
    (thread,) = threads(machine)
    refusal = await podium.refused("sessions.prompt", text="Beside it", session_id=thread)
    assert refusal.data["session_id"] == went["session_id"]
    (lock,) = await podium.rpc("sessions.locks")
    assert lock["session_id"] == went["session_id"]
    locks = machine.home / ".local" / "state" / "podium-locks"
    held = [locks / f"session-{one}.lock" for one in (thread, went["session_id"])]
    assert held[0].samefile(held[1])
    assert json.loads(held[0].read_text())["id"] == went["run_id"]
    server.release("slow")
    await podium.rpc("sessions.interrupt", session_id=thread)
