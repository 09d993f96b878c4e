"""A real daemon with every door open and its log, driven by plain blocking sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[1]


class RealDaemon:
    """``before`` is a program that the daemon's command line is given to, ``inherited`` are
    descriptors for it."""

    def __init__(
        self,
        home: Path,
        *before: str,
        config: str = "",
        inherited: tuple[int, ...] = (),
        **environ: str,
    ) -> None:
        self.home = home
        home.mkdir(exist_ok=True)
        self.errors = home / "stderr"
        self.write_config(config)
        reading, writing = os.pipe()
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [
                    *(*before, sys.executable, "-P", "-m", "podiumd", "--detached"),
                    *("--log-format", "json", "--ready-fd", str(writing)),
                ],
                env={
                    "HOME": str(home),
                    "PODIUM_HOME": str(home),
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(ROOT / "daemon"),
                }
                | environ,
                pass_fds=(writing, *inherited),
                stderr=errors,
                stdout=errors,
            )
        os.close(writing)
        with os.fdopen(reading, "rb") as ready:
            assert ready.readline() == b"ready\n", self.errors.read_text()
        self.rpc = socket.socket(socket.AF_UNIX)
        self.rpc.settimeout(HANG_SECONDS)
        self.rpc.connect(str(home / "podium.sock"))
        self.answers = self.rpc.makefile("rb")
        url = self.result("daemon.status")["gateway"]["url"]
        self.port = int(url.rpartition(":")[2])

    def write_config(self, text: str) -> None:
        """Replace what the file says beside the port."""
        (self.home / "config.toml").write_text(f"gateway.port = 0\n{text}")

    def line(self, data: bytes) -> Any:
        """Send one line, whatever it is; returns the answer."""
        self.rpc.sendall(data.replace(b"\n", b" ") + b"\n")
        return json.loads(self.answers.readline())

    def call(self, method: str, **params: Any) -> Any:
        """Call a method; returns the answer, which may be an error."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.line(json.dumps(request).encode())

    def result(self, method: str, **params: Any) -> Any:
        answer = self.call(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    def http(self, head: str, body: bytes = b"") -> bytes:
        """One HTTP exchange; ``head`` is without its last lines."""
        place = ("127.0.0.1", self.port)
        with socket.create_connection(place, timeout=HANG_SECONDS) as client:
            lines = f"{head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            client.sendall(lines.encode() + body)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def written(self) -> str:
        """All that it has logged and said."""
        logs = sorted((self.home / "state").glob("podiumd.log*"))
        return "".join(file.read_text() for file in (*logs, self.errors))

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The lines of an event."""
        lines = [line for line in self.written().splitlines() if line.startswith("{")]
        return [line for line in map(json.loads, lines) if line["event"] == event]

    def wait(self) -> int:
        """Wait for its end; returns its exit code."""
        self.answers.close()
        self.rpc.close()
        return self.process.wait(HANG_SECONDS)

    def stop(self) -> int:
        """End it as a service manager does; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()


@contextmanager
def real_daemon(
    home: Path,
    *before: str,
    config: str = "",
    inherited: tuple[int, ...] = (),
    **environ: str,
) -> Iterator[RealDaemon]:
    """A daemon that is gone when this is left."""
    daemon = RealDaemon(home, *before, config=config, inherited=inherited, **environ)
    try:
        yield daemon
    finally:
        daemon.stop()
