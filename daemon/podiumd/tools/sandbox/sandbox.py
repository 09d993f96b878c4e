"""The sandbox for a model's commands: bubblewrap on Linux, sandbox-exec on macOS.

In the sandbox a command may write the working tree and its own temporary directory, and commit; it
reads the system, but not the home of the user beyond the programs there (see ``_TOOLS``), nor
Podium's state; it has no network; and it cannot change git's hooks and settings, through which it
would have code run outside. By the policy ``auto`` a machine that has no sandbox does without, and
gives notice once; by ``required`` nothing is run there. A tree that cannot be confined runs nothing
by either.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import trio

from podiumd.core.excerpt import end
from podiumd.tools.confine.bubblewrap import BASE, bubblewrap_arguments
from podiumd.tools.confine.mount_gate import Gate, gated
from podiumd.tools.confine.places import Places, places_for
from podiumd.tools.confine.seatbelt import profile
from podiumd.tools.git.at_work import AT_WORK, Reach
from podiumd.tools.git.nested_repositories import MOST_DIRECTORIES, Repositories, RepositoryLook
from podiumd.tools.git.settings import too_old
from podiumd.tools.sandbox.boundary import (
    LEFT,
    Boundary,
    Placeholders,
    Tidied,
    boundary_of,
    close_record,
    left_before,
    tidy,
    write_down,
)

Policy = Literal["off", "auto", "required"]
PROBE_SECONDS = 10.0
UNCONFINED = "no sandbox: commands run unconfined ({})"
"""Message to people where a machine has no sandbox; why stands in it."""
AS_ROOT = (
    "Podium runs as root: what an agent runs has all rights of this machine, but for what its "
    "sandbox keeps from it"
)
TOO_LARGE = (
    f"this tree has more than {MOST_DIRECTORIES} directories: repositories beyond the nearer ones "
    "are not looked for, and a command may change their settings"
)
_INSTALL = {
    "linux": "install bubblewrap (apt install bubblewrap, dnf install bubblewrap)",
    "darwin": "sandbox-exec is a part of macOS; look why it is not at /usr/bin/sandbox-exec",
}
_PROGRAMS = {"linux": "bwrap", "darwin": "/usr/bin/sandbox-exec"}
GUARD = (sys.executable, "-I", "-m", "podiumd.tools.confine.mount_gate")
# Targets that these name cannot be reached from inside.
_OUTSIDE = frozenset(("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"))


class SandboxRefused(Exception):
    """A sandbox is required and there is none; the message says what to do."""


class Enclosure(msgspec.Struct, frozen=True, kw_only=True):
    """A sandbox that is ready for one working tree.

    ``prefix`` stands before the command. ``record`` is where the boundary
    is written down; ``placeholders`` are those of the daemon, where files are put at all. ``left``
    is what commands of the turn have left that was not put right. ``by_path``: the sandbox finds
    by paths what it mounts, and ``prefix`` ends where the command begins. ``reach`` is what a
    command can write."""

    prefix: tuple[str, ...]
    variables: dict[str, str]
    by_path: bool = False
    boundary: Boundary | None = None
    look: RepositoryLook | None = None
    record: Path | None = None
    placeholders: Placeholders | None = None
    left: list[str] = []
    reach: Reach | None = None

    def gate(self) -> Gate | None:
        """Return the next command's gate, where others could disturb its start."""
        return Gate(self.prefix[1:-1]) if self.by_path else None

    def command(self, argv: Sequence[str], gate: Gate | None = None) -> list[str]:
        """Build the arguments that run ``argv`` inside, through a gate that the caller keeps."""
        return [*(self.prefix if gate is None else gated(self.prefix, gate)), *argv]

    def guarded(self, argv: Sequence[str]) -> list[str]:
        """Build the arguments of a program that runs ``argv`` inside, and keeps the gate itself."""
        return [*(GUARD if self.by_path else ()), *self.prefix, *argv]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Build the variables inside."""
        return {
            name: value for name, value in base.items() if name not in _OUTSIDE
        } | self.variables

    def prepare(self) -> None:
        """Get ready for a command, and write down what is to be put right after it. Blocks.
        Raises ``OSError``. ``let_end`` comes before the command."""
        if self.left:
            raise OSError(LEFT.format("; ".join(self.left)))
        if self.boundary is None:
            return
        if self.record is not None:
            write_down(self.boundary, self.record)
        if self.placeholders is not None:
            self.placeholders.put(self.boundary.placed)
        if self.reach is not None:  # last: what fails has not begun
            AT_WORK.begin(self.reach)

    async def let_end(self) -> None:
        """Wait until no git of ours writes unconfined where the command will be able to."""
        if self.reach is not None:
            await AT_WORK.let_end(self.reach)

    def tidy(self) -> Tidied:
        """Put right, after a command, what it may not leave. Blocks."""
        if self.boundary is None or self.look is None:
            return Tidied()
        if self.placeholders is not None:
            self.placeholders.take_away(self.boundary.placed)
        tidied = tidy(self.boundary, self.look)
        self.left.extend(tidied.left)
        if self.reach is not None and not tidied.left:  # else a link of it may still be there
            AT_WORK.end(self.reach)
        if self.record is not None:
            close_record(self.record, tidied.left)
        return tidied


class Probe:
    """The check for a sandbox that works on this machine, made by running something in it.

    It is repeated until it succeeds, for a fault may be put right, or be momentary. ``path`` is
    where to look for it, as PATH has it; ``None``: the daemon's own PATH.
    """

    def __init__(self, platform: str = sys.platform, path: str | None = None) -> None:
        self._platform = platform
        self._path = path
        self._lock = trio.Lock()
        self._fault = ""
        self._program: str | None = None
        self._git: str | None = None

    async def program(self) -> tuple[str | None, str]:
        """Return the sandbox program, or ``None`` with the reason and what to do."""
        async with self._lock:
            if self._program is None:
                await self._try()
        return self._program, "" if self._program else self._fault

    async def git_fault(self) -> str:
        """Return why this machine's git is too old for a required sandbox; else empty."""
        found = shutil.which("git", path=self._path)
        if found is None:  # nothing of the person's is run by one that is not there
            return ""
        if self._git is None:
            self._git = too_old(await _said_by([found, "--version"]))
        return self._git

    async def _try(self) -> None:
        name = _PROGRAMS.get(self._platform, "")
        found = shutil.which(name, path=self._path) if name else None
        if found is None:
            self._fault = _INSTALL.get(self._platform, "this system has no sandbox that is known")
            return
        trial = [*BASE, "--", "/bin/sh", "-c", ":"]
        if self._platform == "darwin":
            trial = ["-p", "(version 1)(allow default)", "/bin/sh", "-c", ":"]
        fault = "it did not end in time"
        with trio.move_on_after(PROBE_SECONDS):
            fault = await _fault_of([found, *trial])
        if fault:
            self._fault = (
                f"{name} is there and does not work ({fault}): allow unprivileged user namespaces "
                "on this machine"
            )
        else:
            self._program = found


