"""The checker's end of a service: starts, asks, listens, kills it."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.histories import child
from tests.histories.checker import Wrong
from tests.patience import HANG_SECONDS

Json = dict[str, Any]

patience: list[float] = [HANG_SECONDS]
"""Seconds for any answer: far beyond what one takes. Of a service that was broken on purpose, what
does not come is the finding, and is not waited for so long."""


class Died(Exception):
    """The service's process is gone."""


class Service:
    """One service at a time over one state directory; ``told`` takes what subscribers get."""

    def __init__(self, place: Path, told: Callable[[str, Json], None]) -> None:
        self.up = False
        self._place = place
        self._told = told
        self._errors = place / "stderr"
        self._process = 0
        self._line: socket.socket | None = None
        self._waiting = b""
        self._answers: dict[int, Json] = {}
        self._asked = 0
        self._killed = False

    def start(self) -> None:
        self._process, self._line = child.fork(
            self._place / "state", self._place / "projects", self._errors
        )
        self._waiting, self._answers, self._killed = b"", {}, False
        self.up = True

    def send(self, do: str, **parameters: object) -> int:
        """Give a command; its answer is had with ``answer``. Raises ``Died``."""
        assert self._line is not None
        self._asked += 1
        command = {"do": do, "id": self._asked, **parameters}
        try:
            self._line.sendall(msgspec.json.encode(command) + b"\n")
        except OSError:
            self.listen(lambda: False, "the end of the service")
        return self._asked

    def answer(self, number: int) -> Json:
        """Wait for the answer to a command. Raises ``Died``, ``Wrong`` when it does not come."""
        self.listen(lambda: number in self._answers, f"an answer to command {number}")
        return self._answers.pop(number)

    def ask(self, do: str, **parameters: object) -> Json:
        """Give a command and wait. Raises ``Died``."""
        return self.answer(self.send(do, **parameters))

    def may_die(self) -> None:
        """It was told where to: that is no fault of its."""
        self._killed = True

    def listen(self, until: Callable[[], bool], what: str) -> None:
        """Take what comes until something holds. Raises ``Died``, ``Wrong``."""
        while not until():
            if not self._take(patience[0]):
                raise Wrong(f"{what} did not come in {patience[0]} s{self._complaint()}")

    def listen_until(self, until: Callable[[], bool], seconds: float) -> None:
        """Take what comes until something holds, or the time is over. Raises ``Died``."""
        deadline = time.monotonic() + seconds
        while not until() and self._take(deadline - time.monotonic()):
            pass

    def listen_for(self, seconds: float) -> None:
        """Take what comes within a time. Raises ``Died``."""
        self.listen_until(lambda: False, seconds)

    def _take(self, seconds: float) -> bool:
        """Take what is there, or comes first. False: nothing came in time."""
        assert self._line is not None
        if not select.select([self._line], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = self._line.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self._gone()
        *lines, self._waiting = (self._waiting + data).split(b"\n")
        for line in lines:
            words = msgspec.json.decode(line)
            if "name" in words:
                self._told(words["name"], words)
            if "id" in words:
                self._answers[words["id"]] = words
        return True

    def kill(self) -> None:
        """SIGKILL, now; what it has told before is taken."""
        self._killed = True
        os.kill(self._process, signal.SIGKILL)
        self._to_the_end()

    def stop(self) -> None:
        """Let it end in order."""
        try:
            self.send("stop")
        except Died:
            return
        self._to_the_end()

    def _to_the_end(self) -> None:
        try:
            self.listen(lambda: False, "the end of the service")
        except Died:
            pass

    def _gone(self) -> None:
        """The line is closed: reap it. Raises ``Died``, or ``Wrong`` when nobody killed it."""
        assert self._line is not None
        self._line.close()
        self.up = False
        _, status = os.waitpid(self._process, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in ((-signal.SIGKILL, 0) if self._killed else (0,)):
            raise Wrong(f"the service ended with {code}{self._complaint()}")
        raise Died

    def close(self) -> None:
        """End what is left of it, whatever it does."""
        if self.up:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            assert self._line is not None
            self._line.close()
            self.up = False

    def errors(self) -> None:
        """Raises ``Wrong`` when the service has logged an error."""
        text = self._errors.read_text() if self._errors.exists() else ""
        for line in text.splitlines():
            if '"level":"error"' in line.replace(" ", "") or line.startswith("Traceback"):
                raise Wrong(f"the service logged an error{self._complaint()}")

    def _complaint(self) -> str:
        text = self._errors.read_text() if self._errors.exists() else ""
        return f":\n{text[-3000:]}" if text else ""
