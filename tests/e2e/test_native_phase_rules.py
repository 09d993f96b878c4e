"""What holds a phase of the native agent: its hooks, the words of a person, a step's outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podiumd.tools.failpoints import VARIABLE
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import act, after, first, native_machine, project, says
from tests.e2e.phases_rig import ASK, RECIPE, SAVE_GOAL, go, rule
from tests.e2e.rpc_client import Json

WRITE: Json = {"action": "write_file", "path": "new.txt", "content": "x\n"}
COMMAND: Json = {"action": "run_command", "command": "echo made > made.txt"}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path, mode="allow-all") as made:
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return project(machine)


HOOKED = """initial = "work"
[context]
goal = "string"
[steps.work]
talk = true
system = "PHASE WORK."
opening = "Begin."
[[steps.work.hooks]]
event = "before-tool"
match = "Write"
run = ["sh", "-c", "cat > hook.json; echo 'no new files here' >&2; exit 2"]
[[steps.work.hooks]]
event = "after-tool"
match = "run_command"
run = ["sh", "-c", "echo ran >> hooked.txt"]
[[steps.work.hooks]]
event = "before-tool"
match = "transition"
run = ["podium:saved", "goal"]
[steps.work.on]
done = { exit = "turn-complete" }
"""


async def test_hooks_of_a_phase_decide_on_the_agents_own_actions_and_on_podiums(
    machine: Machine, repo: GitRepo
) -> None:
    machine.model.load(
        {
            "rules": [
                after("transition", True, says("Over.")),
                after("transition", False, says(act(SAVE_GOAL, go("done")))),
                after("run_command", True, says(act(go("done")))),
                after("write_file", False, says(act(COMMAND))),
                rule("WORK", "^Begin", says(act(WRITE))),
            ]
        }
    )
    async with PodiumDaemon(machine) as podium:
        recipe = machine.recipe("hooked", HOOKED)
        async with podium.running(recipe, repo.path, agent="native") as feed:
            run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete", run
    results = {
        one["result"]["action"]: one["result"]["message"] for one in feed.data("action.ended")[:1]
    }
    assert results == {"write_file": "not done: a hook of this step refuses it: no new files here"}
    assert not (repo.path / "new.txt").exists()
    assert (repo.path / "hooked.txt").read_text() == "ran\n"
    given = json.loads((repo.path / "hook.json").read_text())
    assert (given["event"], given["tool"], given["step"]) == ("before-tool", "write_file", "work")
    assert given["input"] == {"path": "new.txt", "content": "x\n"}
    calls = [(one["tool"], one["success"]) for one in feed.data("tool.used")]
    assert calls == [("transition", False), ("save", True), ("transition", True)]


async def test_words_said_while_the_agent_asks_go_with_the_answer(
    machine: Machine, repo: GitRepo
) -> None:
    """They come too late for the turn, which ends with its question: nothing of them is lost."""
    rules = [
        rule("GOAL", "Make it blue", says(act(SAVE_GOAL, go("agreed"), words="Blue it is."))),
        rule("GOAL", "takes effect", says("On.")),
        rule("GOAL", "^Begin with", says(act(ASK), hold="half")),
    ]
    machine.model.load({"rules": rules, "default": says("And now?", hold="end")})
    async with PodiumDaemon(machine) as podium:
        recipe = machine.recipe("phases", RECIPE)
        async with podium.running(recipe, repo.path, agent="native") as feed:
            machine.model.wait_holding("half")
            run = await podium.rpc("runs.get", run_id=feed.seen[0]["run_id"])
            said = await podium.rpc(
                "sessions.prompt", session_id=run["session_id"], text="Make it blue."
            )
            assert said["delivery"] in ("steered", "phase")
            machine.model.release("half")
            asked = await feed.until("question.opened")
            await podium.rpc("questions.answer", question_id=asked["question_id"], answer="shop")
            await feed.until("tool.used", tool="transition", success=True)
    prompt = feed.data("turn.intended")[1]["prompt"]
    assert prompt.startswith("Make it blue.") and "The answer: A shop" in prompt
    assert len(feed.data("turn.intended")) == 2


REPORTING = """initial = "work"
[steps.work]
prompt = "Do the work."
[steps.work.on]
complete = { exit = "turn-complete" }
blocked = { exit = "implementation-blocked" }
"""


@pytest.mark.parametrize("point", ["", "tool.after-recorded:2", "tool.before-call:2"])
async def test_a_step_of_a_recipe_reports_its_outcome_by_the_tool(
    machine: Machine, repo: GitRepo, point: str
) -> None:
    """A wrong one is put right within the turn; the words at the end need no JSON."""
    reports = [{"action": "report_outcome", "outcome": name} for name in ("finished", "complete")]
    rules = [
        after("report_outcome", True, says("All is well.")),
        after("report_outcome", False, says(act(reports[1]))),
        first("Do the work", says(act(reports[0]))),
    ]
    machine.model.load({"rules": rules})
    recipe = machine.recipe("reporting", REPORTING)
    daemon = PodiumDaemon(machine, **{VARIABLE: point or None})
    await daemon.start()
    run = await daemon.rpc(
        "runs.start", recipe=recipe, working_directory=str(repo.path), agent="native"
    )
    if point:
        await daemon.wait()
    else:
        await daemon.stop()
    async with PodiumDaemon(machine) as podium, podium.follow(run["run_id"]) as feed:
        ended = await feed.end()
    assert ended["exit"]["reason"] == "turn-complete", ended
    (step,) = ended["history"]
    assert (step["outcome"], step["source"]) == ("complete", "tool")
    assert [one["success"] for one in feed.data("tool.used")] == [False, True]
    assert "complete" in feed.data("tool.used")[0]["message"]
    assert feed.data("outcome.invalid") == []
