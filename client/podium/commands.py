"""The one table of commands: the command line, the help and the completions are made from it."""

from __future__ import annotations

from podium.commands_table import Argument, Command
from podium.commands_table_chat import CHAT
from podium.commands_table_daemon import DAEMON, SERVICE
from podium.commands_table_gateway import GATEWAY
from podium.commands_table_recipes import RECIPES
from podium.commands_table_runs import RUNS
from podium.commands_table_service import INSTALLED
from podium.commands_table_sessions import SESSIONS
from podium.commands_table_voice import VOICE
from podium.commands_table_worktrees import WORKTREES

__all__ = ["COMMANDS", "FIRST_DAY", "GROUPS", "Argument", "Command"]

GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("every day", (*RUNS, *WORKTREES, *CHAT, *SESSIONS)),
    ("recipes", RECIPES),
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
"""What the help of ``podium`` itself names: enough to begin with."""
