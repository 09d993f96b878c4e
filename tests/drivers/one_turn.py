"""A daemon of one turn, for crash tests: ``python one_turn.py REQUEST.json``.

Steers and then allows at the first approval. ``PODIUM_FAILPOINT`` says where it kills itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import trio

from podiumd.drivers.base import ApprovalRequested, Decision, TurnRequest
from podiumd.drivers.claude import ClaudeDriver
from podiumd.drivers.spool import watch_spools
from tests.drivers.rig import STEER


async def main(request: TurnRequest) -> None:
    """Run the turn to its end, or as far as the failpoint."""
    async with watch_spools() as watch, ClaudeDriver(watch).turn(request) as turn:
        async for event in turn:
            if isinstance(event, ApprovalRequested):
                await turn.steer("and look at b", STEER)
                await turn.answer(event.request_id, Decision("allow"))


trio.run(main, msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=TurnRequest))
