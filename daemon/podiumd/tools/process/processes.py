"""Processes that may not be our children: their identity, whether they live, when they are gone.

A pid alone identifies nothing, it may have been given away again; a pid with its start time names
one process. A dead process whose parent does not collect it (a zombie) keeps its pid, answers to
signal 0 and has its old start time: here it counts as gone.

Processes started for a turn carry ``PODIUM_TURN=<turn id>`` in their environment, which children
inherit. ``carriers`` finds them and ``sweep`` ends them, in any group or session they moved to.
"""

from __future__ import annotations

import logging
import os
import select
import shlex
import signal
import sys
from collections.abc import Iterable
from typing import NamedTuple

import trio

from podiumd.tools.process.looks import Seen, environment, has_entry, listed, look

MARKER = "PODIUM_TURN"
TERMINATE_SECONDS = 0.5
KILL_SECONDS = 1.0
SWEEP_SECONDS = 8.0
UNDECIDED_SECONDS = 0.002
MOST_UNDECIDED = 100

log = logging.getLogger(__name__)


class Identity(NamedTuple):
    """The permanent identity of a process: ``start`` is in clock ticks since boot (Linux, field 22
    of ``/proc/PID/stat``) or in milliseconds since the epoch (elsewhere)."""

    pid: int
    start: int


if sys.platform == "linux":

    def _state_and_start(pid: int) -> tuple[str, int] | None:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                data = file.read()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The command's name stands in brackets and may hold any byte, brackets too.
        fields = data[data.rindex(b")") + 2 :].split()
        return fields[0].decode(), int(fields[19])

    def start_of(pid: int) -> int | None:
        """Return the start time of ``pid`` (see ``Identity``); ``None`` if it does not exist."""
        found = _state_and_start(pid)
        return found[1] if found else None

    def alive(identity: Identity) -> bool:
        """Return whether this very process still runs; a zombie does not."""
        found = _state_and_start(identity.pid)
        return found is not None and found[1] == identity.start and found[0] not in "ZXx"

    async def wait_gone(identity: Identity) -> None:
        """Return once the process has ended, collected by its parent or not."""
        try:
            descriptor = os.pidfd_open(identity.pid)
        except ProcessLookupError:
            await trio.lowlevel.checkpoint()
            return
        try:
            # Asked after opening: from here on the descriptor stands for this very process.
            if alive(identity):
                await trio.lowlevel.wait_readable(descriptor)
            else:
                await trio.lowlevel.checkpoint()
        finally:
            trio.lowlevel.notify_closing(descriptor)
            os.close(descriptor)

    def send_signal(identity: Identity, number: signal.Signals) -> bool:
        """Signal this very process, never a later one of the same pid.

        Returns ``False`` where it has ended. Raises ``PermissionError`` for another user's.
        """
        try:
            descriptor = os.pidfd_open(identity.pid)
        except ProcessLookupError:
            return False
        try:
            if not alive(identity):
                return False
            signal.pidfd_send_signal(descriptor, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)

    def command_line(pid: int) -> str:
        """Return the process's command as a shell would take it; empty where it cannot be read."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().rstrip(b"\0").split(b"\0")
        except OSError:
            return ""
        return shlex.join(word.decode(errors="replace") for word in words)

else:
    import psutil

    def start_of(pid: int) -> int | None:
        """Return the start time of ``pid`` (see ``Identity``); ``None`` if it does not exist."""
        try:
            return round(psutil.Process(pid).create_time() * 1000)
        except psutil.Error:
            return None

    def alive(identity: Identity) -> bool:
        """Return whether this very process still runs; a zombie does not."""
        try:
            ended = psutil.Process(identity.pid).status() in (
                psutil.STATUS_ZOMBIE,
                psutil.STATUS_DEAD,
            )
        except psutil.Error:
            return False
        return not ended and start_of(identity.pid) == identity.start

    async def wait_gone(identity: Identity) -> None:
        """Return once the process has ended, collected by its parent or not."""
        queue = trio.lowlevel.current_kqueue()

        def event(flags: int) -> select.kevent:
            return select.kevent(
                identity.pid, select.KQ_FILTER_PROC, flags, fflags=select.KQ_NOTE_EXIT
            )

        def abort(_: object) -> trio.lowlevel.Abort:
            queue.control([event(select.KQ_EV_DELETE)], 0)
            return trio.lowlevel.Abort.SUCCEEDED

        try:
            queue.control([event(select.KQ_EV_ADD | select.KQ_EV_ONESHOT)], 0)
        except ProcessLookupError:
            await trio.lowlevel.checkpoint()
            return
        if not alive(identity):
            queue.control([event(select.KQ_EV_DELETE)], 0)
            return
        await trio.lowlevel.wait_kevent(identity.pid, select.KQ_FILTER_PROC, abort)

    def send_signal(identity: Identity, number: signal.Signals) -> bool:
        """Signal the process; ``False`` where it has ended."""
        if not alive(identity):
            return False
        try:
            os.kill(identity.pid, number)
        except ProcessLookupError:
            return False
        return True

    def command_line(pid: int) -> str:
        """Return the process's command as a shell would take it; empty where it cannot be read."""
        try:
            return shlex.join(psutil.Process(pid).cmdline())
        except psutil.Error:
            return ""


