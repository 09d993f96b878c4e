"""Hooks of a phase that the native agent leads, over the real daemon."""

from __future__ import annotations

import json

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import act, after, first, fixtures, says
from tests.e2e.rpc_client import Json

WRITE: Json = {"action": "write_file", "path": "new.txt", "content": "x\n"}
SAVE: Json = {"action": "save", "key": "goal", "value": "a shop"}
DONE: Json = {"action": "transition", "to": "done", "summary": "to done"}
COMMAND: Json = {"action": "run_command", "command": "echo made > made.txt"}


machine, repo = fixtures(mode="allow-all")


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
                after("transition", False, says(act(SAVE, DONE))),
                after("run_command", True, says(act(DONE))),
                after("write_file", False, says(act(COMMAND))),
                first("Begin", says(act(WRITE))),
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
