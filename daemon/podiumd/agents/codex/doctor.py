"""Codex: found and runnable, which version, and whether it is logged in."""

from __future__ import annotations

import shutil

from podiumd.agents.codex.kind import home_of
from podiumd.agents.codex.provider import OwnProvider, own_provider
from podiumd.agents.codex.version import Versions, untried
from podiumd.agents.examination import Examined, Found, Provider
from podiumd.core.excerpt import beginning
from podiumd.observe.checks import Check, broken, ok, warn


def examine(asked: Examined) -> Check:
    """Look at it with the environment that the daemon gives it.

    Nothing is wrong where it is missing: it is an agent that a person may do without.
    """
    command = asked.agent.plan.command[0]
    theirs, ours = asked.environment(), asked.environment(asked.environ)
    setting = f"agents.{asked.agent.name}.command"
    program = shutil.which(command, path=theirs.get("PATH"))
    if program is None:
        elsewhere = shutil.which(command, path=ours.get("PATH"))
        if elsewhere is not None:
            message = f"{elsewhere} is on your PATH and not on the daemon's"
            return warn(
                asked.check, message, f"{asked.anew} from this shell, or set {setting} to the path"
            )
        return ok(asked.check, f"not installed: '{command}' is no program on PATH")
    said, fault = asked.version(program, theirs)
    if fault:
        fix = "run it yourself to see why, or install it anew"
        return broken(asked.check, f"{program} {fault}", fix)
    if mark := untried(said):
        lacks = Versions().fault(program, theirs, asked.seconds)
        if lacks is not None:
            fix = f"install another version, or set {setting} to the path of one"
            return broken(asked.check, lacks, fix)
        said = f"{said} ({mark})"
    if not home_of(theirs).is_dir():  # asking would make it
        return ok(asked.check, f"{said} at {program}")
    own = own_provider(home_of(theirs))
    if own is not None:
        return _of_provider(asked, own, f"{said} at {program}, asks provider '{own.name}'")
    status, words, _ = asked.answer(program, ["login", "status"], theirs)
    if status not in (0, None):
        message = f"{asked.agent.name} is not logged in to OpenAI ({said} at {program})"
        fix = "run 'codex login' in a terminal; a provider of your own needs no login"
        return warn(asked.check, message, fix)
    how = f", {beginning(words.partition(chr(10))[0], 80)}" if words else ""
    return ok(asked.check, f"{said} at {program}{how}")


def _of_provider(asked: Examined, own: OwnProvider, words: str) -> Check:
    """Look whether a provider that is not OpenAI has its key: it needs no login."""
    if own.key is None or asked.environment().get(own.key):
        return ok(asked.check, words)
    setting = f"agents.{asked.agent.name}.pass_env"
    fix = f"set it for the daemon, and add it to {setting}; then {asked.anew}"
    return warn(asked.check, f"{words}, and is not given its key {own.key}", fix)


def found(asked: Examined) -> Found:
    """Look for it, and ask it for its version."""
    theirs = asked.environment()
    program = shutil.which(asked.agent.plan.command[0], path=theirs.get("PATH"))
    if program is None:
        return Found(there=False)
    said = asked.version(program, theirs)[0] or None
    return Found(program=program, version=said, mark=untried(said or "") or None)


def is_ready(asked: Examined) -> bool:
    """Return whether it runs and is logged in."""
    there = shutil.which(asked.agent.plan.command[0], path=asked.environment().get("PATH"))
    return there is not None and examine(asked).state == "ok"


def at_hand(asked: Examined) -> bool:
    """Return false: it is a program."""
    return False


def provider(asked: Examined) -> Provider | None:
    """Return none: which server it asks stands in its own settings."""
    return None
