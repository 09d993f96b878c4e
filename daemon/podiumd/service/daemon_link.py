"""A word with the daemon that runs, as a client of its socket: is it there, please stop."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import trio

from podiumd.tools.process.processes import Identity, wait_gone

_NOT_LISTENING: Final = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR)
_CHUNK: Final = 65536
_MOST_BYTES: Final = 1024 * 1024


class NoDaemon(Exception):
    """Signal that nothing answers at ``path``; ``reason`` is the sign of it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class DaemonLink:
    """A connection. Raises ``NoDaemon`` where nothing answers within ``seconds``, a call."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.settimeout(seconds)
        try:
            self._sock.connect(os.fspath(path))
        except OSError as error:
            self._sock.close()
            raise NoDaemon(path, error.strerror or str(error)) from None
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._sock.close()

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the daemon; its result, ``None`` where it refuses."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = b""
        try:
            self._sock.sendall(json.dumps(request).encode() + b"\n")
            while not answer.endswith(b"\n"):
                data = self._sock.recv(_CHUNK)
                answer += data
                if not data or len(answer) > _MOST_BYTES:
                    raise NoDaemon(self._path, "it closed the connection without an answer")
        except OSError as error:
            raise NoDaemon(self._path, error.strerror or str(error)) from None
        for line in answer.splitlines():
            message = json.loads(line)
            if message.get("id") == 1:
                return message.get("result")
        return None  # only a notification: it is stopping


def is_listening(path: Path) -> bool:
    """Return whether a connect would be accepted, by a daemon or by the holder of its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(os.fspath(path)) not in _NOT_LISTENING


async def is_gone(process: Identity, seconds: float) -> bool:
    """Wait at most ``seconds`` for the end of a process; return whether it is gone."""
    with trio.move_on_after(seconds):
        await wait_gone(process)
        return True
    return False
