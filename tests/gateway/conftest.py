"""What several tests of the gateway begin with."""

from __future__ import annotations

import pytest

from podiumd.gateway.access.devices import Devices
from tests.gateway.kept import Clock, Kept
from tests.phone.decoders.recorder import frames_that_every_app_reads

__all__ = ["frames_that_every_app_reads"]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def devices(kept: Kept, clock: Clock) -> Devices:
    devices = Devices(kept, clock)
    await devices.load()
    return devices
