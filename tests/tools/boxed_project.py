"""A project in a home, with secrets around it, and commands run in the sandbox there."""

from __future__ import annotations

import os
from pathlib import Path

from podiumd.tools.sandbox.sandbox import Probe, Sandbox
from podiumd.tools.sandbox.shell import ShellResult, run_arguments
from tests.needs import need
from tests.tools.fresh_turn import fresh_turn
from tests.tools.git_repository import begin


class Inside:
    """A project in a home, with secrets around it, and commands run in the sandbox there."""

    def __init__(self, folder: Path) -> None:
        need("bwrap")
        self.home = folder / "home"
        self.state = self.home / "state"
        (self.home / ".ssh").mkdir(parents=True)
        self.state.mkdir()
        for path in (".ssh/id_rsa", "diary.txt", "state/facts.db", ".gitconfig"):
            (self.home / path).write_text("[secret]\n")
        self.project = self.home / "project"
        begin(self.project, {"a.txt": "a\n"})
        self.turn = fresh_turn()
        self.sandbox = Sandbox(
            "required",
            home=self.home,
            closed=[self.state],
            environ={"PATH": os.environ["PATH"]},
            probe=Probe(),
        )

    async def run(self, command: str, root: Path | None = None) -> ShellResult:
        root = root or self.project
        enclosure, notice = await self.sandbox.enclose(root, self.state)
        assert enclosure is not None and notice == ""
        return await run_arguments(
            ["/bin/sh", "-c", command],
            cwd=f"{root}",
            environment={"PATH": os.environ["PATH"], "HOME": f"{self.home}", "LC_ALL": "C"},
            turn_id=self.turn,
            enclosure=enclosure,
            limit_seconds=60,
        )