def identity_of(pid: int) -> Identity | None:
    """Name the process that has this pid now; ``None`` where there is none."""
    start = start_of(pid)
    return None if start is None else Identity(pid, start)


def carriers(turn_id: str) -> list[Identity]:
    """List the living processes whose environment marks them as this turn's.

    This process is left out, and so are those whose environment may not be read (other users') or
    is gone (zombies). Costs some microseconds a process of the machine.
    """
    return with_entry(f"{MARKER}={turn_id}")[0]


async def settled_carriers(turn_id: str) -> list[Identity]:
    """List what ``carriers`` lists, once no process is in the middle of an exec any more.

    A process that has been started an instant ago may be: its program is being read from the disk.
    Waits at most ``MOST_UNDECIDED`` times 2 ms.
    """
    entry = f"{MARKER}={turn_id}"
    for _ in range(MOST_UNDECIDED):
        found, undecided = with_entry(entry)
        if found or not undecided:
            return found
        await trio.sleep(UNDECIDED_SECONDS)
    return with_entry(entry)[0]


def marks() -> set[str]:
    """List the turns that processes of this machine are marked with; otherwise as ``carriers``."""
    found = set()
    prefix = f"{MARKER}=".encode()
    for pid, _ in listed():
        try:
            entries = (environment(pid) or b"").split(b"\0")
        except OSError:
            continue
        found |= {os.fsdecode(one[len(prefix) :]) for one in entries if one.startswith(prefix)}
    return found


def with_entry(entry: str) -> tuple[list[Identity], bool]:
    """List the other living processes that have ``entry`` ("NAME=value") in their environment.

    Also returns whether some process could be one without showing it at this moment: it is in the
    middle of an exec, look again.
    """
    return _named(entry.encode(), [pid for pid, _ in listed()])


def _named(entry: bytes, pids: Iterable[int]) -> tuple[list[Identity], bool]:
    """List those of the processes that have the entry, and whether another could be it."""
    found = []
    undecided = False
    for pid in pids:
        try:
            has = environment(pid)
            identity = identity_of(pid) if has_entry(has or b"", entry) else None
        except OSError:
            continue
        undecided = undecided or has is None
        if identity is not None and alive(identity):
            found.append(identity)
    return found, undecided


async def end_processes(identities: Iterable[Identity]) -> None:
    """Terminate these processes, then kill what is left; returns within 1.5 s."""
    pending = [one for one in identities if _signal_quietly(one, signal.SIGTERM)]
    await _wait_all(pending, TERMINATE_SECONDS)
    stubborn = [one for one in pending if _signal_quietly(one, signal.SIGKILL)]
    await _wait_all(stubborn, KILL_SECONDS)


async def sweep(turn_id: str) -> list[str]:
    """End every process of a turn that still lives and return their command lines.

    Goes on until two looks in a row found nothing (a process may be starting others while it is
    being ended), at most 8 seconds. The second reads what is new since the first. What could not be
    ended by then is logged.
    """
    ended: dict[Identity, str] = {}
    entry, seen = f"{MARKER}={turn_id}".encode(), frozenset[Seen]()
    empty_looks = undecided_looks = 0
    with trio.move_on_after(SWEEP_SECONDS) as scope:
        while empty_looks < 2:
            last = await look(entry, seen)
            # Others may have worked since it was read: who is ended is looked at once more.
            found, changing = _named(entry, last.pids)
            undecided, seen = last.undecided or changing, last.seen
            if found:
                empty_looks, seen = 0, frozenset()
                new = {one: command_line(one.pid) for one in found if one not in ended}
                if not all(new.values()):  # in the middle of an exec a process has none
                    await trio.sleep(UNDECIDED_SECONDS)
                    new = {one: line or command_line(one.pid) for one, line in new.items()}
                ended.update(new)
                await end_processes(found)
            elif undecided and undecided_looks < MOST_UNDECIDED:
                undecided_looks += 1
                await trio.sleep(UNDECIDED_SECONDS)
            else:
                empty_looks += 1
    if scope.cancelled_caught:
        log.warning("processes of turn %s could not be ended: %s", turn_id, carriers(turn_id))
    return [line for line in ended.values() if line]


def _signal_quietly(identity: Identity, number: signal.Signals) -> bool:
    try:
        return send_signal(identity, number)
    except PermissionError:
        return False


async def _wait_all(identities: list[Identity], seconds: float) -> None:
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for identity in identities:
                nursery.start_soon(wait_gone, identity)
