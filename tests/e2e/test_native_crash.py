"""kill -9 in a native turn: the next daemon goes on in the same turn, nothing is done twice."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    BROKEN,
    MENDED,
    act,
    after,
    begun,
    first,
    fixtures,
    killed_at,
    messages,
    says,
)

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


machine, repo = fixtures(mode="allow-all")


@pytest.mark.parametrize(("point", "hit"), KILLS)
async def test_the_next_daemon_goes_on_in_the_same_turn(
    machine: Machine, repo: GitRepo, point: str, hit: int
) -> None:
    where = await killed_at(machine, repo, f"{point}:{hit}", "Mend it.")
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
    reached = repo.path / "begun"
    os.mkfifo(reached)
    line = "(setsid sleep 400 > /dev/null 2>&1 &); echo x >> log; echo > begun; sleep 300"
    command = {"action": "run_command", "command": line}
    rules = [
        {"when": {"prompt": "interrupted, unknown outcome"}, **says("I see.")},
        after("run_command", False, says("Something else.")),
        first("Go", says(act(command))),
    ]
    machine.model.load({"rules": rules})
    first_life = PodiumDaemon(machine)
    where = await begun(first_life, repo.path, "Go.")
    reached.read_bytes()
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
