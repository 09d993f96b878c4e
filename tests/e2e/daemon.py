"""The real daemon as a child process, with everything of its own below one directory.

``async with PodiumDaemon(machine) as podium`` starts it and returns when it is ready. At the end
it is stopped with its turns, and nothing that belongs to the machine's home may live.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import trio

from podiumd.tools.failpoints import VARIABLE
from podiumd.tools.process.processes import (
    Identity,
    alive,
    command_line,
    start_of,
    wait_gone,
    with_entry,
)
from tests.e2e.machine import Machine
from tests.e2e.rpc_client import Feed, Json, Refused, connected, following
from tests.patience import HANG_SECONDS

INTERRUPTED = 130
MOST_UNDECIDED = 1000


class Said(NamedTuple):
    """How a run of the command-line client ended, and what it wrote."""

    code: int
    out: str
    err: str


class Screen:
    """What a client that goes on has shown so far."""

    def __init__(self, output: trio.abc.ReceiveStream) -> None:
        self.shown = ""
        self._output = output

    async def until(self, words: str) -> str:
        """Read on until these words are shown; returns all lines that are shown by then."""
        with trio.move_on_after(HANG_SECONDS):
            while words not in self.shown or not self.shown.endswith("\n"):
                chunk = await self._output.receive_some()
                assert chunk, f"it ended before {words!r}: {self.shown}"
                self.shown += chunk.decode()
        assert words in self.shown, f"no {words!r} in {self.shown!r}"
        return self.shown


class PodiumDaemon:
    """One daemon of a machine; it can be killed, stopped and started again."""

    program: tuple[str, ...] = ("-m", "podiumd")

    def __init__(self, machine: Machine, **environment: str | None) -> None:
        self.machine = machine
        self._environment = environment
        self._process: trio.Process | None = None
        self._log = machine.root / "podiumd.log"

    def next_environment(self, **environment: str | None) -> None:
        """Change the environment of the daemon that is started next."""
        self._environment = {**self._environment, **environment}

    # -- its life ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        left = ["the daemon did not end"]
        with trio.CancelScope(shield=True):
            left = await self._end()
        if kind is None:
            assert left == [], "nothing of the daemon and its turns may live on"
        elif error is not None:
            error.add_note(f"The daemon's log:\n{self.log_text()[-6000:]}")

    async def start(self) -> None:
        """Start it and return once it answers."""
        reading = await self._spawn()
        try:
            with trio.fail_after(HANG_SECONDS):
                await trio.lowlevel.wait_readable(reading)
            assert os.read(reading, 64), f"it did not start:\n{self.log_text()[-3000:]}"
        finally:
            os.close(reading)

    async def _spawn(self, **more: str) -> int:
        """Start its process; return the descriptor on which it reports that it is ready."""
        reading, writing = os.pipe()
        try:
            with self._log.open("ab") as log:
                self._process = await trio.lowlevel.open_process(
                    self._command(writing),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(writing,),
                    cwd=self.machine.root,
                    env=self.machine.environment(**{**self._environment, **more}),
                )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return reading

    def arm(self, failpoint: str | None) -> None:
        """Set the failpoint at which its next life dies; ``None``: it lives."""
        self._environment[VARIABLE] = failpoint

    def _command(self, ready: int) -> list[str]:
        options = ("--log-format", "json", "--ready-fd", str(ready))
        return [sys.executable, "-P", *self.program, *options]

    @property
    def pid(self) -> int:
        """The process of the daemon that was started last."""
        assert self._process is not None
        return self._process.pid

    async def kill9(self) -> None:
        """Kill it without a word, and wait until it is gone."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; returns its exit status once it is gone."""
        assert self._process is not None
        self._process.send_signal(number)
        return await self.wait()

    async def wait(self) -> int:
        """Wait until it is gone; returns its exit status."""
        assert self._process is not None
        with trio.fail_after(HANG_SECONDS):
            return await self._process.wait()

    async def restart(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it by a signal and start the next one."""
        await self.stop(number)
        await self.start()

    async def _end(self) -> list[str]:
        """Stop it with its turns; end what lives on nevertheless and name it."""
        process = self._process
        if process is not None and process.returncode is None:
            with trio.move_on_after(HANG_SECONDS):
                try:
                    await self.rpc("daemon.shutdown", turns="interrupt")
                except (OSError, trio.BrokenResourceError, Refused):
                    process.terminate()
                await process.wait()
        left = self.living()
        for identity, _ in left:
            if alive(identity):
                os.kill(identity.pid, signal.SIGKILL)
        if process is not None:
            await process.wait()
        return [line for _, line in left]

    def living(self) -> list[tuple[Identity, str]]:
        """Every process of this machine's home: the daemon, agents, and what those started."""
        for _ in range(MOST_UNDECIDED):
            found, undecided = with_entry(f"HOME={self.machine.home}")
            if not undecided:  # an agent that is just being started shows itself late
                return [(identity, command_line(identity.pid)) for identity in found]
        raise AssertionError("some process is in the middle of an exec for good")

    def agents(self) -> list[Identity]:
        """The agents at work.

        None is one that is only asked for its version or protocol, nor what an agent has just
        forked, which has the agent's own command line until it becomes a program of its own.
        """
        found = [identity for identity, line in self.living() if self._is_agent(line)]
        pids = {identity.pid for identity in found}
        return [identity for identity in found if _parent(identity.pid) not in pids]

    def _is_agent(self, line: str) -> bool:
        program = str(self.machine.claude)
        asked = line == f"{program} --version" or "generate-json-schema" in line
        return line.split(" ", maxsplit=1)[0] == program and not asked

    def children(self) -> list[str]:
        """The command lines of all that lives beside the daemon itself."""
        return [line for identity, line in self.living() if identity.pid != self.pid]

    # -- talking to it -----------------------------------------------------------------------

    async def rpc(self, method: str, **params: Any) -> Any:
        """Call a method on a connection of its own. Raises ``Refused``."""
        with trio.fail_after(HANG_SECONDS):
            async with connected(self.machine.socket) as connection:
                return await connection.call(method, params)

    async def refused(self, method: str, **params: Any) -> Refused:
        """Call a method that has to be refused and return the refusal."""
        try:
            result = await self.rpc(method, **params)
        except Refused as refusal:
            return refusal
        raise AssertionError(f"{method} was not refused: {result}")

    @asynccontextmanager
    async def calling(self, method: str, **params: Any) -> AsyncIterator[Callable[[], Any]]:
        """Call a method whose answer takes a while; what it yields waits for the answer."""
        send, receive = trio.open_memory_channel[Any](1)

        async def call() -> None:
            await send.send(await self.rpc(method, **params))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            yield receive.receive

    def follow(self, run_id: str, after_seq: int = 0) -> AbstractAsyncContextManager[Feed]:
        """Follow a run."""
        return following(self.machine.socket, run_id, after_seq)

    async def ended(self, run_id: str) -> Json:
        """Wait for a run's end and return it."""
        async with self.follow(run_id) as feed:
            return await feed.end()

    async def only_run(self) -> Json:
        """The one run of a recipe that there is, with its history."""
        (listed,) = await self.rpc("runs.list")
        run: Json = await self.rpc("runs.get", run_id=listed["run_id"])
        return run

    @asynccontextmanager
    async def running(self, recipe: str, where: Path, **more: Any) -> AsyncIterator[Feed]:
        """Start a recipe and follow it; the first event is read."""
        run = await self.rpc("runs.start", recipe=recipe, working_directory=str(where), **more)
        async with self.follow(run["run_id"]) as feed:
            await feed.until("run.started")
            yield feed

    async def cli(self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> Said:
        """Run the command-line client."""
        with trio.fail_after(HANG_SECONDS):
            done = await trio.run_process(
                [sys.executable, "-m", "podium", *arguments],
                cwd=cwd or self.machine.root,
                env=self.machine.environment(**self._environment),
                stdin=stdin,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    @asynccontextmanager
    async def watching(self, *arguments: str) -> AsyncIterator[Screen]:
        """Run a client that goes on until Ctrl-C, which it gets at the end."""
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "podium", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=self.machine.root,
            env=self.machine.environment(**self._environment),
        )
        assert process.stdout is not None
        try:
            yield Screen(process.stdout)
            process.send_signal(signal.SIGINT)
            with trio.fail_after(HANG_SECONDS):
                assert await process.wait() == INTERRUPTED
        finally:
            with trio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.wait()
                await process.stdout.aclose()

    # -- what it wrote -----------------------------------------------------------------------

    def log_text(self) -> str:
        """Its log, of all its lives."""
        return self._log.read_text(encoding="utf-8")

    def logged(self, event: str) -> list[Json]:
        """The lines of an event in its log."""
        lines = [line for line in self.log_text().splitlines() if line.startswith("{")]
        return [line for line in map(json.loads, lines) if line["event"] == event]


async def gone(pid: int) -> None:
    """Wait until a process has ended, collected or not."""
    start = start_of(pid)
    if start is not None:
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(Identity(pid, start))


def _parent(pid: int) -> int | None:
    """The pid of a process's parent, ``None`` where it has ended meanwhile."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])
