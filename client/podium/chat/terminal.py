"""The terminal during a chat: restored however the chat ends, with Ctrl-C as a request."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from podium import text

PASTE_AS_TYPED = b"\x1b[?2004l"
"""Ends the marks that line editing has a terminal put around what is pasted."""

DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

Handler = Callable[[int, FrameType | None], Any] | int | None


class Terminal:
    """The modes of the terminal on standard input, if it is one.

    Entered, it puts them back on the way out, also when a signal ends the process. Such signals are
    waited for in a thread: what edits lines would see them only after the next key.
    """

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno() if text.is_terminal(sys.stdin) else None
        self._found: list[Any] = []
        self._deadly = {one for one in DEADLY if signal.getsignal(one) == signal.SIG_DFL}

    def __enter__(self) -> Terminal:
        if self._descriptor is not None:
            self._found = termios.tcgetattr(self._descriptor)
            signal.signal(signal.SIGTSTP, self._stand_by)
            signal.pthread_sigmask(signal.SIG_BLOCK, self._deadly)
            threading.Thread(target=self._die, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            self.restore()
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._deadly)

    def keys(self, *, shown: bool, ctrl_c: bool) -> None:
        """Hand over keys as they are pressed, Ctrl-C too if it is to be none (``ctrl_c`` false).

        Between two readers too, not only for one: in its line mode a terminal makes something else
        of Ctrl-D, which who reads keys next would not understand.
        """
        if self._descriptor is None:
            return
        modes = termios.tcgetattr(self._descriptor)
        modes[3] &= ~(termios.ICANON | termios.ECHO)
        modes[3] |= termios.ECHO if shown else 0
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        nothing = bytes([os.fpathconf(self._descriptor, "PC_VDISABLE")])
        modes[6][termios.VINTR] = self._found[6][termios.VINTR] if ctrl_c else nothing
        self._set(modes)

    def restore(self) -> None:
        """Put back what was found."""
        if self._found:
            self._set(self._found)

    def _set(self, modes: list[Any]) -> None:
        assert self._descriptor is not None
        try:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, modes)
        except termios.error:
            self._found = []  # the terminal is gone

    def _die(self) -> None:
        number = signal.sigwait(self._deadly)
        self.restore()
        if text.Style(sys.stdout).smart:
            _write(PASTE_AS_TYPED)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._deadly)
        os.kill(os.getpid(), number)

    def _stand_by(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal as it was, and we ours when we go on."""
        assert self._descriptor is not None
        modes = termios.tcgetattr(self._descriptor)
        self.restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stand_by)
        self._set(modes)


def _write(words: bytes) -> None:
    try:
        os.write(1, words)
    except OSError:
        pass  # the terminal is gone


class _Woken(Exception):
    """Ctrl-C while nothing but waiting was going on."""


class CtrlC:
    """Ctrl-C while the agent works: noted, and it ends a ``wait``; no call is torn apart by it.

    ``count`` says how often it was pressed.
    """

    def __init__(self) -> None:
        self.count = 0
        self._wanted = False
        self._waiting = False
        self._before: Handler = None

    def __enter__(self) -> CtrlC:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Ctrl-C as everywhere: ``KeyboardInterrupt``."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._note)

    def taken(self) -> bool:
        """Return whether it was pressed since the last call."""
        wanted, self._wanted = self._wanted, False
        return wanted

    def wait(self, waiting: Callable[[], bool]) -> bool:
        """Return the result of ``waiting``; false, and at once, when Ctrl-C is pressed."""
        try:
            self._waiting = True
            result = not self._wanted and waiting()
            self._waiting = False
        except _Woken:
            return False
        return result

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._wanted = True
        self.count += 1
        if self._waiting:
            self._waiting = False
            raise _Woken
