"""The real client at a pseudo-terminal, with a person's hands."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.client.fake_daemon import FakeDaemon, environment
from tests.client.processes import Process, is_usual
from tests.patience import HANG_SECONDS

# A session leader that opens a terminal gets it as its controlling one: Ctrl-C then works.
TAKE_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.executable, [sys.executable, "-m", "podium", *sys.argv[1:]])
"""


def _start(
    command: Sequence[str], environment: Mapping[str, str], terminal: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env=environment,
    )


class Terminal:
    """A client whose standard streams are one terminal. ``screen`` is all that was shown.

    ``columns`` is its width; one of 0 does not tell it. Without a fake daemon an environment says
    where the daemon is.
    """

    def __init__(
        self,
        daemon: FakeDaemon | Mapping[str, str],
        *arguments: str,
        columns: int = 0,
        **more: str,
    ) -> None:
        usual = environment(daemon.path) if isinstance(daemon, FakeDaemon) else daemon
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.found_modes = termios.tcgetattr(slave)
        self.screen = ""
        self._seen = 0
        self._process = self._begin(arguments, {**usual, "TERM": "xterm-256color", **more}, slave)
        os.close(slave)

    def _begin(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], terminal: int
    ) -> Process | subprocess.Popen[bytes]:
        if is_usual(environment):
            return Process(arguments, environment, (terminal,) * 3, terminal=True)
        return _start([sys.executable, "-c", TAKE_TERMINAL, *arguments], environment, terminal)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def modes(self) -> list[object]:
        """The modes of the terminal, as ``stty`` tells them."""
        return list(termios.tcgetattr(self._master))

    @property
    def stays(self) -> str:
        """What is left on the screen: a live line is gone when it is erased."""
        lines = self.screen.replace("\r\n", "\n").split("\n")
        return "\n".join(line.rpartition("\r\x1b[K")[2] for line in lines)

    def resize(self, columns: int) -> None:
        """Make the terminal wider or narrower."""
        termios.tcsetwinsize(self._master, (24, columns))

    def signal(self, number: signal.Signals) -> None:
        """Send the client a signal."""
        self._process.send_signal(number)

    def type(self, words: str) -> None:
        os.write(self._master, words.encode())

    def say(self, words: str) -> None:
        """Say something to a chat, once it waits for it."""
        self.expect("> ")
        self.type(f"{words}\r")

    def leave(self) -> None:
        """Leave a chat, once it waits for words; it ends well."""
        self.say("exit")
        assert self.end() == 0

    def expect(self, words: str) -> None:
        """Read on until ``words`` are shown after what was expected before.

        A live line is drawn anew every second: it is the whole wait that is bounded.
        """
        over = time.monotonic() + HANG_SECONDS
        while (at := self.screen.find(words, self._seen)) < 0:
            more = time.monotonic() < over and self._read()
            assert more, f"{words!r} not in {self.screen[self._seen :]!r}"
        self._seen = at + len(words)

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self._process.wait(HANG_SECONDS)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], HANG_SECONDS)[0]:
            raise AssertionError(f"nothing more came after {self.screen!r}")
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        self.screen += data.decode("utf-8", "replace")
        return bool(data)


class Shell(Terminal):
    """A shell at a pseudo-terminal, which runs what is typed."""

    def _begin(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], terminal: int
    ) -> subprocess.Popen[bytes]:
        return _start(["bash", "--norc", "-i", *arguments], environment, terminal)
