"""Tools of phones beside talking to agents: commands, files, working trees, names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from podiumd.projects.commands import CommandBook
from podiumd.projects.errors import BadPlace
from podiumd.projects.menu import Offered
from podiumd.projects.resources import Resources
from podiumd.projects.worktrees import Worktrees


class Workshop(msgspec.Struct, frozen=True):
    """The parts. ``infer_name`` makes a session's name of what it was asked first; ``home`` is
    where commands are offered that need no directory."""

    commands: CommandBook
    resources: Resources
    worktrees: Worktrees
    infer_name: Callable[[str], Awaitable[str]]
    home: str

    def at_home(self, path: str) -> str:
        """Return the path with ``~`` for this person's home written out."""
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path

    async def offer(self, directory: str | None) -> Offered:
        """List what can be run in a directory; without one, only what can be run anywhere."""
        if directory is not None:
            with suppress(BadPlace):  # a session outlives the directory it was in
                return await self.commands.offer(directory)
        return self.commands.anywhere()
