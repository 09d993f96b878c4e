"""The driving half of an agent's folder, loaded where it is needed.

A kind says which folder that is. Its module ``driver`` has ``make``, which makes the driver of one
agent of the kind; its module ``doctor`` looks whether an agent can be used (``podiumd.doctor``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from podiumd.agents.kind import ConfiguredAgent, Kind
from podiumd.drivers.base import Driver
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES


class SettingFault(ValueError):
    """A driver cannot be made with its agent's settings: ``key`` is the one at fault."""

    def __init__(self, key: str, words: str) -> None:
        super().__init__(words)
        self.key = key


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """Words of an agent about itself, told when a session opens, as far as it tells.

    ``mode`` is the one that a new session begins in, ``model`` likewise; ``logins`` are the ways
    to log in that it offers. ``leaves`` says what stays of a session that was opened only.
    """

    version: str = ""
    mode: str = ""
    modes: tuple[str, ...] = ()
    model: str = ""
    models: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Access of an agent's driver to the daemon.

    ``agent`` is the agent's name. ``settings`` gives those of its table that are in force;
    ``environ`` is the daemon's own environment, ``state`` its STATE directory. ``closed`` are
    further files and directories of the daemon's own, which no agent may touch. ``watch`` wakes
    those who follow spools. ``spool_megabytes`` is how much output (MiB) a turn may write.
    """

    agent: str
    settings: Callable[[], Any]
    environ: Mapping[str, str]
    state: Path
    watch: SpoolWatch
    closed: tuple[Path, ...] = ()
    spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES


def load_driver(kind: Kind) -> ModuleType:
    """Load the module that drives agents of a kind; a daemon does so before it begins."""
    return import_module(f"{kind.package}.driver")


def check_settings(agent: ConfiguredAgent, environ: Mapping[str, str]) -> None:
    """Refuse settings with which no driver can be made: a kind whose settings name a file has a
    ``check`` beside its ``make``. Blocks. Raises ``SettingFault``."""
    check = getattr(load_driver(agent.kind), "check", None)
    if check is not None:
        check(agent.settings, environ)


def greeting_of(kind: Kind, spool: bytes) -> Greeting:
    """Read what an agent told of itself in a turn that only opened a session: a kind whose agents
    tell something has a ``greeting`` beside its ``make``."""
    found = getattr(load_driver(kind), "greeting", None)
    return Greeting() if found is None else cast("Greeting", found(spool.splitlines()))


def traces_of(kind: Kind, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """List the files of the agent's own in which it notes where it worked: its ``traces``."""
    found = getattr(load_driver(kind), "traces", None)
    return () if found is None else cast("tuple[Path, ...]", found(environment))


def make_driver(kind: Kind, host: Host) -> Driver:
    """Make the driver of one agent. Raises ``SettingFault``."""
    return cast("Driver", load_driver(kind).make(host))
