"""The real daemon under a supervisor of ours that holds its socket, as a service manager does."""

from __future__ import annotations

import fcntl
import os
import signal
import socket

import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.patience import HANG_SECONDS

RESTART_SECONDS = 0.2
"""As RestartSec= in the unit."""

_HIGH = 100
"""Descriptors from here on are out of the way of the one that is handed over."""

# The daemon must be the process that LISTEN_PID names: the shell becomes it.
_HAND_OVER = 'export LISTEN_PID=$$; exec "$@" 3<&0 </dev/null'


class HeldDaemon(PodiumDaemon):
    """A daemon whose socket is there before it, after it, and between its lives."""

    def __init__(self, machine: Machine, **environment: str | None) -> None:
        super().__init__(machine, **environment)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(machine.socket))
        self._listener.listen(128)

    def let_go(self) -> None:
        """Hold the socket no longer."""
        self._listener.close()
        self.machine.socket.unlink()

    async def start(self) -> None:
        """Start it with the socket; return once it is ready."""
        reading, writing = os.pipe()
        ready = fcntl.fcntl(writing, fcntl.F_DUPFD, _HIGH)
        os.close(writing)
        handed = {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "rpc", "PODIUM_SERVICE": "systemd"}
        try:
            with self._log.open("ab") as log:
                self._process = await trio.lowlevel.open_process(
                    ["/bin/sh", "-c", _HAND_OVER, "sh", *self._command(ready)],
                    stdin=self._listener.fileno(),
                    stdout=log,
                    stderr=log,
                    pass_fds=(ready,),
                    cwd=self.machine.root,
                    env=self.machine.environment(**self._environment, **handed),
                )
            os.close(ready)
            ready = -1
            with trio.fail_after(HANG_SECONDS):
                await trio.lowlevel.wait_readable(reading)
            assert os.read(reading, 64), f"it did not start:\n{self.log_text()[-3000:]}"
        finally:
            for descriptor in (reading, ready):
                if descriptor >= 0:
                    os.close(descriptor)

    async def supervise(self) -> None:
        """Start it again whenever it was killed, until cancelled; the first is running."""
        while True:
            assert self._process is not None
            if await self._process.wait() == 0:
                return
            await trio.sleep(RESTART_SECONDS)
            await self.start()

    async def exited(self) -> None:
        """Return once the process that was killed is gone; another may run by then."""
        assert self._process is not None
        await self._process.wait()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send it a signal, without waiting for what becomes of it."""
        assert self._process is not None
        self._process.send_signal(number)
