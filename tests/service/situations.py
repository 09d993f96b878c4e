"""Made-up surroundings for plans, which are pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podiumd.config.paths import resolve
from podiumd.config.settings import GatewaySettings
from podiumd.service.situation import Situation


def situation(
    home: Path, platform: str = "linux", environ: dict[str, str] | None = None, **more: Any
) -> Situation:
    """A person's machine, nothing of which need be there."""
    given = {"HOME": str(home), "PATH": "/usr/bin:/bin", **(environ or {})}
    usual: dict[str, Any] = {
        "platform": platform,
        "home": home,
        "uid": 501,
        "user": "person",
        "environ": given,
        "places": resolve(given, platform, home),
        "gateway": GatewaySettings(),
        "program": ("/opt/podium/bin/podiumd",),
    }
    return Situation(**(usual | more))
