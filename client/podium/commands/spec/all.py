"""The one table of commands: the command line, the help and the completions are made from it."""

from __future__ import annotations

from podium.commands.spec.agents import AGENTS
from podium.commands.spec.machine import DAEMON, GATEWAY, INSTALLED, SERVICE, VOICE
from podium.commands.spec.recipes import RECIPES
from podium.commands.spec.table import Argument, Command
from podium.commands.spec.work import CHAT, RUNS, SESSIONS, WORKTREES

__all__ = ["COMMANDS", "FIRST_DAY", "GROUPS", "Argument", "Command"]

GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("every day", (*RUNS, *WORKTREES, *CHAT, *SESSIONS)),
    ("recipes", RECIPES),
    ("agents", AGENTS),
    ("phone", GATEWAY),
    ("voice", VOICE),
    ("machine", (*DAEMON, *INSTALLED, *SERVICE)),
)
"""Every command, by what it is for."""

COMMANDS = tuple(command for _, commands in GROUPS for command in commands)

FIRST_DAY = (
    ("up",),
    ("doctor",),
    ("chat",),
    ("run",),
    ("recipe", "list"),
    ("runs",),
    ("attach",),
    ("answer",),
    ("pair",),
    ("down",),
)
"""Commands in the help of ``podium`` itself: enough to begin with."""
