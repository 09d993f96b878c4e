"""Processes of the real client that need not wait for its imports.

To start Python and to import the client takes longer than most of what a test has it do. So a
process that has done both forks for each command: one with its own arguments, environment,
directory, streams, terminal and signals, as any other. Where its environment would make another
interpreter of it (``is_usual``) a fresh one is started, as in tests of what is imported.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType

from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]
USUAL = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/ada",
    "LANG": "C.UTF-8",
    "PYTHONPATH": str(ROOT / "client"),
}


@cache
def _parent() -> socket.socket:
    """What forks; one for all tests of this process."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", str(ROOT / "tests/client/preloaded.py")]
    with theirs:
        parent = subprocess.Popen(command, stdin=theirs.fileno(), env=USUAL)

    def end() -> None:
        ours.close()
        parent.wait(HANG_SECONDS)

    atexit.register(end)
    return ours


def is_usual(environment: Mapping[str, str]) -> bool:
    """Whether a fresh interpreter would find there just what has made of the one that forks what it
    is: neither more, nor anything else, nor less."""
    return _of_interpreters(environment) == _of_interpreters(USUAL)


def _of_interpreters(environment: Mapping[str, str]) -> dict[str, str]:
    marks = ("PYTHON", "LANG", "LC_")
    return {name: value for name, value in environment.items() if name.startswith(marks)}


class Process:
    """A process of the client, used as one of ``subprocess``. ``terminal``: it leads a session,
    and the terminal that its standard input is controls it."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        directory: Path | None = None,
        terminal: bool = False,
    ) -> None:
        self.returncode: int | None = None
        request = {
            "arguments": arguments,
            "environment": dict(environment),
            "directory": str(directory or Path.cwd()),
            "terminal": terminal,
        }
        words = json.dumps(request).encode()  # before anything is sent: it may be no text
        self._channel, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(_parent(), [b"!"], [*streams, theirs.fileno()])
        with suppress(BrokenPipeError, ConnectionResetError):  # the next line says what it means
            self._channel.sendall(words)
            self._channel.shutdown(socket.SHUT_WR)
        self._told = self._channel.makefile("rb", buffering=0)
        self.pid = int(self._said("No client was forked"))

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float = HANG_SECONDS) -> int:
        if self.returncode is None:
            if not select.select([self._channel], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("podium", timeout)
            self.returncode = int(self._said("How the client ended is not known"))
            self._told.close()
            self._channel.close()
        return self.returncode

    def _said(self, otherwise: str) -> bytes:
        """The next line of the process that forks. Raises ``RuntimeError`` where it is gone."""
        with suppress(ConnectionResetError):
            if line := self._told.readline():
                return line
        raise RuntimeError(f"{otherwise}: what forks (tests/client/preloaded.py) hung up")

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Piped(Process):
    """One whose output is text in pipes; ``stdin`` is all that it reads."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        stdin: bytes = b"",
        directory: Path | None = None,
    ) -> None:
        ends = [os.pipe() for _ in range(3)]
        (theirs, into), (out, theirs_out), (err, theirs_err) = ends
        streams = (theirs, theirs_out, theirs_err)
        super().__init__(arguments, environment, streams, directory)
        for end in streams:
            os.close(end)
        self._stdin = stdin
        self._into = os.fdopen(into, "wb", buffering=0)
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in (out, err))
        if not stdin:
            self._into.close()

    def __enter__(self) -> Piped:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self._into, self.stdout, self.stderr):
            stream.close()
        self.wait()

    def communicate(self, timeout: float = HANG_SECONDS) -> tuple[str, str]:
        """Read both outputs to their ends, and wait."""
        over = time.monotonic() + timeout
        told = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}
        with selectors.DefaultSelector() as waiting:
            for descriptor in told:
                waiting.register(descriptor, selectors.EVENT_READ)
            if self._stdin:
                os.set_blocking(self._into.fileno(), False)
                waiting.register(self._into.fileno(), selectors.EVENT_WRITE)
            while waiting.get_map():
                ready = waiting.select(over - time.monotonic())
                if not ready:
                    raise subprocess.TimeoutExpired("podium", timeout)
                for key, _ in ready:
                    data = os.read(key.fd, 65536) if key.fd in told else self._write()
                    if key.fd in told:
                        told[key.fd] += data
                    if not data:
                        waiting.unregister(key.fd)
                    if not self._stdin:
                        self._into.close()
        out, err = (data.decode() for data in told.values())
        self.__exit__(None, None, None)
        return out, err

    def _write(self) -> bytes:
        """Write some; what is left."""
        try:
            written = os.write(self._into.fileno(), self._stdin)
        except BrokenPipeError:
            written = len(self._stdin)
        self._stdin = self._stdin[written:]
        return self._stdin
