"""Plans and does one patch again and again, killed at each of its file calls in turn.

A program for a process of its own: every attempt is a fork that ends itself with SIGKILL right
before, or right after, its N-th call into the operating system's file functions. Prints, as JSON, a
row for each attempt: where it ended, what the file held, and what else was in the folder, before
and after a look as recovery does it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from podiumd.tools.agent.edit import do_plan, plan_patch, plan_write
from podiumd.tools.agent.workspace import Workspace

OLD, NEW = b"one\ntwo\n" * 500, b"ONE\n" + (b"one\ntwo\n" * 500)[4:]
MODULES = ("posix", "_io")


def is_file_call(function: Any) -> bool:
    """Whether a builtin function is one of the system's, or of an open file."""
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or type(owner).__module__
    return module in MODULES or type(owner).__module__ in MODULES


def kill_at(number: int) -> None:
    """End this process at the N-th moment before or after a file call."""
    left = number

    def watch(_frame: FrameType, event: str, function: Any) -> None:
        nonlocal left
        if event in ("c_call", "c_return") and is_file_call(function):
            left -= 1
            if left == 0:
                # What is counted is written by the parent: this process is gone.
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def attempt(root: Path, name: str, number: int) -> bool:
    """Do the patch in a fork; whether it was killed."""
    child = os.fork()
    if child == 0:
        workspace = Workspace(root)
        kill_at(number)
        if name == "new/file.txt":
            do_plan(workspace, plan_write(workspace, name, NEW.decode()))
        else:
            change = [{"line": 1, "type": "replace", "content": ["ONE"]}]
            do_plan(workspace, plan_patch(workspace, name, change))
        sys.setprofile(None)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    rows = []
    number = 0
    killed = True
    while killed:
        number += 1
        root = folder / f"{number}"
        root.mkdir()
        old = None if name == "new/file.txt" else OLD
        if old is not None:
            (root / name).write_bytes(old)
        killed = attempt(root, name, number)
        path = root / name
        held = path.read_bytes() if path.exists() else None
        before = None if old is None else hashlib.sha256(old).hexdigest()
        look = Workspace(root).look(name, before=before, planned=hashlib.sha256(NEW).hexdigest())
        rest = [one.name for one in root.rglob("*") if one.is_file() and one != path]
        state = "old" if held == old else "new" if held == NEW else "torn"
        rows.append({"killed": killed, "file": state, "look": look, "rest": rest})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
