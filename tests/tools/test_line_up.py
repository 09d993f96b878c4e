"""Taking turns: who wants the same thing at once gets it one after the other."""

from __future__ import annotations

import trio
from trio.testing import Sequencer, wait_all_tasks_blocked

from podiumd.tools.git.line_up import LineUp


async def test_who_wants_the_same_waits_in_order_and_who_gives_up_holds_up_nobody() -> None:
    line, came, going, sequence = LineUp(), [], trio.Event(), Sequencer()
    impatient = trio.CancelScope()

    async def take(number: int) -> None:
        async with sequence(number):
            pass
        with impatient if number == 2 else trio.CancelScope():
            async with line.turn("repository"):
                came.append(number)
                await going.wait()

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(take, number)
            await wait_all_tasks_blocked()
        assert came == [0]
        impatient.cancel()
        await wait_all_tasks_blocked()
        assert line.names == ("repository",)
        going.set()

    assert came == [0, 1, 3]
    assert not line.names


async def test_who_wants_something_else_does_not_wait() -> None:
    line = LineUp()

    async with line.turn("one"), line.turn("another"):
        assert line.names == ("one", "another")
