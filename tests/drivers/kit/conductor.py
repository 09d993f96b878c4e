"""A daemon of one turn, for the kit: ``python conductor.py SUBJECT REQUEST.json``.

At the first request for leave it steers, then allows; it does what it is called for.
``PODIUM_FAILPOINT`` says where it kills itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import trio

from podiumd.drivers.base import ApprovalRequested, Decision, Driver, TurnRequest
from podiumd.drivers.spool import SpoolWatch, watch_spools
from tests.drivers.kit.subjects import STEPPED, SUBJECTS
from tests.drivers.rig import STEER
from tests.drivers.serving import Podium


def driver(subject: str, watch: SpoolWatch) -> Driver:
    """Make the driver of a subject."""
    return {**SUBJECTS, STEPPED.name: STEPPED}[subject].make(watch, lambda: 80)


async def main(subject: str, request: TurnRequest, podium: Podium) -> None:
    """Run the turn to its end, or as far as the failpoint."""
    async with watch_spools() as watch, driver(subject, watch).turn(request) as turn:
        async for event in turn:
            await podium(turn, event)
            if isinstance(event, ApprovalRequested):
                await turn.steer("and look at b", STEER)
                await turn.answer(event.request_id, Decision("allow"))


FILE = Path(sys.argv[2])
trio.run(
    main,
    sys.argv[1],
    msgspec.json.decode(FILE.read_bytes(), type=TurnRequest),
    Podium(FILE.with_name("calls.jsonl")),
)
