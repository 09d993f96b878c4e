"""What is still waiting, held without letting time pass."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import trio
import trio.testing

Ts = TypeVarTuple("Ts")


async def waits_on(action: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
    """Hold that an action does not end by itself; begins it and gives it up."""
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(action, *args)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught, "it has ended"
