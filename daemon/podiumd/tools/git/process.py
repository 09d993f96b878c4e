"""Starts git: the one place where the daemon does, with what it may not run taken from it."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import trio

from podiumd.core.excerpt import end
from podiumd.tools.confine.admission import admitted
from podiumd.tools.confine.mount_gate import Gate
from podiumd.tools.failpoints import failpoint
from podiumd.tools.git.at_work import AT_WORK, Reach
from podiumd.tools.git.beside import Confined, run_beside
from podiumd.tools.git.index_file import SHA1_BYTES, SHA256_BYTES
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
from podiumd.tools.git.settings import (
    HOOKS_PATH,
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
from podiumd.tools.git.waits import WAITS, fault_at, waits_at
from podiumd.tools.process.in_thread import MOST_PRINTED, PrintedTooMuchError, Program
from podiumd.tools.process.memory import NOT_FOUND, bounded

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
MOST_BYTES: Final = 2 * 1024**3
"""Memory that each git of ours gets: what it reads says how much it takes for it.

A few bytes of an index or of an object can stand for gigabytes. What is looked at before (see
``index_file``) can be exchanged until git reads it. So the kernel refuses a git more than a bound
that no honest repository comes near: the look at 100,000 files takes 32 MB, and the stacks of its
threads 200 MB that it never fills."""
OVER: Final = (
    "git {} in '{}' asked for more than {:g} GB of memory, which none of Podium's gets, and gave "
    "up: its index or an object there says that it is larger ('git fsck' tells), or the repository "
    "is too large for Podium"
)
_DIED: Final = re.compile(
    rb"^(?:fatal|error): .*(?:out of memory|cannot allocate memory"
    rb"|unable to create thread.*: resource temporarily unavailable)",
    re.MULTILINE | re.IGNORECASE,
)
NO_REPOSITORY: Final = b"fatal: not a git repository (or any of the parent directories): .git\n"
_LIST: Final = "config"
_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_WITH_HOOKS: Final = tuple(one for one in SETTINGS if one != HOOKS_PATH)
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


class GitCall:
    """Calls git in the directory ``top``, with ``extra`` in its environment; ``confines`` runs the
    filters that the repository names, which else are not run. ``ahead`` is for the first call: what
    was found there just now.

    Every call raises ``GitError`` where there is no git, or ``top`` lies in what is laid out as a
    repository; ``OSError`` where there is no room for ``confines``.
    """

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
        """Run git to its end; the caller checks the status.

        With ``hooks`` it sees where the repository keeps its hooks; ``settings`` are further ones.
        """
        ahead = await self._look_ahead(arguments)
        told = _told(self.top, (*(_WITH_HOOKS if hooks else SETTINGS), *settings))
        environment, confines = self._environment(), self._confines
        if runs_nothing(arguments):
            return await _beside(self.top, arguments, [*told, *arguments], environment, stdin)
        async with _looked_at(self.top, arguments, ahead) as looked:
            if not isinstance(looked, _Looked):
                return looked
            named = looked.named
            environment = {**looked.variables, **environment}
            if confines is None or not names_filter(named) or filters_nothing(arguments):
                command = [*told, *_kept(named, arguments), *within(arguments)]
                return await _beside(self.top, arguments, command, environment, stdin)
            async with confines.at_work():
                kept = await trio.to_thread.run_sync(_kept, named, arguments, confines.confine)
                environment |= confines.variables
                command = [*told, *kept, *within(arguments)]
                how = (command, environment, stdin, confines.reach)
                return await _beside(self.top, arguments, *how)

    async def beginning(self, most: int, *arguments: str) -> tuple[bytes, bool]:
        """Read the first ``most`` bytes that it prints, and whether those are all.

        Raises ``GitError`` also where it fails before.
        """
        ahead = await self._look_ahead(arguments)
        told, environment = _told(self.top, SETTINGS), self._environment()
        if runs_nothing(arguments):
            return await _beginning([*told, *arguments], environment, most)
        async with _looked_at(self.top, arguments, ahead) as looked:
            if not isinstance(looked, _Looked):
                raise GitError(f"git {asked_of(looked.args)} failed: {said_by(looked)}")
            command = [*told, *_kept(looked.named, arguments), *within(arguments)]
            return await _beginning(command, {**looked.variables, **environment}, most)

    async def out(self, *arguments: str, stdin: bytes = b"", settings: Sequence[str] = ()) -> bytes:
        """Return its output. Raises ``GitError`` where it fails, with its standard error."""
        done = await self.run(*arguments, stdin=stdin, settings=settings)
        if done.returncode != 0:
            said = said_by(done)
            raise GitError(f"git {arguments[0]} failed with status {done.returncode}: {said}")
        return done.stdout

    async def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return the one line that it prints."""
        return os.fsdecode((await self.out(*arguments, stdin=stdin)).removesuffix(b"\n"))

    async def commit_of(self, name: str) -> str | None:
        """Look up the commit of that name; ``None`` where there is none."""
        found = await self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return found.stdout.decode().strip() if found.returncode == 0 else None

    def _environment(self) -> dict[str, str]:
        # The names of files are names.
        own = {"GIT_LITERAL_PATHSPECS": "1", **self._extra}
        return git_environment(os.environ) | own

    async def _look_ahead(self, arguments: Sequence[str]) -> Ahead:
        """Return what is found where git is to be run. Raises ``GitError`` where it may not be."""
        ahead, self._ahead = self._ahead, None
        ahead = ahead or await look_ahead(self.top, arguments[0])
        if ahead.fault:
            raise GitError(ahead.fault)
        return ahead


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
    told = _told(path, SETTINGS)
    environment = git_environment(os.environ)
    listing = ["--includes", "-z", "--list"]
    shared = await _run([*told, "config", "--local", *listing], environment)
    if shared.returncode != 0 or b"extensions.worktreeconfig" not in shared.stdout.lower():
        return shared
    own = await _run([*told, "config", "--worktree", *listing], environment)
    shared.stdout += own.stdout
    return shared


