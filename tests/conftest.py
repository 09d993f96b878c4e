"""What holds for every test."""

from __future__ import annotations

import gc
import signal

import pytest
from hypothesis import settings
from trio.testing import MockClock

from tests import needs
from tests.examples import ALL, keep_few_steady

settings.load_profile(ALL)  # --hypothesis-profile names the other one

# A shell without job control starts what it puts in the background deaf to Ctrl-C, nohup what it
# starts deaf to the end of its terminal; and so would be all that the tests start from there.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The tests and all they import stay to the end. To look through thousands of them for garbage,
# again and again, would cost a fifth of the whole.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Have few examples be the same ones, whatever tests are collected."""
    keep_few_steady()


def pytest_collection_finish() -> None:
    """From here on garbage is collected, that of the tests alone."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Have tests left out, and that told, where the system lacks what they need."""
    config.pluginmanager.register(needs, "needs")


@pytest.fixture
def mock_clock(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """A clock that stands still. A sweep that meets a process in the middle of an exec, of whatever
    else this machine does, looks again at once: it would wait for ever by this clock."""
    from podiumd.tools.process import (
        processes,  # here: what is loaded before coverage begins is not counted
    )

    monkeypatch.setattr(processes, "UNDECIDED_SECONDS", 0.0)
    return MockClock()
