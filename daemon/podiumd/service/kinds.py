"""The service managers: each decides the steps; a ``Runner`` does or prints them."""

from __future__ import annotations

import sys

from podiumd.service.launchd import Launchd
from podiumd.service.systemd import Systemd

ServiceManager = Systemd | Launchd
"""Both have ``files`` of an installation (the first is there if it is installed), ``texts`` of
those that ``install`` writes (the service first), a ``question`` that changes nothing and succeeds
where the service manager can be reached, and the actions of ``podium service``, with ``undo`` after
an ``install`` that failed. Turns go on, but ``stop`` and ``uninstall`` interrupt them, which
``uninstall`` does where the service manager is silent too. ``install`` stops a daemon that runs
already only when nothing but the start is left to do."""


def manager_for(platform: str = sys.platform) -> ServiceManager:
    """Return the service manager of a platform."""
    return Launchd() if platform == "darwin" else Systemd()
