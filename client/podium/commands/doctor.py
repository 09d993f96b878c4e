"""``podium doctor``: the daemon's own module examines everything, so it works with none running."""

from __future__ import annotations

import os
import subprocess

from podium.rpc.installed import DAEMON


def doctor(whole: bool, config: str | None, json: bool) -> int:
    """``podium doctor``: exit code 1 where something is broken."""
    flags = [*(["--all"] if whole else []), *(["--json"] if json else [])]
    return subprocess.run(_command(config, *flags), check=False).returncode


def unready(config: str | None) -> str:
    """Return why no agent can work yet, in one sentence; empty where one can."""
    asked = subprocess.run(
        _command(config, "--agents"), capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _command(config: str | None, *flags: str) -> list[str]:
    options = [] if config is None else ["--config", os.path.abspath(config)]
    return [*DAEMON, *options, "doctor", *flags]
