"""The service manager that started this daemon, if one did: its notifications and its sockets."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Final

from podiumd.host.notify import Notifier
from podiumd.host.socket_activation import Handed, handed_over

VARIABLE: Final = "PODIUM_SERVICE"
"""Set by our own units: ``systemd`` or ``launchd``. A terminal may itself run under either, so
nothing that they set by themselves would show it."""

_KINDS: Final = ("systemd", "launchd")


@dataclass(frozen=True)
class Manager:
    """``kind`` is ``systemd``, ``launchd``, or ``None`` for a daemon that a person started."""

    kind: str | None = None
    notifier: Notifier = field(default_factory=Notifier)
    handed: Handed = field(default_factory=Handed)

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str], pid: int) -> Manager:
        """Take what is meant for this process out of ``environ``. Raises ``PlaceError``."""
        kind = environ.pop(VARIABLE, None)
        notifier = Notifier.from_environment(environ, pid)
        known = kind if kind in _KINDS else None
        return cls(known, notifier, handed_over(environ, pid))
