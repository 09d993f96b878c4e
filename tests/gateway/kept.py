"""Devices kept in memory, and a clock that a test sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import trio

from podiumd.gateway.access import devices as pairing
from podiumd.store.errors import StoreFull

NOON = "2026-01-01T12:00:00.000Z"


class Kept:
    """Settings in memory. ``full``: it takes nothing. ``gate``: writes wait for it."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.writes = 0
        self.full = False
        self.gate = trio.Event()
        self.gate.set()

    async def setting(self, key: str) -> bytes | None:
        await trio.lowlevel.checkpoint()
        return self.values.get(key)

    async def set_setting(self, key: str, value: bytes) -> None:
        await self.gate.wait()
        self.writes += 1
        if self.full:
            raise StoreFull(Path("facts.db"), "facts.db: no space left.")
        self.values[key] = value

    @property
    def stored(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.values[pairing.SETTING])
        return found


class Clock:
    """Minutes after noon."""

    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self) -> str:
        return f"2026-01-01T12:{self.minutes:02}:00.000Z"
