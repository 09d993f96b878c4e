"""A private daemon over a tree of sessions, and blocking clients that cost next to nothing."""

from __future__ import annotations

import json
import select
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.measure import CannotMeasure
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer

Json = dict[str, Any]

ANSWER_SECONDS = 30.0
RECEIVED_AT_ONCE = 1 << 20


@asynccontextmanager
async def session_daemon(claude_home: Path) -> AsyncIterator[PodiumDaemon]:
    """Start a daemon with a fresh STATE whose agent keeps its sessions in ``claude_home``.

    It plays no turn, so no agent is needed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as directory,
        ModelServer({"default": {"text": "Done."}}) as model,
    ):
        root = Path(directory)
        machine = Machine(root=root, home=root / "home", claude=Path("claude"), model=model)
        machine.set_up()
        machine.configure()
        async with PodiumDaemon(machine, CLAUDE_CONFIG_DIR=str(claude_home)) as daemon:
            yield daemon


class Client:
    """One connection that blocks; ``lines`` are notifications that nobody has taken yet."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.lines: list[bytes] = []
        self.closed = False
        self._rest = b""
        self._poll = select.poll()
        self._poll.register(self.socket, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.socket.close()

    def fileno(self) -> int:
        """For ``select``."""
        return self.socket.fileno()

    def call(self, method: str, **params: Any) -> Any:
        """Call a method. Raises ``CannotMeasure`` for a refusal or where no answer comes."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        until = time.monotonic() + ANSWER_SECONDS
        kept: list[bytes] = []
        while time.monotonic() < until and not self.closed:
            if not self.lines:
                self.receive(until - time.monotonic())
            while self.lines:
                line = self.lines.pop(0)
                answer = json.loads(line) if b'"id":1' in line else {}
                if answer.get("id") != 1:
                    kept.append(line)
                    continue
                self.lines = kept + self.lines
                if "error" in answer:
                    raise CannotMeasure(f"{method} was refused: {answer['error']}")
                return answer["result"]
        raise CannotMeasure(f"{method} got no answer in {ANSWER_SECONDS:.0f} seconds")

    def receive(self, seconds: float) -> bool:
        """Wait for bytes and take the whole lines off them; says whether bytes came in time."""
        if self.closed or not self._poll.poll(max(0.0, seconds * 1000)):
            return False
        chunk = self.socket.recv(RECEIVED_AT_ONCE)
        self.closed = not chunk
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self.lines += whole
        return bool(chunk)


def wait_for_index(client: Client, sessions: int) -> None:
    """Return once the daemon lists as many sessions. Raises ``CannotMeasure``."""
    until = time.monotonic() + 2 * ANSWER_SECONDS
    while client.call("sessions.list", limit=1)["total"] < sessions:
        if time.monotonic() > until:
            raise CannotMeasure("the index was not complete in a minute")
        # No event tells the end of the index; a pause, so that asking takes no core from it.
        time.sleep(0.02)
