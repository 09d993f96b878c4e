"""The real worker process, spoken to in turn, without the daemon's side of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from podiumd.speech.api import Heard
from podiumd.speech.engines import wire
from tests.patience import HANG_SECONDS

PIECE = 65_536


class Worker:
    """See the module."""

    def __init__(self, model: Path, **setup: Any) -> None:
        self._setup = wire.Setup(model=str(model), **setup)
        self._job = 0

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "podiumd.speech.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )
        self._send(wire.message(wire.SETUP, 0, self._setup))
        self.first: wire.Line | None = None
        self.first = self._line()
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(HANG_SECONDS)

    def hear(self, audio: bytes, format: str = "pcm16", **asked: Any) -> Heard:
        """What it hears. Raises ``Refusal``."""
        self.say(audio, format, **asked)
        while True:
            match self._line():
                case wire.Answered(job, heard) if job == self._job:
                    return heard
                case wire.Refused(job, code, message) if job == self._job:
                    raise Refusal(code, message)
                case wire.Broken(message):
                    raise AssertionError(message)
                case _:
                    pass

    def say(self, audio: bytes, format: str = "pcm16", **asked: Any) -> None:
        """Give it a job, and do not wait for the answer."""
        self._job += 1
        opened = wire.Opened(format=format, **{"partials": False} | asked)
        self._send(wire.message(wire.OPEN, self._job, opened))
        for start in range(0, len(audio), PIECE):
            self._send(wire.frame(wire.DATA, self._job, audio[start : start + PIECE]))
        ended = wire.Ended(hotwords=asked.get("hotwords", ()))
        self._send(wire.message(wire.END, self._job, ended))

    def megabytes(self) -> float:
        """The most memory it has had at once."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def _send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame)
        self.process.stdin.flush()

    def _line(self) -> wire.Line:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (
            f"the worker ended: {self.process.wait(HANG_SECONDS)}; it began with {self.first}"
        )
        said: wire.Line = wire.decode_line(line)
        return said


class Refusal(Exception):
    """The worker refuses the audio."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
