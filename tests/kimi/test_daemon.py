"""The daemon drives the real Kimi Code: questions, Podium's tools, a further turn, a kill."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import ASKING, word
from tests.fakes.model_server import ModelServer
from tests.kimi.machine import KimiMachine, run

pytestmark = [pytest.mark.kimi, pytest.mark.slow]

KIMI = {"agent": "kimi"}


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


async def test_a_question_is_answered_and_the_session_goes_on(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
) -> None:
    server.load({"turns": [run("echo ran >> made"), word("complete"), {"text": "And on."}]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **KIMI) as feed:
        asked = await feed.until("question.opened")
        assert asked["tool"] == "Bash" and "echo ran >> made" in str(asked["input"])
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    said = await podium.cli("prompt", "go on", "--session", done["session_id"], cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "And on."), said
    assert "Work on it." in server.requests[-1].anywhere


async def test_a_question_is_denied_and_the_command_does_not_run(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
) -> None:
    server.load({"turns": [run("echo ran >> made"), word("complete")]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **KIMI) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="deny")
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and not (repo.path / "made").exists()


async def test_podiums_own_tools_are_called_by_mcp_and_asked_of_nobody(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
) -> None:
    outcome = {"outcome": "complete", "detail": "By the tool."}
    call = {"name": "mcp__podium__report_outcome", "input": outcome}
    server.load({"turns": [{"tools": [call]}, {"text": "Done."}]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **KIMI) as feed:
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and done["questions"] == []


async def test_a_daemon_killed_while_it_asks_asks_again_and_the_tool_runs_once(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
) -> None:
    server.load({"turns": [run("echo ran >> made"), word("complete")]})
    start = {"recipe": machine.recipe("asking", ASKING), "working_directory": str(repo.path)}
    run_id = (await podium.rpc("runs.start", **start, **KIMI))["run_id"]
    async with podium.follow(run_id) as feed:
        before = await feed.until("question.opened")
    await podium.kill9()
    await podium.start()
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        assert asked["question_id"] == before["question_id"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    done = await podium.ended(run_id)
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n" and len(server.requests) == 2


async def test_it_is_tried_without_a_prompt_and_leaves_nothing(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: KimiMachine
) -> None:
    said = await podium.cli("agent", "try", "kimi", "--json", cwd=repo.path)
    told = json.loads(said.out)
    assert said.code == 0 and told["ok"], told
    assert told["greeting"]["version"].startswith("Kimi Code")
    assert {"default", "auto"} <= {*told["greeting"]["modes"]} and told["greeting"]["logins"]
    assert {one["verdict"] for one in told["cases"]} == {"passed"}
    assert told["leaves"] == [] and not [*machine.home.glob(".kimi-code/sessions/wd_*/session_*")]
    assert server.requests == []
    (listed,) = [one for one in await podium.rpc("agents.list") if one["name"] == "kimi"]
    assert listed["capabilities"] == told["capabilities"] and listed["program"]
