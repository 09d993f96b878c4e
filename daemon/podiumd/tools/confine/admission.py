"""Lets a sandbox begin (see ``mount_gate``), in a task that can be given up at any moment.

A bubblewrap that hangs, as at a disk that does not answer, must not hold its caller. The steps are
those of ``Gate.admit``, which waits in a process of its own: a change to one is a change to both.
"""

from __future__ import annotations

import trio

from podiumd.tools.confine.mount_gate import Gate


async def admitted(gate: Gate) -> str:
    """Look at what is mounted, once it is, and let the command begin. Waits until then, or until
    bubblewrap has ended. Returns why it may not begin; else nothing. Where the caller cancels, it
    may not."""
    gate.part()
    try:
        await trio.lowlevel.wait_readable(gate.info)
        while gate.hears():
            await trio.lowlevel.wait_readable(gate.info)
        await trio.lowlevel.wait_writable(gate.waits)
        if gate.has_ended():
            return ""  # it says itself why
        fault = await trio.to_thread.run_sync(gate.fault, abandon_on_cancel=True)
        if not fault:
            gate.open()
        return fault
    finally:
        gate.close()
