"""The variables that begin with ``PODIUM_`` and have a meaning, beside those of settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from podiumd.core.findings import closest

PREFIX: Final = "PODIUM_"
_SHOWN_CHARACTERS: Final = 100

OTHERS: Final = frozenset(
    PREFIX + name
    for name in (
        *("HOME", "CONFIG", "SOCKET"),  # places
        *("SERVICE", "FAILPOINT"),  # from a service manager, from tests
        *("TURN", "TOOLS_TOKEN"),  # of an agent's turn, from which a daemon may be started
        *("DEBUG", "RECORDER"),  # of the client, whose shell starts the daemon
    )
)


def unknown(environ: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """Build a sentence for each variable without effect, with the nearest that has one.

    ``settings`` are the variables of the settings. No value is printed: it may be a secret.
    """
    known = sorted(OTHERS.union(settings))
    return [
        f"environment {_shown(name)}: unknown, it has no effect; {_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known
    ]


def _shown(name: str) -> str:
    return name[:_SHOWN_CHARACTERS].encode("unicode_escape").decode("ascii")


def _hint(name: str, known: list[str]) -> str:
    # The prefix of all names would make each like every other.
    found = closest(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known])
    return "none is like it" if found is None else f"the nearest known is '{PREFIX}{found}'"
