"""From an agent's name in the configuration to its driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.agents.native.driver import NativeDriver, Surroundings
from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import demo_script, load_script
from podiumd.drivers.base import Driver
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES


def make_drivers(
    watch: SpoolWatch,
    native: Surroundings,
    *,
    script: str = "",
    spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES,
) -> dict[str, Driver]:
    """Return every driver by its agent's name.

    ``native`` is what the native agent has of the daemon. ``script`` is the scripted agent's file
    of turns (``[agents.scripted] script``); empty: the built-in demo. ``spool_megabytes`` says how
    much output (MiB) a turn may write.

    Raises ``podiumd.agents.scripted.script.ScriptError`` where that file cannot be used.
    """
    return {
        "claude": ClaudeDriver(watch, spool_megabytes),
        "native": NativeDriver(native),
        "scripted": (
            ScriptedDriver(load_script(Path(script)), script)
            if script
            else ScriptedDriver(demo_script())
        ),
    }
