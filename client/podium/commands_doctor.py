"""``podium doctor``: the daemon's own module examines everything, so it works with none running."""

from __future__ import annotations

import os
import subprocess

from podium.commands_daemon import DAEMON


def doctor(config: str | None, json: bool) -> int:
    """``podium doctor``: exit code 1 where something is broken."""
    options = [] if config is None else ["--config", os.path.abspath(config)]
    command = [*DAEMON, *options, "doctor", *(["--json"] if json else [])]
    return subprocess.run(command, check=False).returncode
