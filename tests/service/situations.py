"""Made-up surroundings, and the steps that a service manager decides on in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.kinds import standing_agents
from podiumd.config.paths import resolve
from podiumd.config.settings import GatewaySettings
from podiumd.service.runner import Runner, preview
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
        "agents": tuple(standing_agents().values()),
        "program": ("/opt/podium/bin/podiumd",),
    }
    return Situation(**(usual | more))


def previewed(action: Callable[[Runner], None], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The steps as ``--dry-run`` prints them, without their numbers."""
    preview(str).print_steps(action)
    _, *lines = capsys.readouterr().out.split("\n\n", 1)[0].splitlines()
    return [line[5:] for line in lines]
