"""The scripted agent, whose file of turns must be readable where there is one."""

from __future__ import annotations

from pathlib import Path

from podiumd.agents.examination import Examined, Found, Provider
from podiumd.agents.scripted.kind import ScriptedSettings
from podiumd.agents.scripted.script import ScriptError, load_script
from podiumd.agents.settings import of_home
from podiumd.observe.checks import Check, broken, ok


def examine(asked: Examined) -> Check:
    """Read its file."""
    settings = asked.agent.settings
    assert isinstance(settings, ScriptedSettings)
    script = of_home(settings.script, asked.environ)
    if not script:
        return ok(asked.check, "built in, plays its demo")
    setting = f"agents.{asked.agent.name}.script"
    try:
        load_script(Path(script))
    except ScriptError as error:
        fix = f"mend the file, or empty {setting}: no daemon starts like this"
        return broken(asked.check, f"{setting}: {error}".rstrip("."), fix)
    return ok(asked.check, f"plays {script}")


def found(asked: Examined) -> Found:
    """Return that it is there: it is a part of Podium."""
    return Found()


def is_ready(asked: Examined) -> bool:
    """Return false: it plays, and works on nothing."""
    return False


def at_hand(asked: Examined) -> bool:
    """Return false, for the same reason."""
    return False


def provider(asked: Examined) -> Provider | None:
    """Return ``None``: it asks no server."""
    return None
