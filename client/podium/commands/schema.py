"""``podium schema``: the daemon's own module knows the protocol, so it works with none running."""

from __future__ import annotations

import subprocess

from podium.rpc.installed import DAEMON


def schema(typescript: bool) -> int:
    """``podium schema``."""
    flags = ["--typescript"] if typescript else []
    return subprocess.run([*DAEMON, "schema", *flags], check=False).returncode
