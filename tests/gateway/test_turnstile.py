"""However many write at once, one is let in for each pass of the loop, and nobody is forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

from podiumd.gateway.turnstile import Turnstile


class Passes(trio.abc.Instrument):
    """Counts the passes of the loop; pytest-trio hands a fixture of this kind to trio."""

    def __init__(self) -> None:
        self.count = 0

    def before_io_wait(self, timeout: float) -> None:
        self.count += 1


@pytest.fixture
def passes() -> Passes:
    return Passes()


@pytest.fixture
async def turnstile(nursery: trio.Nursery) -> AsyncIterator[Turnstile]:
    turnstile = Turnstile()
    nursery.start_soon(turnstile.run)
    yield turnstile
    nursery.cancel_scope.cancel()


async def test_who_comes_alone_does_not_wait(turnstile: Turnstile, passes: Passes) -> None:
    before = passes.count
    await turnstile.enter()

    assert passes.count == before


async def test_of_many_one_is_let_in_each_pass_in_the_order_of_their_coming(
    turnstile: Turnstile, passes: Passes
) -> None:
    came: list[tuple[int, int]] = []

    async def come(number: int) -> None:
        await turnstile.enter()
        came.append((passes.count, number))

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(come, number)

    assert len({at for at, _ in came}) == 20, "no two in one pass"
    assert sorted(number for _, number in came) == list(range(20))


async def test_who_goes_away_in_the_line_holds_nobody_up(turnstile: Turnstile) -> None:
    came: list[str] = []

    async def come(name: str, scope: trio.CancelScope) -> None:
        with scope:
            await turnstile.enter()
            came.append(name)

    names = [f"phone {number}" for number in range(5)]
    scopes = {name: trio.CancelScope() for name in names}
    async with trio.open_nursery() as nursery:
        await turnstile.enter()  # the others stand in line
        for name, scope in scopes.items():
            nursery.start_soon(come, name, scope)
        for name in names[:3]:
            scopes[name].cancel()

    assert sorted(came) == names[3:]