class Sandbox:
    """The sandbox by policy, for the commands of one turn.

    Parameters: ``home`` of the user, ``closed`` Podium's own directories, ``environ`` with the
    PATH of the commands; ``probe`` and ``placeholders`` are those of the daemon. ``record`` is a
    file of the turn, out of the commands' reach, for what is to be put right after a crash.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        home: Path,
        closed: Iterable[Path] = (),
        environ: Mapping[str, str],
        probe: Probe,
        platform: str = sys.platform,
        record: Path | None = None,
        placeholders: Placeholders | None = None,
    ) -> None:
        self.policy = policy
        self._home = home
        self._closed = tuple(closed)
        self._environ = environ
        self._probe = probe
        self._platform = platform
        self._said = False
        self._record = record
        self._placeholders = placeholders or Placeholders()
        self._looks: dict[Path, tuple[RepositoryLook, Repositories]] = {}
        self._left: list[str] = []

    async def enclose(self, root: Path, scratch: Path) -> tuple[Enclosure | None, str]:
        """Build the sandbox for commands in ``root``, or ``None`` where they run without one.

        Parameters: ``scratch`` is a directory of the turn, for temporary files where the sandbox
        has none of its own. Also returns a notice: once, that there is none. Raises
        ``SandboxRefused`` where one is required, where there is one and ``root`` is a directory
        that it cannot confine, and where a command of the turn has left what git could run.
        """
        if self.policy == "off":
            return None, ""
        if self._record is not None and not self._left:
            self._left.extend(await trio.to_thread.run_sync(left_before, self._record))
        if self._left:
            raise SandboxRefused(LEFT.format("; ".join(self._left)))
        program, fault = await self._probe.program()
        if self.policy == "required" and (old := await self._probe.git_fault()):
            raise SandboxRefused(f"a sandbox is required, and {old}: install a newer git")
        if program is not None:
            places = await trio.to_thread.run_sync(self._places, root)
            if isinstance(places, str):
                # Not for want of a sandbox: a command could bring this about for the next one.
                raise SandboxRefused(
                    f"this cannot be run in the sandbox: {places}; commands of the native agent "
                    "run without one where sandbox in [agents.native] is 'off'"
                )
            return await trio.to_thread.run_sync(
                self._enclosed, root, program, places, scratch
            ), self._unlooked(root)
        if self.policy == "required":
            raise SandboxRefused(f"a sandbox is required and there is none: {fault}")
        notice = "" if self._said else UNCONFINED.format(fault)
        self._said = True
        return None, notice

    def _unlooked(self, root: Path) -> str:
        """Return a notice, once, for a tree that is too large to be looked through."""
        if self._said or self._nested(root)[1].whole:
            return ""
        self._said = True
        return TOO_LARGE

    def _places(self, root: Path) -> Places | str:
        _, found = self._nested(root)
        return places_for(
            root,
            home=self._home,
            closed=self._closed,
            environ=self._environ,
            nested=(*found.gits, *found.laid_out),
        )

    def _nested(self, root: Path) -> tuple[RepositoryLook, Repositories]:
        if root not in self._looks:  # once: a later one is of a command's own making
            look = RepositoryLook(Path(os.path.realpath(root)))
            self._looks[root] = look, look.look()
        return self._looks[root]

    def _enclosed(self, root: Path, program: str, places: Places, scratch: Path) -> Enclosure:
        darwin = self._platform == "darwin"
        if darwin:
            own = os.path.realpath(scratch)
            prefix: tuple[str, ...] = (program, "-p", profile(places, own))
            variables = {"HOME": own, "TMPDIR": own}
        else:
            prefix = (program, *bubblewrap_arguments(places))
            variables = {"HOME": places.home, "TMPDIR": "/tmp"}  # noqa: S108 - it has one of its own
        look, before = self._nested(root)
        # There the profile itself keeps such files from being made.
        placeholders = None if darwin else self._placeholders
        return Enclosure(
            prefix=prefix,
            variables=variables,
            by_path=not darwin,
            boundary=boundary_of(places, before),
            look=look,
            record=self._record,
            placeholders=placeholders,
            left=self._left,
            reach=Reach(
                program,
                places.root,
                repositories=places.repositories,
                kept=places.protected,
                placed=places.placed,
                placeholders=placeholders,
            ),
        )


async def _said_by(argv: Sequence[str]) -> str:
    """Return a program's standard output; nothing where it cannot be run."""
    with suppress(OSError), trio.move_on_after(PROBE_SECONDS):
        return (await _run(argv)).stdout.decode("utf-8", "replace")
    return ""


async def _fault_of(argv: Sequence[str]) -> str:
    """Return why the sandbox does not run; empty where it does."""
    try:
        done = await _run(argv, env={"PATH": os.defpath, "LC_ALL": "C"})
    except OSError as error:
        return error.strerror or str(error)
    said = end(done.stderr.decode("utf-8", "replace").strip(), 500)
    return "" if done.returncode == 0 else said or f"status {done.returncode}"


_run = partial(
    trio.run_process,
    stdin=subprocess.DEVNULL,
    capture_stdout=True,
    capture_stderr=True,
    check=False,
)
