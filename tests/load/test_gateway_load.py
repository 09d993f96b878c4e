"""Many phones at once, and some that are a nuisance to the others: nobody misses anything."""

from __future__ import annotations

from tests.load.crowd import room_for_sockets
from tests.load.ground import ImpatientDaemon, open_ground, percentiles, told_once
from tests.load.offenders import offenders
from tests.patience import HANG_SECONDS

MIB = 1024 * 1024

PHONES, MESSAGES = 200, 30
MOST_EACH = 96 * 1024
"""Bytes of the daemon's memory for a phone: what comes with the first ones is spread over 200."""

SILENT, LOUD, OTHERS = 50, 50, 100
OFFENCE_MESSAGES, LONG = 60, 15_000
"""What is written beside the offenders: more than the kernel keeps for one that never reads."""

MOST_OFFENCE = 32 * MIB
STALLED = "the client takes no byte of what waits for it"
UNREAD = "the client does not read what it is sent"


async def test_200_phones_are_told_everything_once_and_in_order() -> None:
    room_for_sockets(1024)
    async with open_ground() as ground:
        before = ground.memory
        crowd = ground.crowd(PHONES)
        connected = ground.memory
        delays = [delay for _ in range(MESSAGES) for delay in ground.tell(crowd)]
        after = ground.memory

        print(f"\n{PHONES} phones, {MESSAGES} messages: {percentiles(delays)};", end=" ")
        print(f"{(connected - before) / PHONES / 1024:.0f} KiB a phone")
        assert len(delays) == PHONES * MESSAGES
        assert told_once(crowd, ground.pen)
        assert after - before <= PHONES * MOST_EACH
        assert ground.dropped == []


async def test_phones_that_never_read_or_flood_are_dropped_and_the_others_miss_nothing() -> None:
    room_for_sockets(1024)
    async with open_ground(ImpatientDaemon) as ground:
        crowd = ground.crowd(OTHERS)
        where = (ground.port, ground.key, ground.pen.session_id)
        with offenders(*where, SILENT, LOUD) as nuisance:
            before = most = ground.memory
            calm = [delay for _ in range(MESSAGES) for delay in ground.tell(crowd)]
            assert nuisance.stdin is not None
            nuisance.stdin.write(b"begin\n")
            beset: list[float] = []
            for _ in range(OFFENCE_MESSAGES):
                beset += ground.tell(crowd, LONG)
                most = max(most, ground.memory)

            crowd.until(lambda: len(ground.dropped) == SILENT + LOUD, HANG_SECONDS)
            most = max(most, ground.memory)
            after = ground.tell(crowd)

        print(f"\ncalm {percentiles(calm)}; beset {percentiles(beset)};", end=" ")
        print(f"memory {(most - before) / MIB:+.1f} MiB")
        assert len(ground.dropped) == SILENT + LOUD
        assert set(ground.dropped) <= {STALLED, UNREAD}
        assert (len(calm), len(beset)) == (OTHERS * MESSAGES, OTHERS * OFFENCE_MESSAGES)
        assert len(after) == OTHERS
        assert told_once(crowd, ground.pen)
        assert most - before <= MOST_OFFENCE
