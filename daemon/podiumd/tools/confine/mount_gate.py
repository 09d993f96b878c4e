"""Holds a sandbox that is being set up until it is seen that it is the one which was meant.

bubblewrap finds what it mounts by paths. A command that runs beside it, in a worktree of the same
repository or in a tree around, can exchange a directory for a link in that moment, and what is
mounted is what the link names. So before anything of a command runs, the table of its mounts is
looked at, from outside: names play no part in it, and what is mounted stays what it is.

As a program (``python -m``) it starts the bubblewrap of its arguments, looks, and ends as that
does. It needs the standard library alone, for git starts it for each filter.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from podiumd.tools.confine.mounts import Mounts, strayed

STRAYED: Final = (
    "'{}' was exchanged while the sandbox was set up, by another command that works there: nothing "
    "was run; try again, and give agents that disturb each other a clone each"
)
UNSEEN: Final = "what the sandbox shows cannot be looked at, so nothing was run: {}"
_MADE_BELOW: Final = "/newroot"
"""Where bubblewrap makes what becomes the root."""
_WAITS_AT: Final = "/dev/.podium"
"""A file within the sandbox, whose content is waited for once all is mounted."""
_UNREAD: Final = b"!"


class Gate:
    """The gate of one start. ``words`` go to bubblewrap after those of its mounts, which are
    ``arguments``; it inherits ``descriptors``.

    The last step of bubblewrap is to copy a file from a socket that holds data and does not end:
    when the socket is empty, all is mounted. Data that has come to us over it is never read before
    the command may begin: however we end, the kernel then reports to bubblewrap that the connection
    broke, and it runs nothing.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._told = b""
        self._socket, self._its_socket = socket.socketpair()
        try:
            self._info, self._its_info = os.pipe()
        except OSError:
            self._socket.close()
            self._its_socket.close()
            raise
        self.descriptors = (self._its_info, self._its_socket.fileno())
        info, waits = map(str, self.descriptors)
        self.words = ("--info-fd", info, "--file", waits, _WAITS_AT)
        self._its_socket.send(_UNREAD)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the least there is
        with suppress(BlockingIOError):
            while True:
                self._socket.send(bytes(1024))

    def admit(self) -> str:
        """Check what is mounted, once it is, and let the command begin.

        Blocks until then, or until bubblewrap has ended. Returns why the command may not begin;
        else nothing. ``admission`` does the same for a task: a change to one is a change to both.
        """
        self.part()
        try:
            while self.hears():
                pass
            waiting = select.poll()
            waiting.register(self._socket, select.POLLOUT)
            waiting.poll()
            if self.has_ended():
                return ""  # it says itself why
            fault = self.fault()
            if not fault:
                self.open()
            return fault
        finally:
            self.close()

    @property
    def info(self) -> int:
        """Return the descriptor on which bubblewrap reports (see ``hears``)."""
        return self._info

    @property
    def waits(self) -> socket.socket:
        """Return the socket that is writable once all is mounted, or bubblewrap has ended."""
        return self._socket

    def part(self) -> None:
        """Leave to bubblewrap what it has inherited."""
        self._its_socket.close()
        if self._its_info >= 0:
            os.close(self._its_info)
            self._its_info = -1

    def hears(self) -> bool:
        """Read bubblewrap's report and return whether there may be more.

        Blocks while there is nothing yet.
        """
        told = os.read(self._info, 4096)
        self._told += told
        return bool(told)

    def has_ended(self) -> bool:
        """Return whether bubblewrap has ended."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLOUT)
        return any(seen & select.POLLHUP for _, seen in waiting.poll(0))

    def fault(self) -> str:
        """Return why the command may not begin, by what is mounted; else nothing.

        Blocks for the kernel's tables, and uses no descriptor of ours.
        """
        try:
            theirs = Mounts(Path(f"/proc/{_child_of(self._told)}/mountinfo").read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            return UNSEEN.format(error)
        ours = Mounts(Path("/proc/self/mountinfo").read_bytes())
        wrong = strayed(self._arguments, ours, theirs, _MADE_BELOW)
        return "" if wrong is None else STRAYED.format(wrong)

    def open(self) -> None:
        """Let it begin."""
        self._socket.recv(len(_UNREAD))

    def close(self) -> None:
        """Give all up; what has not been let in ends. Again is harmless."""
        self.part()
        if self._info >= 0:
            os.close(self._info)
            self._info = -1
        self._socket.close()


def _child_of(told: bytes) -> int:
    """Parse the process in bubblewrap's report. Raises ``ValueError`` and ``RecursionError``."""
    said = json.loads(told)
    pid = said.get("child-pid") if isinstance(said, dict) else None
    if type(pid) is not int or pid < 1:
        raise ValueError("bubblewrap tells of no process of its own")
    return pid


def gated(prefix: Sequence[str], gate: Gate) -> list[str]:
    """Put a gate into the arguments of a bubblewrap, up to what it runs."""
    return [*prefix[:-1], *gate.words, prefix[-1]]


def main(argv: list[str]) -> int:
    """Start the bubblewrap of these words, look, and return its status."""
    end = argv.index("--") + 1
    gate = Gate(argv[1 : end - 1])
    process = subprocess.Popen([*gated(argv[:end], gate), *argv[end:]], pass_fds=gate.descriptors)
    fault = gate.admit()
    if fault:
        sys.stderr.write(f"{fault}\n")
    status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
