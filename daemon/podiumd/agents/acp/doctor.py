"""Agents that speak the Agent Client Protocol: found or not. More tells only a turn."""

from __future__ import annotations

import shutil
from pathlib import Path

from podiumd.agents.acp.kind import AcpSettings, known_agents
from podiumd.agents.examination import Examined, Found, Provider
from podiumd.observe.checks import Check, broken, ok, warn


def examine(asked: Examined) -> Check:
    """Look for it with the environment that the daemon gives it; it is not started."""
    settings = asked.agent.settings
    assert isinstance(settings, AcpSettings)
    name, setting = asked.agent.name, f"agents.{asked.agent.name}.command"
    if not settings.command:
        return broken(asked.check, f"nothing is known of an agent '{name}'", f"set {setting}")
    command = settings.command[0]
    program = shutil.which(command, path=asked.environment().get("PATH"))
    if program is not None:
        how = "asks before it uses a tool" if settings.ask_mode else "has no ask_mode"
        return ok(asked.check, f"{program}; it {how}")
    elsewhere = shutil.which(command, path=asked.environment(asked.environ).get("PATH"))
    if elsewhere is not None:
        message = f"{elsewhere} is on your PATH and not on the daemon's"
        fix = f"{asked.anew} from this shell, or set {setting} to the path"
        return warn(asked.check, message, fix)
    fix = f"install it, or set {setting}"
    return broken(asked.check, f"'{command}' is no program on PATH", fix)


def found(asked: Examined) -> Found:
    """Look for it. It is asked for its version where it is known by name: to others that may mean
    to begin their work."""
    theirs, command = asked.environment(), asked.agent.plan.command
    program = shutil.which(command[0], path=theirs.get("PATH")) if command else None
    if program is None:
        return Found(there=False)
    known = {one.command[0] for one in known_agents().values()}
    if Path(command[0]).name not in known:
        return Found(program=program)
    return Found(program=program, version=asked.version(program, theirs)[0] or None)


def is_ready(asked: Examined) -> bool:
    """Return whether its program is there."""
    return examine(asked).state == "ok"


def at_hand(asked: Examined) -> bool:
    """Return false: it is a program."""
    return False


def provider(asked: Examined) -> Provider | None:
    """Return none: which server it asks stands in its own settings."""
    return None