def _told(path: str, settings: Sequence[str]) -> list[str]:
    return ["git", "-C", path, *(word for one in settings for word in ("-c", one))]


async def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes = b"",
    confined: Confined | None = None,
) -> Result:
    try:
        async with AT_ONCE:
            program, fault = await _through_its_gate(command, environment, stdin, confined)
        done = program.result()
    except PrintedTooMuchError as error:
        most = MOST_PRINTED / 1024**2
        raise GitError(TOO_LONG.format(asked_of(command), command[2], most)) from error
    except OSError as error:
        raise _missing(error) from error
    if fault:
        done.stderr = fault.encode()
    if died_of_it(done):
        raise GitError(OVER.format(asked_of(command), command[2], MOST_BYTES / 1024**3))
    return done


async def _through_its_gate(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes,
    confined: Confined | None,
) -> tuple[Program, str]:
    """Run a git as ``_to_its_end`` does; its gate's descriptors are held as long as it runs."""
    gate = None if confined is None else confined.gate()
    try:
        line = bounded_from_its_start(
            command if confined is None else confined.command(command, gate)
        )
        inherited = () if gate is None else gate.descriptors
        start = partial(Program, line, environment, stdin, memory=MOST_BYTES, pass_fds=inherited)
        return await _to_its_end(command, start, gate)
    finally:
        if gate is not None:
            gate.close()


async def _to_its_end(
    command: Sequence[str], start: Callable[[], Program], gate: Gate | None = None
) -> tuple[Program, str]:
    """Start a git and wait for it, for as long as it may take; also why its ``gate`` let it not
    begin. Raises ``GitError``, and ``OSError`` where there is no room to start it."""
    program, fault = start(), ""
    try:
        if gate is not None:
            fault = await _in_time(command, partial(_through, gate, program))
        else:
            with trio.move_on_after(LOOK_SECONDS) as short:
                await program.over()
            if short.cancelled_caught:
                await _in_time(command, program.over, waited=LOOK_SECONDS)
    finally:
        with trio.CancelScope(shield=True):
            await program.end()
    return program, fault


async def _through(gate: Gate, program: Program) -> str:
    """Wait for a git that goes through a gate; returns why it may not begin, else nothing."""
    await program.begun()
    fault = await admitted(gate)
    await program.over()
    return fault


def _missing(error: OSError) -> GitError:
    advice = "try again when less is running" if error.errno in _NO_ROOM else "install it, on PATH"
    return GitError(f"git cannot be run ({error.strerror}): {advice}")


async def _in_time(
    command: Sequence[str], run: Callable[[], Awaitable[T]], waited: float = 0.0
) -> T:
    """Wait for a git by ``run``, for as long as it may take, of which ``waited`` is over.

    Raises ``GitError`` where all of that is over.
    """
    done: list[T] = []
    why = ""

    async def limit(scope: trio.CancelScope) -> None:
        nonlocal why
        why = await _overtime(command, waited)
        scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(limit, nursery.cancel_scope)
        done.append(await run())
        nursery.cancel_scope.cancel()
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


async def _beginning(
    command: list[str], environment: Mapping[str, str], most: int
) -> tuple[bytes, bool]:
    # Without input to wait for it may have read all before a bound that comes after its start.
    start = partial(Program, bounded(command, MOST_BYTES), environment, beginning=most)
    try:
        async with AT_ONCE:
            program, _ = await _to_its_end(command, start)
        if program.printed.too_much:  # what it would still say may be any amount
            return program.printed.all(), False
        done = program.result()
    except OSError as error:
        raise _missing(error) from error
    if done.returncode == NOT_FOUND:
        raise _missing(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    if done.returncode != 0:
        raise GitError(f"git {asked_of(command)} failed with status {done.returncode}")
    return done.stdout, True


def said_by(result: Result) -> str:
    """Return the end of what a git said on its standard error."""
    return end(result.stderr.decode("utf-8", "replace").strip(), 2000)


def asked_of(command: Sequence[str]) -> str:
    """Return git's command in two words, from its whole command line."""
    words = list(command[3:])
    while words[:1] == ["-c"]:
        del words[:2]
    return " ".join(words[:2])


def bounded_from_its_start(command: Sequence[str]) -> list[str]:
    """Return the line of a git that is bounded before it begins.

    So it is where a command is at work that could exchange what it reads in its first moments. Else
    its bound comes just after, which costs nothing.
    """
    return bounded(command, MOST_BYTES) if AT_WORK.anybody() else list(command)


def died_of_it(result: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether a git failed for want of memory."""
    return result.returncode != 0 and _DIED.search(result.stderr or b"") is not None
