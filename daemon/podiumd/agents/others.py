"""Agents that Podium does not drive, and whose sessions it lists all the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from podiumd.agents.kind import Where

OTHERS: Final[Mapping[str, Callable[[Where], Path]]] = {}
"""Where each keeps its session files, by the name of their format. No agent of ours has such a
name: its sessions would be taken for theirs."""
