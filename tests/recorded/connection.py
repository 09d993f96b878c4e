"""A connection to the daemon's socket that keeps what it is told beside its answers."""

from __future__ import annotations

import json
import socket
from collections import deque
from pathlib import Path
from typing import Any

from tests.patience import HANG_SECONDS

Json = dict[str, Any]


class Connection:
    """Blocking; ``told`` are notifications that came while an answer was awaited."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(HANG_SECONDS)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self._number = 0
        self.told: deque[Json] = deque()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()
        self._socket.close()

    def send(self, method: str, **params: Any) -> int:
        """Send a request; returns its number, for ``answer``."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        return self._number

    def answer(self, number: int) -> Json:
        """Wait for the answer to a request."""
        while True:
            line = self._read()
            if line.get("id") == number:
                return {name: line[name] for name in ("result", "error") if name in line}
            self.told.append(line)

    def call(self, method: str, **params: Any) -> Json:
        """One request and its answer: ``result`` or ``error``."""
        return self.answer(self.send(method, **params))

    def next_told(self) -> Json:
        """Wait for the next notification: ``method`` and ``params``."""
        return self.told.popleft() if self.told else self._read()

    def _read(self) -> Json:
        line = self._lines.readline()
        assert line, "the daemon has closed the connection"
        read: Json = json.loads(line)
        return read
