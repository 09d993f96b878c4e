"""Waiting for the scripted model's gates from trio, off the event loop."""

from __future__ import annotations

import trio

from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS


async def holding(server: ModelServer, gate: str, arrivals: int = 1) -> None:
    """Wait until requests stand at a gate, as ``ModelServer.wait_holding``."""
    await trio.to_thread.run_sync(server.wait_holding, gate, HANG_SECONDS, arrivals)
