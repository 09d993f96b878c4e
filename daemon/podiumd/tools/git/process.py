"""Starts git: the one place where the daemon does, with what it may not run taken from it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import trio

from podiumd.tools.failpoints import failpoint
from podiumd.tools.git.at_work import Reach
from podiumd.tools.git.beside import Confined, run_beside, through
from podiumd.tools.git.index_file import SHA1_BYTES, SHA256_BYTES
from podiumd.tools.git.memory_bound import MOST_BYTES, OVER, bounded_from_its_start, died_of_it
from podiumd.tools.git.pinned_settings import (
    Listings,
    Pins,
    Repository,
    Stamp,
    is_bare,
    repository_at,
    settings_in,
    tree_apart,
)
from podiumd.tools.git.refused import fault_at, waits_at
from podiumd.tools.git.settings import (
    SETTINGS,
    Confine,
    cut_short,
    filters_nothing,
    git_environment,
    keeps_place,
    kept_from,
    named_programs,
    names_filter,
    runs_nothing,
    within,
    writes,
)
from podiumd.tools.git.waits import WAITS
from podiumd.tools.process.bounded_output import run_bounded
from podiumd.tools.process.in_thread import MOST_PRINTED, PrintedTooMuchError, Program
from podiumd.tools.process.memory import NOT_FOUND, bounded

TERMINATE_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 120.0
"""After how long it is looked at whether a git waits at something: a pipe deep in the tree is not
seen before."""
LIMIT_SECONDS: Final = 1200.0
"""How long a git may take that waits at nothing we know of: the first look at a huge tree, a disk
far away, a passphrase. Callers have limits of their own."""
SLOW: Final = (
    "git {} in '{}' did not end within {:g} minutes, and was ended: the tree is huge, its disk "
    "slow, or what git reads there has no end. Run it there yourself; try again once it is quick"
)
UNSEEN: Final = (
    "git {} in '{}' did not end within {:g} minutes, and was ended: what it may wait at there "
    "cannot be looked for: {}"
)
TOO_LONG: Final = (
    "git {} in '{}' printed more than {:g} MB, the most that Podium reads of a git, and was ended: "
    "the names or the contents there are too many or too long for Podium"
)
NO_REPOSITORY: Final = b"fatal: not a git repository (or any of the parent directories): .git\n"
_LIST: Final = "config"
AT_ONCE: Final = trio.CapacityLimiter(64)
"""Gits at once; each has a thread. More than there are runs at once, so that those of one that all
wait at something leave room for the others, until they are ended."""
LISTINGS: Final = Listings()
NO_TREE: Final = b"fatal: this operation must be run in a work tree\n"
PINS: Final = Pins()
"""Where the settings are that a git of ours reads; one for the daemon."""

Result = subprocess.CompletedProcess[bytes]
T = TypeVar("T")


class GitError(Exception):
    """Git could not do what was asked; the message says what and why."""


class Confines(Protocol):
    """Runner of the filters that a repository names: see ``tools.commit.confined_filters``."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables in the environment of the git that runs the filters."""

    def confine(self, command: str) -> str:
        """Confine the command of a filter. Raises ``OSError``."""

    @property
    def reach(self) -> Reach | None:
        """Return what the filters can write."""

    def at_work(self) -> AbstractAsyncContextManager[None]:
        """Have all ready for the time that the git runs."""


async def run_git(
    path: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    settings: Sequence[str] = SETTINGS,
    confines: Confines | None = None,
    ahead: Ahead | None = None,
) -> Result:
    """Run git in the directory ``path`` to its end; the caller checks the status.

    ``confines`` runs the filters that the repository names, which else are not run; ``ahead`` is
    what was found there just now. Raises ``GitError`` where there is no git, or ``path`` lies in
    what is laid out as a repository; ``OSError`` where there is no room for ``confines``.
    """
    ahead = ahead or await look_ahead(path, arguments[0])
    told = _told(path, ahead, settings)
    environment = git_environment(os.environ) | dict(variables or {})
    if runs_nothing(arguments):
        return await _beside(path, arguments, [*told, *arguments], environment, stdin)
    async with _looked_at(path, arguments, ahead) as looked:
        if not isinstance(looked, _Looked):
            return looked
        named = looked.named
        environment = {**looked.variables, **environment}
        if confines is None or not names_filter(named) or filters_nothing(arguments):
            command = [*told, *_kept(named, arguments), *within(arguments)]
            return await _beside(path, arguments, command, environment, stdin)
        async with confines.at_work():
            kept = await trio.to_thread.run_sync(_kept, named, arguments, confines.confine)
            environment |= confines.variables
            command = [*told, *kept, *within(arguments)]
            return await _beside(path, arguments, command, environment, stdin, confines.reach)


