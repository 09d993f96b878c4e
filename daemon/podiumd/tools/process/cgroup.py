"""A control group of its own for each turn, where the system lets us make one.

It holds every process of the turn, also one that emptied its environment and left its group and
session. Needs Linux with cgroup v2 and a writable group of our own (root, or a service manager
that delegates, ``Delegate=yes``). Where that is missing every function here quietly does nothing:
the sweep by marker (``podiumd.tools.process.processes``) then stands alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import trio

from podiumd.tools.process.processes import command_line, identity_of, wait_gone

PREFIX = "podium-turn-"
KILL_SECONDS = 2.0


def own_directory() -> Path | None:
    """Return the cgroup v2 directory this process is in, ``None`` where there is none."""
    try:
        memberships = Path("/proc/self/cgroup").read_text()
        mounts = Path("/proc/self/mountinfo").read_text()
    except OSError:
        return None
    path = next((m[3:] for m in memberships.splitlines() if m.startswith("0::")), None)
    for mount in mounts.splitlines():
        before, _, after = mount.partition(" - ")
        if path is not None and after.startswith("cgroup2 "):
            return Path(before.split()[4] + path)
    return None


def create(turn_id: str) -> Path | None:
    """Make the turn's group under our own; ``None`` where that is not possible."""
    parent = own_directory()
    if parent is None:
        return None
    directory = parent / f"{PREFIX}{turn_id}"
    try:
        directory.mkdir(exist_ok=True)
        # Making the directory can succeed where moving a process into it would not.
        writable = os.access(directory / "cgroup.procs", os.W_OK)
    except OSError:
        return None
    if not (writable and (directory / "cgroup.kill").exists()):
        remove(directory)
        return None
    return directory


def enter(directory: Path, pid: int) -> bool:
    """Move a process into the group; its later children follow. ``False`` where refused."""
    try:
        (directory / "cgroup.procs").write_text(str(pid))
    except OSError:
        return False
    return True


def leave_turn_group() -> bool:
    """Move this process out of a turn's group, if it was started inside one.

    A daemon that an agent started is not part of that agent's turn and must not end with it.
    Returns whether it moved.
    """
    own = own_directory()
    inside = own is not None and own.name.startswith(PREFIX)
    return own is not None and inside and enter(own.parent, os.getpid())


async def end(directory: Path | None) -> list[str]:
    """Kill all that lives in the group, remove it, and return the command lines of what lived.

    Returns within 2 seconds; a group that is gone already, or ``None``, is no error.
    """
    if directory is None:
        return []
    try:
        pids = [int(word) for word in (directory / "cgroup.procs").read_text().split()]
        living = [one for one in map(identity_of, pids) if one is not None]
        lines = [line for one in living if (line := command_line(one.pid))]
        (directory / "cgroup.kill").write_text("1")
    except OSError:
        return []
    with trio.move_on_after(KILL_SECONDS):
        for identity in living:
            await wait_gone(identity)
    remove(directory)
    return lines


def remove(directory: Path) -> None:
    """Remove a group in which nothing lives."""
    try:
        directory.rmdir()
    except OSError:
        # A process in it has not died yet: an empty leftover costs nothing and kills nothing.
        return
