"""The limit on the files, sockets and pipes that this process may have open at once."""

from __future__ import annotations

import resource
from typing import Final

ENOUGH: Final = 8192
"""Every phone and client that is let in, every agent, and as much again."""


def raise_limit(enough: int = ENOUGH) -> int:
    """Raise the soft limit to what a daemon needs, as far as the hard one goes; returns it.

    A login shell gives 1024, which a thousand phones use up: then no agent could be started.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (resource.RLIM_INFINITY, enough) or soft > enough:
        return soft
    wanted = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # the system has a bound of its own (macOS)
        return soft
    return wanted