async def _beside(path: str, arguments: Sequence[str], *how: Any) -> Result:
    try:
        return await run_beside(_run, path, arguments, *how)
    except OSError as error:
        raise GitError(f"git {arguments[0]} is not run in '{path}': {error}") from error


class Ahead(NamedTuple):
    """The facts for a git on the place that it is started in, found there at one moment.

    ``fault``: why git may not be started. ``listing`` are the settings of the ``repository``, where
    they are remembered from when their files were like ``stamp``; ``apart`` is their working tree
    where that is another one.
    """

    fault: str
    repository: Repository | None = None
    stamp: Stamp = ()
    listing: bytes | None = None
    apart: str | None = None


def ahead_of(path: str, command: str) -> Ahead:
    """Find it, for a command of git. Blocks for some names and the files of settings."""
    repository = repository_at(path)
    fault = fault_at(path, command, repository)
    if fault or repository is None:
        return Ahead(fault)
    stamp = LISTINGS.stamp(repository)
    listing = LISTINGS.get(repository, stamp)
    apart = None if listing is None else tree_apart(repository, listing)
    return Ahead("", repository, stamp, listing, apart)


async def look_ahead(path: str, command: str) -> Ahead:
    """Find it in a thread: where the disk is far away it may take its time."""
    return await trio.to_thread.run_sync(ahead_of, path, command, abandon_on_cancel=True)


class _Looked(NamedTuple):
    """The programs that a repository names for git to run. By the ``variables`` git reads what was
    looked at, even if it changes meanwhile."""

    named: Mapping[str, str]
    variables: Mapping[str, str]


@asynccontextmanager
async def _looked_at(
    path: str, arguments: Sequence[str], ahead: Ahead
) -> AsyncIterator[_Looked | Result]:
    """Look at the settings of the repository around ``path``, and have them pinned for the block;
    or what git says where there is none."""
    repository, listed = ahead.repository, await _remembered(path, ahead)
    if repository is None or listed.returncode != 0 or is_bare(repository, listed.stdout):
        said = listed.stderr or NO_TREE
        yield Result(["git", "-C", path, *arguments], 128, b"", said)
        return
    named = _named(path, listed.stdout)
    if keeps_place(arguments):
        yield _Looked(named, {})
        return
    wrote = writes(arguments)
    pinned = None if wrote else PINS.shared(repository, listed.stdout)
    if pinned is None:
        pinned = await _in_thread(PINS.make, repository, listed.stdout)
    try:
        failpoint("git.pinned")
        yield _Looked(named, pinned.variables)
    finally:
        with trio.CancelScope(shield=True):
            for one in PINS.let_go(pinned, wrote=wrote):
                await _in_thread(partial(one.remove, wrote=wrote))


