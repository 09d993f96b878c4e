"""A daemon of one turn, for crash tests: ``python one_turn.py REQUEST.json``.

Steers and then allows at the first approval, does what it is called for. ``PODIUM_FAILPOINT``
says where it kills itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import trio

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers.base import ApprovalRequested, Decision, TurnRequest
from podiumd.drivers.spool import watch_spools
from tests.drivers.rig import STEER
from tests.drivers.serving import Podium


async def main(request: TurnRequest, podium: Podium) -> None:
    """Run the turn to its end, or as far as the failpoint."""
    async with watch_spools() as watch, ClaudeDriver(watch).turn(request) as turn:
        async for event in turn:
            await podium(turn, event)
            if isinstance(event, ApprovalRequested):
                await turn.steer("and look at b", STEER)
                await turn.answer(event.request_id, Decision("allow"))


FILE = Path(sys.argv[1])
trio.run(
    main,
    msgspec.json.decode(FILE.read_bytes(), type=TurnRequest),
    Podium(FILE.with_name("calls.jsonl")),
)
