"""How much work something is, counted in place of timed: the same on every machine."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tests.patience import HANG_SECONDS

PRODUCT = ("podiumd.", "podium.")


class _TooMuch(BaseException):
    """More lines ran than may; no handler of the product takes it."""


@contextmanager
def at_most_lines(most: int) -> Iterator[None]:
    """Fail once the body has run more lines of the product than ``most``.

    A call into C is the one line that makes it: for a regular expression see ``ending``.
    """
    left = most

    def on_line(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        left -= event == "line"
        if left < 0:
            raise _TooMuch
        return on_line

    def on_call(frame: FrameType, _event: str, _: Any) -> Any:
        return on_line if frame.f_globals.get("__name__", "").startswith(PRODUCT) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    except _TooMuch:
        raise AssertionError(f"it takes more than {most:,} lines") from None
    finally:
        sys.settrace(before)


@contextmanager
def ending() -> Iterator[None]:
    """Fail where the body does not end at all, as what is quadratic does with a megabyte."""

    def hangs(*_: object) -> None:
        raise AssertionError(f"it did not end in {HANG_SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
