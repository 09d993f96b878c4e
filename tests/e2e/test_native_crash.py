"""kill -9 in a native turn: the next daemon goes on in the same turn, nothing is done twice."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from podiumd.tools.failpoints import VARIABLE
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    BROKEN,
    MENDED,
    MENDING,
    act,
    after,
    first,
    messages,
    native_machine,
    project,
    says,
)
from tests.e2e.rpc_client import Json

KILLS = [
    ("turn.after-intended", 1),
    ("row.before-write", 1),
    ("row.after-write", 2),
    ("reply.before-received", 2),
    ("reply.after-received", 2),
    ("action.after-do", 1),  # a reading
    ("action.after-intended", 1),  # the patch, not made
    ("action.after-do", 2),  # the patch, made
    ("action.after-ended", 2),
    ("action.after-intended", 2),  # the tests
    ("action.after-do", 3),
    ("commit.before-make", 1),
    ("commit.after-make", 1),
    ("turn.before-ended", 1),
]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path, mode="allow-all") as made:
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return project(machine)


async def killed_at(machine: Machine, repo: GitRepo, point: str, prompt: str = "Mend it.") -> Json:
    """Send a prompt to a daemon that dies at a point of its turn; returns where it went."""
    daemon = PodiumDaemon(machine, **{VARIABLE: point})
    await daemon.start()
    where = await daemon.rpc(
        "sessions.prompt", text=prompt, agent="native", working_directory=str(repo.path)
    )
    assert await daemon.wait() == -signal.SIGKILL
    return dict(where)


@pytest.mark.parametrize(("point", "hit"), KILLS)
async def test_the_next_daemon_goes_on_in_the_same_turn(
    machine: Machine, repo: GitRepo, point: str, hit: int
) -> None:
    where = await killed_at(machine, repo, f"{point}:{hit}")
    async with PodiumDaemon(machine) as podium, podium.follow(where["run_id"]) as feed:
        run = await feed.end()
        events = Counter(event["type"] for event in feed.seen)
    assert run["exit"]["reason"] == "turn-complete", run
    assert run["turns"] == 1
    assert (events["turn.intended"], events["reply.received"]) == (1, 4)
    assert events["question.opened"] == 0
    assert (repo.path / "calc.py").read_text() == MENDED
    assert repo.subjects == ["AI: modified calc.py", "A calculator", "Begin"]
    rows = messages(machine, where["session_id"])
    assert Counter(row.uuid for row in rows).most_common(1)[0][1] == 1
    assert [row.text for row in rows if row.role == "user" and row.text] == ["Mend it."]
    assert [row.text for row in rows if row.role == "assistant"][:3] == [
        "I look.",
        "I mend it.",
        "I test it.",
    ]
    ended = [data["result"]["action"] for data in feed.data("action.ended")]
    assert ended == ["read_file", "patch", "run_tests", "done"]


async def test_a_command_that_was_cut_off_is_ended_and_its_outcome_is_told_as_unknown(
    machine: Machine, repo: GitRepo
) -> None:
    """It is not run again by itself; the model decides what to do, and what lived on is ended."""
    begun = repo.path / "begun"
    os.mkfifo(begun)
    line = "(setsid sleep 400 > /dev/null 2>&1 &); echo x >> log; echo > begun; sleep 300"
    command = {"action": "run_command", "command": line}
    rules = [
        {"when": {"prompt": "interrupted, unknown outcome"}, **says("I see.")},
        after("run_command", False, says("Something else.")),
        first("Go", says(act(command))),
    ]
    machine.model.load({"rules": rules})
    first_life = PodiumDaemon(machine)
    await first_life.start()
    where = await first_life.rpc(
        "sessions.prompt", text="Go.", agent="native", working_directory=str(repo.path)
    )
    begun.read_bytes()
    await first_life.kill9()
    async with PodiumDaemon(machine) as podium:
        run = await podium.ended(where["run_id"])
        assert podium.children() == []
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "log").read_text() == "x\n"
    assert messages(machine, where["session_id"])[-1].text == "I see."


@pytest.mark.parametrize(("answer", "left"), [("retry", MENDED), ("continue", "mine\n" + BROKEN)])
async def test_a_file_that_somebody_else_has_changed_meanwhile_is_asked_about(
    machine: Machine, repo: GitRepo, answer: str, left: str
) -> None:
    """The patch was planned and not made; then a person has written into the file."""
    write = {"action": "write_file", "path": "calc.py", "content": MENDED}
    rules = [
        after("write_file", True, says("Written.")),
        after("write_file", False, says("Left.")),
        first("Write", says(act(write))),
    ]
    machine.model.load({"rules": rules})
    where = await killed_at(machine, repo, "action.after-intended:1", "Write it.")
    (repo.path / "calc.py").write_text("mine\n" + BROKEN)
    async with PodiumDaemon(machine) as podium, podium.follow(where["run_id"]) as feed:
        asked = await feed.until("question.opened")
        assert "calc.py was to be changed when the daemon ended" in asked["text"]
        assert "-mine" in asked["detail"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer=answer)
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "calc.py").read_text() == left


async def test_an_open_question_keeps_its_id_and_its_answer_serves_once(
    machine: Machine, repo: GitRepo
) -> None:
    """Killed while a person was asked, the second time after the answer, before it arrived."""
    daemon = PodiumDaemon(machine)
    await daemon.start()
    where = await daemon.rpc(
        "sessions.prompt",
        text="Mend it.",
        agent="native",
        working_directory=str(repo.path),
        permission_mode="confirm",
    )
    async with daemon.follow(where["run_id"]) as feed:
        gone = await feed.until("question.opened")
    await daemon.kill9()
    second = PodiumDaemon(machine, **{VARIABLE: "answer.before-write:1"})
    await second.start()
    async with second.follow(where["run_id"]) as feed:
        asked = await feed.until("question.opened")
        assert (asked["tool"], asked["question_id"]) == ("patch", gone["question_id"])
        await second.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    assert await second.wait() == -signal.SIGKILL
    async with PodiumDaemon(machine) as podium, podium.follow(where["run_id"]) as feed:
        asked = await feed.until("question.opened", tool="run_tests")
        assert (repo.path / "calc.py").read_text() == MENDED
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"


async def test_words_that_the_turn_had_taken_are_told_to_the_model_after_the_crash(
    machine: Machine, repo: GitRepo
) -> None:
    rules = [
        {"when": {"anywhere": "Mind the names"}, **says("I mind them.")},
        first("Go", says(act({"action": "search", "query": "add"}), hold="half")),
        after("search", True, says("Nobody said anything.")),
    ]
    machine.model.load({"rules": rules})
    daemon = PodiumDaemon(machine)
    await daemon.start()
    where = await daemon.rpc(
        "sessions.prompt", text="Go.", agent="native", working_directory=str(repo.path)
    )
    machine.model.wait_holding("half")
    steered = await daemon.rpc(
        "sessions.prompt", text="Mind the names.", session_id=where["session_id"], if_busy="steer"
    )
    assert steered["delivery"] == "steered"
    await daemon.kill9()
    async with PodiumDaemon(machine) as podium:
        machine.model.release("half")
        run = await podium.ended(where["run_id"])
    assert run["exit"]["reason"] == "turn-complete"
    texts = [row.text for row in messages(machine, where["session_id"])]
    assert texts.count("Mind the names.") == 1 and texts[-1] == "I mind them."


async def test_a_daemon_that_is_stopped_leaves_the_turn_to_the_next_one(
    machine: Machine, repo: GitRepo
) -> None:
    machine.model.load({"rules": [*MENDING[:-1], first("Mend", says("Wait.", hold="half"))]})
    daemon = PodiumDaemon(machine)
    await daemon.start()
    where = await daemon.rpc(
        "sessions.prompt", text="Mend it.", agent="native", working_directory=str(repo.path)
    )
    machine.model.wait_holding("half")
    assert await daemon.stop() == 0
    machine.model.load({"rules": MENDING})
    async with PodiumDaemon(machine) as podium:
        run = await podium.ended(where["run_id"])
    assert (run["exit"]["reason"], run["turns"]) == ("turn-complete", 1)
    assert (repo.path / "calc.py").read_text() == MENDED
