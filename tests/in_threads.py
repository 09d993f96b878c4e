"""What a piece of the daemon does in other threads: each costs as much as some hundred calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio


def in_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that are handed to a thread from now on, as they are."""
    told: list[str] = []
    real = trio.lowlevel.start_thread_soon

    def start(work: Callable[[], Any], deliver: Callable[[Any], object], name: str) -> None:
        told.append(name.partition(" from ")[0])
        real(work, deliver, name)

    monkeypatch.setattr("trio._threads.start_thread_soon", start)
    monkeypatch.setattr(trio.lowlevel, "start_thread_soon", start)
    return told
