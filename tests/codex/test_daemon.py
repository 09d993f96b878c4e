"""The daemon drives the real Codex: whole recipes, questions, tools of Podium's, kills."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from tests.codex.app_server import Home, app_server
from tests.codex.machine import CodexMachine
from tests.codex.rig import escalated, run
from tests.e2e.daemon import PodiumDaemon, gone
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Refused
from tests.e2e.stories import ASKING, LOOP, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.pictures import png, shown

pytestmark = [pytest.mark.codex, pytest.mark.slow]

CODEX = {"agent": "codex"}
FINDING = "1. [high] shop.py:1: the price is wrong, it has to be 2."
WALK = ["implement", "code-review", "fix", "code-review", "commit"]
STORY = {
    "rules": [
        when("Implement one task", run("echo 'price = 0' > shop.py"), word("complete", "A shop.")),
        when(
            "Perform a code review",
            word("issues-found", detail=FINDING),
            run("cat shop.py"),
            word("no-issues", "Looked at shop.py."),
        ),
        when("Address the issues", run("echo 'price = 2' > shop.py"), word("complete", "Fixed.")),
        when(
            "Commit the work",
            run("git add -- shop.py && git commit --quiet --message='Open a shop'"),
            word("committed", "Committed."),
        ),
    ]
}
FREE = LOOP.replace('"Bash", "Write"', '"Bash", "Edit", "Write"')
"""A recipe in which commands and changes are allowed unasked."""


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


@pytest.mark.parametrize("place", [(), ("--worktree",)])
async def test_a_task_is_implemented_reviewed_fixed_and_committed_with_nobody_answering(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, place: tuple[str, ...]
) -> None:
    server.load(STORY)
    task = ("implement-and-review", "-p", "task=Open a shop", "--agent", "codex")
    said = await podium.cli("run", *task, *place, cwd=repo.path)
    assert said.code == 0, said
    done = await podium.only_run()
    assert done["exit"]["reason"] == "changes-committed"
    assert [visit["step"] for visit in done["history"]] == WALK and done["turns"] == len(WALK)
    branches = repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
    assert len(branches) == (2 if place else 1)
    branch = max(branches)  # that of the worktree is podium/...
    assert repo.git("log", "--format=%s", branch).splitlines() == ["Open a shop", "Begin"]
    assert repo.git("show", f"{branch}:shop.py") == "price = 2"


async def test_a_question_is_answered_and_the_thread_goes_on_under_one_name(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    server.load({"turns": [run("echo ran >> made"), word("complete"), {"text": "And on."}]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **CODEX) as feed:
        asked = await feed.until("question.opened")
        assert asked["input"]["command"] == "echo ran >> made" and asked["tool"] == "Bash"
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    said = await podium.cli("prompt", "go on", "--session", done["session_id"], cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "And on."), said
    assert "Work on it." in server.requests[-1].anywhere
    (rollout,) = machine.codex.glob("sessions/*/*/*/*.jsonl")
    assert len(machine.said(rollout.stem[-36:])) == 2


async def test_always_for_commands_lets_none_out_of_the_sandbox(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    outside = machine.home / "outside"
    calls = [run("touch a"), run("touch b"), escalated(f"touch {outside}")]
    server.load({"turns": [*calls, word("complete")]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **CODEX) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="always")
        asked = await feed.until("question.opened", tool="Escalate")
        assert asked["text"] == f"May the agent go outside the sandbox? touch {outside}"
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="deny")
        await feed.end()
    assert (repo.path / "b").exists() and not outside.exists()


async def test_the_words_of_a_refusal_reach_the_model(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    server.load({"turns": [run("echo ran >> made")], "default": word("complete")})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **CODEX) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc(
            "questions.answer",
            question_id=asked["question_id"],
            answer="deny",
            note="Make nothing here.",
        )
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and not (repo.path / "made").exists()
    assert "Make nothing here." in server.requests[-1].anywhere


async def test_podiums_own_tools_are_called_by_mcp_and_asked_of_nobody(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    outcome = {"outcome": "complete", "detail": "By the tool."}
    call = {"name": "report_outcome", "namespace": "mcp__podium", "input": outcome}
    server.load({"turns": [{"tools": [call]}, {"text": "Done."}]})
    async with podium.running(machine.recipe("asking", ASKING), repo.path, **CODEX) as feed:
        done = await feed.end()
    assert done["exit"]["reason"] == "turn-complete" and done["questions"] == []
    assert "mcp__podium.report_outcome" in server.requests[0].tools


async def test_a_thread_that_is_open_elsewhere_is_busy_and_may_be_forked(
    podium: PodiumDaemon,
    repo: GitRepo,
    server: ModelServer,
    machine: CodexMachine,
    codex_binary: Path,
    tmp_path: Path,
) -> None:
    server.load({"default": {"text": "Here."}})
    went = await podium.rpc(
        "sessions.prompt", text="hi", working_directory=str(repo.path), wait=True, **CODEX
    )
    (rollout,) = machine.codex.glob("sessions/*/*/*/*.jsonl")
    session = went["session_id"]
    async with app_server(Home(tmp_path, codex_binary, server)) as other:
        opened = await other.call("thread/resume", threadId=rollout.stem[-36:])
        assert opened["thread"]["id"] == rollout.stem[-36:]
        refused = await podium.refused("sessions.prompt", text="go on", session_id=session)
        holder = refused.data["holder"]
        assert (refused.code, refused.data["session_id"]) == (-32001, session)
        assert (holder["kind"], holder["pid"]) == ("foreign", other.process.pid)
        said = await podium.cli("prompt", "go on", "--session", session, cwd=repo.path)
        assert said.code == 5 and "Close it there, or fork the session" in said.err, said
        assert len(server.requests) == 1
        said = await podium.cli("prompt", "go on", "--session", session, "--fork", cwd=repo.path)
        assert (said.code, said.out.strip()) == (0, "Here."), said
    said = await podium.cli("prompt", "go on", "--session", session, cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "Here."), said
    assert machine.said(rollout.stem[-36:]) == ["hi", "go on"]


@asynccontextmanager
async def killed_at(machine: CodexMachine, point: str) -> AsyncIterator[PodiumDaemon]:
    """A daemon that kills itself at a point, once; it can be started again."""
    async with PodiumDaemon(machine, PODIUM_FAILPOINT=point) as podium:
        podium.next_environment(PODIUM_FAILPOINT=None)
        yield podium


@pytest.mark.parametrize(
    "point", ["turn.approval-raised", "answer.before-write", "answer.after-write"]
)
async def test_a_person_answers_while_the_daemon_is_killed_and_the_tool_runs_once(
    machine: CodexMachine, server: ModelServer, point: str
) -> None:
    repo = machine.repository()
    server.load({"turns": [run("echo ran >> made"), word("complete")]})
    async with killed_at(machine, point) as podium:
        start = {"recipe": machine.recipe("asking", ASKING), "working_directory": str(repo.path)}
        run_id = (await podium.rpc("runs.start", **start, **CODEX))["run_id"]
        if point != "turn.approval-raised":
            async with podium.follow(run_id) as feed:
                asked = await feed.until("question.opened")
                with suppress(OSError, trio.BrokenResourceError, Refused):
                    await podium.rpc(
                        "questions.answer", question_id=asked["question_id"], answer="allow"
                    )
        await podium.wait()
        await podium.start()
        if point == "turn.approval-raised":
            async with podium.follow(run_id) as feed:
                asked = await feed.until("question.opened")
                await podium.rpc(
                    "questions.answer", question_id=asked["question_id"], answer="allow"
                )
        done = await podium.ended(run_id)
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n" and len(server.requests) == 2


POINTS = [
    "turn.lease-taken",
    "turn.fifo-written",
    "turn.after-spawn",
    "turn.first-output",
    "turn.session-named",
    "turn.tool-begun",
    "handshake.before-write",
    "handshake.after-write",
    "turn.idle-seen",
    "turn.ended-process",
    "turn.swept",
    "turn.before-ended",
]


@pytest.mark.parametrize("point", POINTS)
async def test_a_daemon_that_is_killed_at_any_point_loses_and_doubles_nothing(
    machine: CodexMachine, server: ModelServer, point: str
) -> None:
    repo = machine.repository()
    work = when("Work", run("echo ran >> made"), word("complete"))
    server.load({"rules": [work, when("Review", word("no-issues"))]})
    async with killed_at(machine, point) as podium:
        start = {"recipe": machine.recipe("loop", FREE), "working_directory": str(repo.path)}
        run_id = (await podium.rpc("runs.start", **start, **CODEX))["run_id"]
        await podium.wait()
        await podium.start()
        done = await podium.ended(run_id)
    assert done["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    assert len(server.requests) == 3


async def test_an_agent_killed_with_its_daemon_is_told_that_it_was_interrupted(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    once = run("echo ran >> made")
    rules = [
        when("Work", once, held({"text": "Thinking about it. " * 20})),
        when("You were interrupted", word("blocked", "I saw.")),
    ]
    server.load({"rules": rules})
    async with podium.running(machine.recipe("loop", FREE), repo.path, **CODEX) as feed:
        run_id = feed.seen[0]["run_id"]
        agent = (await feed.until("turn.started"))["pid"]
        await holding(server, "half")
    await podium.kill9()
    os.kill(agent, signal.SIGKILL)
    await gone(agent)
    await podium.start()
    done = await podium.ended(run_id)
    assert done["exit"]["reason"] == "implementation-blocked"
    assert (repo.path / "made").read_text() == "ran\n"


async def test_it_is_tried_without_a_prompt_and_leaves_nothing(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer, machine: CodexMachine
) -> None:
    said = await podium.cli("agent", "try", "codex", "--json", cwd=repo.path)
    told = json.loads(said.out)
    assert said.code == 0 and told["ok"], told
    assert told["greeting"]["version"].startswith("Codex ")
    verdicts = {one["number"]: one["verdict"] for one in told["cases"]}
    excused = {number for number, verdict in verdicts.items() if verdict == "excused"}
    assert set(verdicts.values()) == {"passed", "excused"} and excused == {"12b", "13c"}
    assert told["leaves"] == [] and not [*machine.codex.glob("sessions/*/*/*/rollout-*")]
    assert server.requests == []
    (listed,) = [one for one in await podium.rpc("agents.list") if one["name"] == "codex"]
    assert listed["capabilities"] == told["capabilities"] and listed["program"]


async def test_the_model_gets_the_images_of_a_prompt_by_their_path(
    podium: PodiumDaemon, repo: GitRepo, server: ModelServer
) -> None:
    (repo.path / "door.png").write_bytes(png(10))
    server.load({"turns": [{"text": "A door."}, {"text": "Still a door."}]})
    file = ("--file", "door.png")
    said = await podium.cli("prompt", "What is it?", *file, "--agent", "codex", cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "A door."), said
    assert len(shown(server.requests[0].body)) == 1
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    (repo.path / "door.png").unlink()
    (copy,) = podium.machine.podium_home.rglob("images/*/1.png")
    copy.unlink()
    again = ("--session", row["session_id"])
    said = await podium.cli("prompt", "And now?", *again, cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "Still a door."), said
    assert len(shown(server.requests[-1].body)) == 1, "it is in the thread"
