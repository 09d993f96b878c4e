"""The unit files and the property list that Podium ships."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template(folder: str, name: str) -> str:
    """Read a shipped file; ``folder`` is ``systemd`` or ``launchd``."""
    return files("podiumd").joinpath("_data", folder, name).read_text(encoding="utf-8")
