"""Whether a parrot is there."""

from __future__ import annotations

import shutil

from podiumd.agents.examination import Examined, Found, Provider
from podiumd.observe.checks import Check, broken, ok


def examine(asked: Examined) -> Check:
    """Look for its program."""
    command = asked.agent.plan.command[0]
    environ = asked.environment()
    if shutil.which(command, path=environ.get("PATH")) is None:
        return broken(asked.check, f"'{command}' is no program on PATH", asked.agent.remedy)
    return ok(asked.check, f"{command} says {environ['PHRASE']}")


def found(asked: Examined) -> Found:
    """Its program."""
    program = shutil.which(asked.agent.plan.command[0], path=asked.environment().get("PATH"))
    return Found(there=program is not None, program=program)


def is_ready(asked: Examined) -> bool:
    """Whether it is there."""
    return examine(asked).state == "ok"


def at_hand(asked: Examined) -> bool:
    """Never: it is a program."""
    return False


def provider(asked: Examined) -> Provider | None:
    """A parrot asks nobody."""
    return None
