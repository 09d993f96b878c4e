"""Who the gateway is measured against, and the servers of its fan-out, each a process."""

from __future__ import annotations

import functools
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.measure import CACHE, ROOT, CannotMeasure
from tests.load.thin_phone import ThinPhone
from tests.patience import HANG_SECONDS

HERE = ROOT / "benchmarks"
WS = "ws@8.23.0"
READY, MADE, BROADCAST = "ready frame", "message of a session", "websockets broadcast"
ORDERS = {READY: "frame {}", MADE: "message {}", BROADCAST: "{}"}


def install_ws() -> Path:
    """Install the pinned ``ws`` from the package registry; returns where its modules are."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise CannotMeasure("node and npm are not on PATH: install Node.js")
    home = CACHE / WS
    if not (home / "node_modules" / "ws").exists():
        home.mkdir(parents=True, exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *quiet, "--prefix", str(home), WS], check=True)
    return home / "node_modules"


class Server:
    """A process that has said its ``port``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.pid = process.pid
        self._process = process
        self.port = int(self._line())

    def order(self, text: str) -> float:
        """Have it do something; returns what it says of that."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CannotMeasure(f"{self._process.args!r} ended")
        return line


@contextmanager
def served(*command: str | Path, **environment: str) -> Iterator[Server]:
    """A server, for as long as it is needed."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | environment,
        text=True,
    ) as process:
        try:
            yield Server(process)
        finally:
            process.terminate()


@contextmanager
def node_watcher(projects: Path) -> Iterator[Server]:
    """Node's ``fs.watch`` and ``ws`` over a tree of sessions."""
    modules = install_ws()
    with served("node", HERE / "fs_watch_peer.cjs", projects, NODE_PATH=str(modules)) as server:
        yield server


class Sinks:
    """Clients that count what comes."""

    def __init__(self, phones: Sequence[ThinPhone]) -> None:
        self._phones = {phone.fileno(): phone for phone in phones}
        self._poll = select.poll()
        for descriptor in self._phones:
            self._poll.register(descriptor, select.POLLIN)

    def drain(self, count: int) -> None:
        """Return once each had so many messages. Raises ``CannotMeasure``."""
        while any(len(phone.lines) < count for phone in self._phones.values()):
            ready = self._poll.poll(HANG_SECONDS * 1000)
            for descriptor, _ in ready:
                self._phones[descriptor].receive(0)
            if not ready or any(phone.closed for phone in self._phones.values()):
                raise CannotMeasure("a fan-out did not reach everyone")
        for phone in self._phones.values():
            phone.lines.clear()


@contextmanager
def fan_outs(clients: int, burst: int) -> Iterator[dict[str, Callable[[], float]]]:
    """What sends a burst to so many clients; each returns CPU seconds a delivery."""
    with ExitStack() as stack:

        def begin(program: str) -> tuple[Server, Sinks]:
            server = stack.enter_context(served(sys.executable, HERE / program))
            opened = [stack.enter_context(ThinPhone(server.port)) for _ in range(clients)]
            return server, Sinks(opened)

        def once(server: Server, sinks: Sinks, order: str) -> float:
            seconds = server.order(order.format(burst))
            sinks.drain(burst)
            return seconds / burst / clients

        ours, theirs = begin("fan_out_server.py"), begin("broadcast_peer.py")
        yield {
            name: functools.partial(once, *(theirs if name == BROADCAST else ours), order)
            for name, order in ORDERS.items()
        }
