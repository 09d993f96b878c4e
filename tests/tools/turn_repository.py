"""A repository with a user's work in it, and a turn that changes files, for tests of commits."""

from __future__ import annotations

import os
from pathlib import Path

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.commit import CommitOrder, Committed, commit_changes
from podiumd.tools.commit.hooks import Hooks
from podiumd.tools.commit.originals import Originals
from tests.tools.fresh_turn import fresh_turn
from tests.tools.git_repository import begin, run_git

TEN = "".join(f"line {number}\n" for number in range(1, 11))


class Turn:
    """A repository with a user's work in it, and a turn that changes files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.top = folder / "repo"
        self.first = begin(self.top, {"a.py": TEN, "b.py": "b\n"}, named=True)
        self.originals = Originals(folder / "originals")
        self.changes: list[FileChange] = []
        self.root = self.top
        self.turn = fresh_turn()

    def record(self, turn_id: str) -> str:
        """Where the turn keeps which commit is its own."""
        return f"{self.folder}/commit-{turn_id}"

    def write(self, name: str, content: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(content)

    def text(self, name: str) -> str:
        return (self.top / name).read_text()

    def change(self, name: str, content: str | None) -> None:
        """What a tool does: keeps both contents, writes, and notes the change."""
        path = self.top / name
        before = self.originals.keep(path.read_bytes()) if path.exists() else None
        after = None if content is None else self.originals.keep(content.encode())
        if content is None:
            path.unlink()
        else:
            self.write(name, content)
        below = os.path.relpath(path, self.root)
        self.changes.append(FileChange(path=below, before=before, after=after))

    async def commit(self, turn_id: str | None = None, hooks: bool = True) -> Committed:
        turn_id = turn_id or self.turn
        order = CommitOrder(
            root=str(self.root),
            record=self.record(turn_id),
            changes=tuple(self.changes),
            run_id="r1",
            turn_id=turn_id,
        )
        run = Hooks(environment={"PATH": os.environ["PATH"]}, turn_id=turn_id, enclosure=None)
        return await commit_changes(order, self.originals, run if hooks else None)

    def git(self, *arguments: str) -> str:
        return run_git(self.top, *arguments)

    def shown(self, name: str) -> str:
        return self.git("show", f"HEAD:{name}")

    def hook(self, name: str, text: str) -> None:
        path = self.top / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
