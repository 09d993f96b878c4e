"""The daemon over all its lives: each death is followed by the next start."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from itertools import chain, repeat

import trio

from podiumd.tools.failpoints import VARIABLE
from podiumd.tools.process.processes import send_signal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import ROOT, Machine
from tests.faults.machines import FAKE


class Lives(PodiumDaemon):
    """The daemon of one trial.

    ``deaths`` counts its lives that are over; ``may_return`` holds back the next one. ``begun`` is
    set once the first has a process.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.deaths = 0
        self.may_return = trio.Event()
        self.may_return.set()
        self.begun = trio.Event()
        self._answers = False
        self._news = trio.Event()
        # A limiter of its own: a thread that still waits at the end of a trial takes no other's.
        self._threads = trio.CapacityLimiter(4)

    def use_program(self, module: str) -> None:
        """Be this module of the tests from now on, in place of the daemon's own."""
        self.program = ("-m", module)
        path = self.machine.environment()["PYTHONPATH"]
        self.next_environment(PYTHONPATH=os.pathsep.join((path, str(ROOT))))

    def _is_agent(self, line: str) -> bool:
        asked = line.endswith(" --version") or "generate-json-schema" in line
        return (f" -m {FAKE} " in line and not asked) or super()._is_agent(line)

    async def keep(self, armed: Iterable[str], at_stop: Callable[[], None]) -> None:
        """Start it again whenever it has died, until this is cancelled.

        ``armed`` are the failpoints of its first lives ("" for none), later ones have none.
        ``at_stop`` is called when a failpoint has stopped it.
        """
        for failpoint in chain(armed, repeat("")):
            reading = await self._spawn(**{VARIABLE: failpoint} if failpoint else {})
            self.begun.set()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._await_ready, reading)
                while await self._stopped():
                    at_stop()
                nursery.cancel_scope.cancel()
            assert self._process is not None
            await self._process.wait()
            self.deaths += 1
            self._answers = False
            self._tell()
            await self.may_return.wait()

    async def _await_ready(self, reading: int) -> None:
        try:
            await trio.lowlevel.wait_readable(reading)
            if os.read(reading, 64):
                self._answers = True
                self._tell()
        finally:
            os.close(reading)

    async def _stopped(self) -> bool:
        """Wait until a failpoint has stopped it, or (``False``) until it is dead."""
        pid = self.pid

        def wait() -> bool:
            found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            assert found is not None
            if found.si_code != os.CLD_STOPPED:
                return False
            os.waitid(os.P_PID, pid, os.WSTOPPED)  # seen; without this it would be told again
            return True

        return await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._threads)

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def answering(self) -> int:
        """Wait until a life answers; returns its number."""
        while not self._answers:
            await self._news.wait()
        return self.deaths

    async def over(self, life: int) -> None:
        """Wait until that life is over."""
        while self.deaths == life:
            await self._news.wait()

    def kill_daemon(self) -> None:
        """Kill the present life, if it still lives."""
        assert self._process is not None
        self._process.kill()

    def wake(self) -> None:
        """Let a life that a failpoint has stopped go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill_all(self) -> None:
        """Kill whatever lives of the trial, at its end."""
        for one, _ in self.living():
            send_signal(one, signal.SIGKILL)

    def kill_agents(self) -> int:
        """Kill every agent at work, not what it started; returns how many there were."""
        return sum(send_signal(agent, signal.SIGKILL) for agent in self.agents())
