"""Git for programs: one call, with input and an environment of its own.

Beyond what ``podiumd.tools.git`` guards against, no hook of the repository runs by itself here:
a hook may be a file of the working tree, which a model may have written.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

import trio

from podiumd.tools.environment import plain_environment
from podiumd.tools.git import GitError, end_group

_SETTINGS = (
    "core.fsmonitor=false", "core.quotePath=false", "core.hooksPath=/dev/null",
    "i18n.commitEncoding=UTF-8", "gc.auto=0", "submodule.recurse=false",
)  # fmt: skip


class GitCall:
    """Calls git in the directory ``top``, with ``extra`` in its environment."""

    def __init__(self, top: str, extra: Mapping[str, str] | None = None) -> None:
        self.top = top
        self._extra = dict(extra or {})

    def with_environment(self, **extra: str) -> GitCall:
        """The same with more variables."""
        return GitCall(self.top, {**self._extra, **extra})

    async def run(
        self, *arguments: str, stdin: bytes = b"", hooks: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end, whatever its status. Raises ``GitError`` where there is no git.

        With ``hooks`` it sees where the repository keeps its hooks.
        """
        settings = [one for one in _SETTINGS if not (hooks and one.startswith("core.hooksPath"))]
        options = [word for one in settings for word in ("-c", one)]
        environment = {
            **plain_environment(os.environ),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": ":",
            "GIT_LITERAL_PATHSPECS": "1",  # names of files are names
            "LC_ALL": "C",
            **self._extra,
        }
        try:
            return await trio.run_process(
                ["git", "-C", self.top, *options, *arguments],
                stdin=stdin,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
                env=environment,
                start_new_session=True,
                deliver_cancel=end_group,
            )
        except OSError as error:
            raise GitError(f"git cannot be run ({error.strerror}): install it, on PATH") from error

    async def out(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What it prints. Raises ``GitError`` where it fails, with its words."""
        done = await self.run(*arguments, stdin=stdin)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
            raise GitError(f"git {arguments[0]} failed with status {done.returncode}: {said}")
        return done.stdout

    async def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """The one line that it prints."""
        return os.fsdecode((await self.out(*arguments, stdin=stdin)).removesuffix(b"\n"))
