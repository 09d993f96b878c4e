"""Claude Code: found and runnable, which version, and whether it is logged in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Final

from podiumd.agents.claude.arguments import ENVIRONMENT
from podiumd.agents.claude.login import (
    KEYS,
    THIRD_PARTY,
    Login,
    by_environment,
    by_its_word,
    was_started,
)
from podiumd.agents.examination import Examined, Found, Provider, answer, ask
from podiumd.observe.checks import Check, broken, ok, warn

_OWN: Final = "https://api.anthropic.com"
_URL: Final = "ANTHROPIC_BASE_URL"


def examine(asked: Examined) -> Check:
    """Look at it with the environment that the daemon gives it.

    Where it is missing and an agent that needs no program can be used, nothing is broken.
    """
    command = asked.agent.plan.command[0]
    theirs, ours = asked.environment(), asked.environment(asked.environ)
    setting = f"agents.{asked.agent.name}.command"
    program = shutil.which(command, path=theirs.get("PATH"))
    if program is None:
        elsewhere = shutil.which(command, path=ours.get("PATH"))
        if elsewhere is not None:
            message = f"{elsewhere} is on your PATH and not on the daemon's"
            return _missing(
                asked, message, f"{asked.anew} from this shell, or set {setting} to the whole path"
            )
        fix = (
            f"install Claude Code, or set {setting} in the configuration; or use "
            "Podium's own agent ('--agent native'), which needs no more than a model's key in "
            "ANTHROPIC_API_KEY, or a local model: see docs/native.md"
        )
        return _missing(asked, f"'{command}' is no program on PATH", fix)
    said, fault, login = _asked(asked, program, theirs)
    if fault:
        fix = "run it yourself to see why, or install it anew"
        return broken(asked.check, f"{program} {fault}", fix)
    if login.there is False:
        return _not_logged_in(asked, f"{said} at {program}", theirs, ours)
    how = f", {login.how}" if login.how else ""
    return ok(asked.check, f"{said} at {program}{how}")


def found(asked: Examined) -> Found:
    """Look for it, and ask it for its version."""
    theirs = asked.environment()
    program = shutil.which(asked.agent.plan.command[0], path=theirs.get("PATH"))
    if program is None:
        return Found(there=False)
    return Found(program=program, version=_asked(asked, program, theirs)[0] or None)


def is_ready(asked: Examined) -> bool:
    """Return whether it runs and is logged in."""
    return examine(asked).state == "ok"


def at_hand(asked: Examined) -> bool:
    """Return false: it is a program."""
    return False


def provider(asked: Examined) -> Provider | None:
    """Return the server that it asks; ``None`` where it is not ready, or asks another cloud."""
    environment = asked.environment()
    other = any(name.startswith(THIRD_PARTY) for name in environment)
    if other or not is_ready(asked):
        return None
    return Provider(environment.get(_URL) or _OWN, _URL, environment)


def _asked(asked: Examined, program: str, environment: Mapping[str, str]) -> tuple[str, str, Login]:
    """Return its version, or what is wrong with it, and its login.

    It is asked once, however many checks look.
    """
    key = (program, *sorted(environment.items()))
    if key not in asked.answers:
        theirs = {**environment, **ENVIRONMENT}
        said, fault = ask(program, ["--version"], theirs, asked.until)
        login = Login(there=None) if fault else _login(asked, program, environment)
        asked.answers[key] = said, fault, login
    found: tuple[str, str, Login] = asked.answers[key]
    return found


def _login(asked: Examined, program: str, environment: Mapping[str, str]) -> Login:
    """By its own word, but never so that it makes files in a home where there are none."""
    if not was_started(environment):
        return by_environment(environment)
    status, words, _ = answer(
        program, ["auth", "status", "--json"], {**environment, **ENVIRONMENT}, asked.until
    )
    return Login(there=None) if status is None else by_its_word(words)


def _not_logged_in(
    asked: Examined, found: str, theirs: Mapping[str, str], ours: Mapping[str, str]
) -> Check:
    """Report the missing login; the key may be in the caller's shell, and not with the daemon."""
    said = f"{asked.agent.name} is not logged in"
    keys = [name for name in KEYS if ours.get(name) and not theirs.get(name)]
    if keys:
        message = f"{said}: {keys[0]} is set here and not in the daemon's environment"
        return warn(asked.check, f"{message} ({found})", f"{asked.anew} from this shell")
    own = asked.agent.plan.env.get("CLAUDE_CONFIG_DIR")
    run = f"CLAUDE_CONFIG_DIR={own} claude" if own else "claude"
    fix = f"run '{run}' in a terminal and log in, or export {KEYS[0]} and then {asked.anew}"
    return warn(asked.check, f"{said} ({found})", fix)


def _missing(asked: Examined, message: str, fix: str) -> Check:
    """Claude Code, without which a person may do."""
    if not asked.at_hand:
        return broken(asked.check, message, fix)
    other = asked.at_hand[0]
    return warn(asked.check, f"{message}; the {other} agent needs it not", f"to use it, {fix}")
