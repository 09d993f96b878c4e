"""The one table of commands: the parser, the help and the completions are made from it."""

from __future__ import annotations

from podium.commands_table import Argument, Command
from podium.commands_table_chat import CHAT
from podium.commands_table_daemon import DAEMON, SERVICE
from podium.commands_table_gateway import GATEWAY
from podium.commands_table_phone import PHONE
from podium.commands_table_recipes import RECIPES
from podium.commands_table_runs import RUNS
from podium.commands_table_service import INSTALLED
from podium.commands_table_sessions import SESSIONS
from podium.commands_table_voice import VOICE

__all__ = ["COMMANDS", "Argument", "Command"]

COMMANDS = (
    *DAEMON,
    *SESSIONS,
    *CHAT,
    *RUNS,
    *RECIPES,
    *VOICE,
    *GATEWAY,
    *PHONE,
    *INSTALLED,
    *SERVICE,
)