async def _in_thread(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return await trio.to_thread.run_sync(work, *arguments)
    except OSError as error:
        raise GitError(f"what git is to read cannot be kept for it: {error}") from error


def _told(path: str, ahead: Ahead, settings: Sequence[str]) -> list[str]:
    """Build the beginning of a git command with ``settings``.

    Raises ``GitError`` where git may not be run.
    """
    if ahead.fault:
        raise GitError(ahead.fault)
    return _told_settings(path, settings)


def _kept(
    named: Mapping[str, str], arguments: Sequence[str], confine: Confine | None = None
) -> list[str]:
    return [word for one in kept_from(named, arguments, confine) for word in ("-c", one)]


async def programs_named_in(path: str) -> dict[str, str]:
    """List the settings of the repository around ``path`` that name programs, with their values."""
    return _named(path, await settings_of_repository(path))


def _named(path: str, listing: bytes) -> dict[str, str]:
    cut = cut_short(listing)
    if cut is not None:
        raise GitError(
            f"'{path}' has a setting whose name holds a NUL byte, after {cut!r}: no git of "
            "Podium's reads it; take it out of the repository's settings or of what they include"
        )
    named = named_programs(listing)
    odd = next((key for key in named if "=" in key), None)
    if odd is not None:
        raise GitError(f"'{path}' has a setting that cannot be overruled: {odd!r}; rename it")
    return named


async def settings_of_repository(path: str) -> bytes:
    """List the settings of the repository around ``path`` and of its worktree alone.

    They are in the form of ``config -z --list``, with those that it includes. A person's own are
    not there. Empty outside of any. Raises ``GitError`` where there is no git.
    """
    listed = await _listed(path)
    return listed.stdout if listed.returncode == 0 else b""


async def tree_elsewhere(path: str, ahead: Ahead | None = None) -> str | None:
    """Return the working tree that settings name for the repository around ``path``.

    ``None`` where that is the one which the repository lies in. Raises ``GitError``.
    """
    ahead = ahead or await look_ahead(path, _LIST)
    if ahead.repository is None or ahead.listing is not None:
        return ahead.apart
    listed = await _remembered(path, ahead)
    if listed.returncode != 0:
        return None
    return await trio.to_thread.run_sync(tree_apart, ahead.repository, listed.stdout)


async def object_bytes(path: str) -> int:
    """Return the size in bytes of object ids in the repository around ``path``.

    Raises ``GitError``.
    """
    listed = await _remembered(path, await look_ahead(path, _LIST))
    said = dict(settings_in(listed.stdout)).get("extensions.objectformat") or ""
    return SHA256_BYTES if said.lower() == "sha256" else SHA1_BYTES


async def _remembered(path: str, ahead: Ahead) -> Result:
    """List the settings of the repository that was found, from memory or by git.

    Returns git's own failure where it fails.
    """
    if ahead.repository is None:
        return Result([], 128, b"", NO_REPOSITORY)
    if ahead.listing is not None:
        return Result([], 0, ahead.listing, b"")
    listed = await _listed(path)
    if listed.returncode == 0:
        LISTINGS.keep(ahead.repository, ahead.stamp, listed.stdout)
    return listed


async def _listed(path: str) -> Result:
    told = _told_settings(path, SETTINGS)
    environment = git_environment(os.environ)
    listing = ["--includes", "-z", "--list"]
    shared = await _run([*told, "config", "--local", *listing], environment)
    if shared.returncode != 0 or b"extensions.worktreeconfig" not in shared.stdout.lower():
        return shared
    own = await _run([*told, "config", "--worktree", *listing], environment)
    shared.stdout += own.stdout
    return shared


def _told_settings(path: str, settings: Sequence[str]) -> list[str]:
    return ["git", "-C", path, *(word for one in settings for word in ("-c", one))]


async def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes = b"",
    confined: Confined | None = None,
) -> Result:
    try:
        if confined is None:
            async with AT_ONCE:
                line = bounded_from_its_start(command)
                done = await _to_its_end(
                    command, partial(Program, line, environment, stdin, MOST_BYTES)
                )
        else:
            done = await _run_confined(command, environment, stdin, confined)
    except PrintedTooMuchError as error:
        most = MOST_PRINTED / 1024**2
        raise GitError(TOO_LONG.format(asked_of(command), command[2], most)) from error
    if died_of_it(done):
        raise GitError(OVER.format(asked_of(command), command[2], MOST_BYTES / 1024**3))
    return done


async def _run_confined(
    command: Sequence[str], environment: Mapping[str, str], stdin: bytes, confined: Confined
) -> Result:
    gate = confined.gate()
    line = bounded_from_its_start(confined.command(command, gate))
    run = partial(
        run_bounded,
        line,
        stdin=stdin,
        env=environment,
        start_new_session=True,  # a Ctrl-C meant for the daemon is not for its git
        deliver_cancel=end_group,
    )
    if gate is None:
        return await _in_time(command, run)
    try:
        return await _in_time(command, partial(through, gate, run))
    finally:
        gate.close()


async def _to_its_end(command: Sequence[str], start: Callable[[], Program]) -> Result:
    """Start a git and wait for it, for as long as it may take. Raises ``GitError``."""
    try:
        program = start()
    except OSError as error:
        raise _missing(error) from error
    try:
        with trio.move_on_after(LOOK_SECONDS) as short:
            await program.over()
        if short.cancelled_caught:
            await _in_time(command, program.over, waited=LOOK_SECONDS)
    finally:
        with trio.CancelScope(shield=True):
            await program.end()
    try:
        return program.result()
    except OSError as error:
        raise _missing(error) from error


