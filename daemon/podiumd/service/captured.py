"""The environment that a service is given: a service manager knows nothing of your shell's.

Without it a service finds no agent (PATH) and no login. What is taken is what an agent gets of a
daemon that was started in this shell, less what holds for this login or this terminal alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from podiumd.agents.kind import ConfiguredAgent
from podiumd.observe.redaction import HIDDEN, is_secret_name
from podiumd.tools.process.environment import child_environment
from podiumd.tools.process.processes import MARKER

_GIVEN_BY_THE_MANAGER: Final = frozenset(("HOME", "USER", "LOGNAME", "SHELL", MARKER))
_OF_THIS_TERMINAL: Final = frozenset(("TERM", "TMPDIR"))
_LASTING_XDG: Final = frozenset(
    f"XDG_{name}"
    for name in ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "CACHE_HOME", "CONFIG_DIRS", "DATA_DIRS")
)
_OURS: Final = ("PODIUM_HOME", "PODIUM_SOCKET", "PODIUM_CONFIG", "CODEX_HOME")


def captured(environ: Mapping[str, str], agents: Iterable[ConfiguredAgent]) -> dict[str, str]:
    """Return the variables for the service, by name: all that any agent gets, or needs there.

    The ssh agent's socket is taken only where it will be the same after the next login. A variable
    of two lines is not taken: no unit could hold it.
    """
    given: dict[str, str] = {}
    own = [*_OURS]
    for agent in agents:
        variables = agent.kind.variables
        given |= child_environment(
            environ,
            pass_env=(*variables.names, *agent.plan.pass_env),
            prefixes=variables.prefixes,
            extra_env={},
            marker="",
        )
        own += agent.kind.daemon_variables
    given |= {name: environ[name] for name in own if environ.get(name)}
    return {
        name: value
        for name, value in sorted(given.items())
        if _lasts(name, value, environ) and value.isprintable()
    }


def _lasts(name: str, value: str, environ: Mapping[str, str]) -> bool:
    if name in _GIVEN_BY_THE_MANAGER or name in _OF_THIS_TERMINAL:
        return False
    if name.startswith("XDG_"):
        return name in _LASTING_XDG
    if name == "SSH_AUTH_SOCK":
        places = (environ.get("XDG_RUNTIME_DIR"), environ.get("HOME"))
        parents = PurePosixPath(value).parents
        return any(place and PurePosixPath(place) in parents for place in places)
    return True


def shown(text: str, variables: Mapping[str, str]) -> str:
    """Mask the values of secret variables in a file's text, for people."""
    for name, value in variables.items():
        if is_secret_name(name) and value:
            for form in {value, value.replace("\\", "\\\\").replace('"', '\\"')}:
                text = text.replace(form, HIDDEN)
    return text
