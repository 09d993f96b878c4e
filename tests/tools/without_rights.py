"""A turn of a user without root's rights: one command in the sandbox, then a file and the commit.

Run as a program, for rights mean nothing to root: its arguments are a directory and the command.
"""

import json
import os
import sys
from pathlib import Path

import trio

from podiumd.core.reply.actions import Action
from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.agent.registry import Plan
from tests.tools.test_registry import make_toolbox

NOBODY = 65534


async def turn(folder: Path, command: str) -> dict[str, object]:
    box = make_toolbox(folder, "required")
    results, changes = [], tuple[FileChange, ...]()
    for name, args in (
        ("run_command", {"command": command}),
        ("write_file", {"path": "a;touch canary;", "content": "x\n"}),
        ("run_command", {"command": "true"}),
    ):
        plan = await box.plan(Action(name, args))
        assert isinstance(plan, Plan), plan
        done = await plan.perform(None)
        results.append((done.result.success, done.result.message))
        changes += done.changes
    made = await box.commit(changes, run_id="run")
    return {"results": results, "commit": made.state, "detail": made.detail}


if __name__ == "__main__":
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    home = Path(sys.argv[1])
    os.environ["HOME"] = f"{home}"
    (home / "home").mkdir()
    (home / "home/profile").write_text("# mine\n")
    print(json.dumps(trio.run(turn, home, sys.argv[2])))