def _missing(error: OSError) -> GitError:
    return GitError(f"git cannot be run ({error.strerror}): install it, on PATH")


async def _in_time(
    command: Sequence[str], run: Callable[[], Awaitable[T]], waited: float = 0.0
) -> T:
    """Run a git, in the time that it may take, of which it has had what was ``waited``.

    Raises ``GitError`` where that is over, or where there is no git; and what ``run`` does where
    too much is printed.
    """
    done: list[T] = []
    failed: OSError | PrintedTooMuchError | None = None
    why = ""

    async def limit(scope: trio.CancelScope) -> None:
        nonlocal why
        why = await _overtime(command, waited)
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(limit, nursery.cancel_scope)
        try:
            done.append(await run())
        except (OSError, PrintedTooMuchError) as error:
            failed = error  # raised in here, it would come out as one of a group
        nursery.cancel_scope.cancel()
    if failed is not None:
        raise _missing(failed) if isinstance(failed, OSError) else failed
    if not done:
        raise GitError(why)
    return done[0]


async def _overtime(command: Sequence[str], waited: float) -> str:
    """Wait for as long as a git may take; returns what is wrong then."""
    asked, path = asked_of(command), command[2]
    await trio.sleep(LOOK_SECONDS - waited)
    look = partial(waits_at, path, asked.partition(" ")[0])
    try:
        found = await trio.to_thread.run_sync(look, abandon_on_cancel=True)
    except Exception as error:  # noqa: BLE001 - whatever stands there, a git has its end
        return UNSEEN.format(asked, path, LOOK_SECONDS / 60, error)
    if found is not None:
        return WAITS.format(found)
    await trio.sleep(LIMIT_SECONDS - LOOK_SECONDS)
    return SLOW.format(asked, path, LIMIT_SECONDS / 60)


async def run_beginning(
    path: str, *arguments: str, most: int, variables: Mapping[str, str] | None = None
) -> tuple[bytes, bool]:
    """Run git for the first ``most`` bytes that it prints, and whether those are all.

    Raises ``GitError``, also where it fails before.
    """
    ahead = await look_ahead(path, arguments[0])
    told = _told(path, ahead, SETTINGS)
    environment = git_environment(os.environ) | dict(variables or {})
    if runs_nothing(arguments):
        return await _beginning([*told, *arguments], environment, most)
    async with _looked_at(path, arguments, ahead) as looked:
        if not isinstance(looked, _Looked):
            raise GitError(f"git {asked_of(looked.args)} failed: {_said(looked)}")
        command = [*told, *_kept(looked.named, arguments), *within(arguments)]
        return await _beginning(command, {**looked.variables, **environment}, most)


async def _beginning(
    command: list[str], environment: Mapping[str, str], most: int
) -> tuple[bytes, bool]:
    said = bytearray()
    start = partial(
        trio.run_process,
        bounded(command, MOST_BYTES),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        env=environment,
        start_new_session=True,
        deliver_cancel=end_group,
    )

    async def run() -> int:
        status, missing = 0, None
        async with trio.open_nursery() as nursery:
            try:
                process: trio.Process = await nursery.start(start)
            except OSError as error:
                missing = error  # raised in here, it would come out as one of a group
            else:
                assert process.stdout is not None
                async for piece in process.stdout:
                    said.extend(piece)
                    if len(said) > most:  # what it would still say may be any amount
                        nursery.cancel_scope.cancel()
                status = await process.wait()
        if missing is not None:
            raise missing
        return status

    status = await _in_time(command, run)
    if status == NOT_FOUND:
        raise _missing(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    if status != 0:
        raise GitError(f"git {asked_of(command)} failed with status {status}")
    return bytes(said[:most]), len(said) <= most


def _said(result: Result) -> str:
    return result.stderr.decode("utf-8", "replace").strip()[-2000:]


async def end_group(process: trio.Process) -> None:
    """End a git with the helpers it has started, politely first: it removes its locks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        await trio.sleep(TERMINATE_SECONDS)


def asked_of(command: Sequence[str]) -> str:
    """Return git's command in two words, from its whole command line."""
    words = list(command[3:])
    while words[:1] == ["-c"]:
        del words[:2]
    return " ".join(words[:2])
