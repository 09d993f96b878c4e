"""Runs the hooks of a commit, where and as the commands of the turn are run.

A hook may be a file of the working tree, or call one, and so be written by the model: it is not let
out of the sandbox that the model's commands are in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import trio

from podiumd.tools.files.plain_file import is_file, read_plain
from podiumd.tools.files.private_file import new_file
from podiumd.tools.git.process import GitCall, GitError
from podiumd.tools.git.queries import entries
from podiumd.tools.sandbox.boundary import LEFT
from podiumd.tools.sandbox.sandbox import Enclosure
from podiumd.tools.sandbox.shell import run_arguments

HOOK_SECONDS = 300.0
MOST_MESSAGE_BYTES = 256 * 1024
_OF_PERSON = (b"system", b"global")
"""Git's words for settings that are not the repository's."""


class HookFailed(Exception):
    """Signal that a hook refused; the message holds its output."""


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Runs the hooks of one repository. ``directory`` is where they are; the rest is what the
    commands of the turn run with. ``shut`` says why none is run, where none may be."""

    environment: Mapping[str, str]
    turn_id: str
    enclosure: Enclosure | None
    top: str = ""
    directory: str = ""
    pass_fds: Sequence[int] = ()
    shut: str = ""

    async def has(self, name: str) -> bool:
        """Return whether there is such a hook."""
        return await trio.to_thread.run_sync(_runs, Path(self.directory, name))

    async def run(self, name: str, *arguments: str, index: str) -> None:
        """Run a hook; ``index`` is the index file that it sees.

        Raises ``HookFailed`` where it ends with another status than 0, or not in time; ``GitError``
        where none may be run, and where it left what could not be put right.
        """
        if self.shut:
            raise GitError(f"the hook {name} of this repository was not run: {self.shut}")
        hook = Path(self.directory, name)
        done = await run_arguments(
            # The sandbox begins in the tree's root, which may lie below the repository's top.
            [
                "/bin/sh",
                "-c",
                'cd "$1" && shift && exec "$@"',
                "sh",
                self.top,
                f"{hook}",
                *arguments,
            ],
            cwd=self.top,
            environment={**self.environment, "GIT_INDEX_FILE": index, "GIT_EDITOR": ":"},
            turn_id=self.turn_id,
            enclosure=self.enclosure,
            limit_seconds=HOOK_SECONDS,
            pass_fds=self.pass_fds,
        )
        if done.tidied.left:
            raise GitError(LEFT.format("; ".join(done.tidied.left)))
        if done.exit_status == 0:
            return
        said = done.message or f"status {done.exit_status}"
        inside = " (it ran in the sandbox: without network and home)" if self.enclosure else ""
        raise HookFailed(
            f"the hook {name} refused the commit: {said}{inside}\n{done.output}".strip()
        )


def write_message(path: str, message: str) -> None:
    """Put a commit's message where the hooks for it find it, as a new file. Blocks.

    A hook that ran before may have put a link there. Raises ``OSError``.
    """
    Path(path).unlink(missing_ok=True)
    with new_file(path, 0o666) as file:
        file.write(message.encode())


def read_message(path: str) -> str:
    """Read the message as the hooks left it. Blocks.

    Raises ``HookFailed`` where that is no file any more, or too long: through a link a hook would
    have something committed that it cannot read itself.
    """
    try:
        return read_plain(path, MOST_MESSAGE_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise HookFailed(f"a hook left no message: {error.strerror}") from error


def _runs(hook: Path) -> bool:
    return is_file(hook) and os.access(hook, os.X_OK)


async def placed_hooks(git: GitCall, hooks: Hooks) -> Hooks:
    """Locate ``hooks`` for the repository of ``git``.

    Hooks that lie where the person's own settings point, outside of the repository and its tree,
    are the person's: they run as ever, not in the sandbox, which may not even show them.
    """
    # Where they are and who says so, of one git: settings may be exchanged from one to the next.
    told = ("config", "-z", "--show-scope", "--type=path", "--get", "core.hooksPath")
    done = await git.run(*told, hooks=True)
    scope, named, *_ = [*entries(done.stdout), b"", b""]
    common = Path(git.top, await git.line("rev-parse", "--git-common-dir"))
    where = Path(git.top, os.fsdecode(named)) if scope else common / "hooks"
    directory = await trio.to_thread.run_sync(os.path.realpath, where)
    inside = [await trio.to_thread.run_sync(os.path.realpath, one) for one in (git.top, common)]
    placed = msgspec.structs.replace(hooks, top=git.top, directory=f"{directory}")
    if scope not in _OF_PERSON or any(Path(directory).is_relative_to(one) for one in inside):
        return placed
    return msgspec.structs.replace(placed, enclosure=None, shut="")
