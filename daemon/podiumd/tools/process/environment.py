"""The environment of a child agent: a list of what it may have, never a copy of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from podiumd.tools.process.processes import MARKER

_PROXIES = ("ALL_PROXY", "FTP_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_NAMES = frozenset(
    [
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "SSH_AUTH_SOCK"),
        *_PROXIES,
        *(name.lower() for name in _PROXIES),
    ]
)
_PREFIXES = ("LC_", "XDG_")
_OURS = "PODIUM_"


def plain_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Select the variables of ``base`` that every program needs and that give nothing away."""
    return {
        name: value for name, value in base.items() if name in _NAMES or name.startswith(_PREFIXES)
    }


def child_environment(
    base: Mapping[str, str],
    *,
    pass_env: Iterable[str],
    prefixes: tuple[str, ...] = (),
    extra_env: Mapping[str, str],
    marker: str,
) -> dict[str, str]:
    """Return the whole environment of an agent's process, or of a check or command.

    ``base`` is the daemon's own environment. Taken over are the variables every program needs,
    those named in ``pass_env``, and those that begin with one of ``prefixes``; ``extra_env`` is
    added and wins. Since it is a list of what is let through, nothing shows that the child runs
    inside another agent, unless the user names it. ``PODIUM_*`` never passes, even if named, but
    for the marker ``PODIUM_TURN`` with the turn's id ``marker``.
    """
    names = frozenset(pass_env)
    chosen = {
        name: value for name, value in base.items() if name in names or name.startswith(prefixes)
    }
    merged = {**plain_environment(base), **chosen, **extra_env}
    environment = {name: value for name, value in merged.items() if not name.startswith(_OURS)}
    environment[MARKER] = marker
    return environment


def outside_turn(environ: Mapping[str, str]) -> bool:
    """Return whether the process with this environment is no part of a turn."""
    return MARKER not in environ


def reexec_without_turn(
    environ: Mapping[str, str],
    argv: Sequence[str],
    execve: Callable[[str, Sequence[str], Mapping[str, str]], object],
) -> None:
    """Start a daemon anew that was started from inside a turn; otherwise do nothing.

    It would be swept away with that turn, or sweep itself: the kernel shows a process's first
    environment for ever, so removing the marker from ``os.environ`` would not help. ``argv`` is
    the command line with the program's absolute path first, ``execve`` is ``os.execve``, which
    does not return.
    """
    if outside_turn(environ):
        return
    cleaned = {name: value for name, value in environ.items() if name != MARKER}
    execve(argv[0], argv, cleaned)
