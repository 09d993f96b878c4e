"""Git for programs: one call, with input and an environment of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from podiumd.tools.git.process import Ahead, Confines, GitError, Result, run_beginning, run_git
from podiumd.tools.git.settings import HOOKS_PATH, SETTINGS

_WITH_HOOKS = tuple(one for one in SETTINGS if one != HOOKS_PATH)


class GitCall:
    """Calls git in the directory ``top``, with ``extra`` in its environment; ``confines`` runs the
    filters that the repository names (see ``git_settings``). ``ahead`` is for the first call."""

    def __init__(
        self,
        top: str,
        extra: Mapping[str, str] | None = None,
        confines: Confines | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        self.top = top
        self._extra = dict(extra or {})
        self._confines = confines
        self._ahead = ahead

    @property
    def own_index(self) -> bool:
        """Return whether it goes by the index of the repository itself."""
        return "GIT_INDEX_FILE" not in self._extra

    @property
    def confined(self) -> bool:
        """Return whether filters that the repository names are run."""
        return self._confines is not None

    def with_environment(self, **extra: str) -> GitCall:
        """Return the same call with more variables."""
        return GitCall(self.top, {**self._extra, **extra}, self._confines)

    def seeing(self, ahead: Ahead) -> GitCall:
        """Return the same call; its next run goes by what was found of its place just now."""
        return GitCall(self.top, self._extra, self._confines, ahead)

    async def run(
        self, *arguments: str, stdin: bytes = b"", hooks: bool = False, settings: Sequence[str] = ()
    ) -> Result:
        """Run git to its end; the caller checks the status. Raises ``GitError`` where there is no
        git.

        With ``hooks`` it sees where the repository keeps its hooks; ``settings`` are further ones.
        """
        ahead, self._ahead = self._ahead, None
        return await run_git(
            self.top,
            *arguments,
            variables={"GIT_LITERAL_PATHSPECS": "1", **self._extra},  # names of files are names
            stdin=stdin,
            settings=(*(_WITH_HOOKS if hooks else SETTINGS), *settings),
            confines=self._confines,
            ahead=ahead,
        )

    async def beginning(self, most: int, *arguments: str) -> tuple[bytes, bool]:
        """Read the first bytes that it prints, and whether those are all. Raises ``GitError``."""
        variables = {"GIT_LITERAL_PATHSPECS": "1", **self._extra}
        return await run_beginning(self.top, *arguments, most=most, variables=variables)

    async def out(self, *arguments: str, stdin: bytes = b"", settings: Sequence[str] = ()) -> bytes:
        """Return its output. Raises ``GitError`` where it fails, with its standard error."""
        done = await self.run(*arguments, stdin=stdin, settings=settings)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
            raise GitError(f"git {arguments[0]} failed with status {done.returncode}: {said}")
        return done.stdout

    async def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return the one line that it prints."""
        return os.fsdecode((await self.out(*arguments, stdin=stdin)).removesuffix(b"\n"))
