"""One at a time works on a session, whether it holds that alone or many together."""

from __future__ import annotations

import pytest
import trio
from trio.testing import Sequencer, wait_all_tasks_blocked

from podiumd.sessions.log.mutexes import SessionMutexes


async def test_one_session_is_held_by_one_at_a_time() -> None:
    holds, order = SessionMutexes(), Sequencer()
    said: list[str] = []

    async def first() -> None:
        async with holds.one("a"):
            async with order(0):
                assert holds.held("a") and not holds.held("b")
            async with order(2):
                said.append("first")

    async def second() -> None:
        async with order(1):
            pass
        async with holds.one("a"):
            said.append("second")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        nursery.start_soon(second)
    assert said == ["first", "second"]
    assert not holds.held("a")


async def test_many_are_held_together_but_those_that_are_held() -> None:
    holds = SessionMutexes()
    async with holds.one("a"):
        with holds.together(["a", "b", "c", "b"]) as taken:
            assert taken == {"b", "c"}
            assert all(map(holds.held, "abc")) and not holds.held("d")
            with holds.together(["c", "d"]) as others:
                assert others == {"d"}
            assert not holds.held("d") and holds.held("c")
        assert holds.held("a") and not holds.held("b") and not holds.held("c")


async def test_who_wants_one_of_many_waits_for_all_of_them() -> None:
    holds = SessionMutexes()
    got: list[str] = []

    async def take(session_id: str) -> None:
        async with holds.one(session_id):
            got.append(session_id)
            with holds.together([session_id]) as taken:
                assert taken == set()

    async with trio.open_nursery() as nursery:
        with holds.together(["a", "b"]):
            for session_id in ("a", "b", "a", "c"):
                nursery.start_soon(take, session_id)
            await wait_all_tasks_blocked()
            assert got == ["c"]
        # Nobody ran since: what is taken together again is waited for once more.
        with holds.together(["a"]) as taken:
            assert taken == {"a"}
            await wait_all_tasks_blocked()
            assert got == ["c", "b"]
    assert got == ["c", "b", "a", "a"]


async def test_a_session_is_held_in_the_step_that_found_it_free() -> None:
    """Else many could be taken together, with this one, between the two."""
    holds = SessionMutexes()
    held: list[bool] = []

    this = trio.lowlevel.current_task()

    class Steps(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            if task is this:
                held.append(holds.held("a"))

    steps = Steps()
    trio.lowlevel.add_instrument(steps)
    async with holds.one("a"):
        pass
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(steps)
    assert held == [True, False]


async def test_who_is_cancelled_or_fails_holds_nothing() -> None:
    holds = SessionMutexes()
    with trio.CancelScope() as scope, holds.together(["a"]):
        scope.cancel()
        async with holds.one("a"):
            raise AssertionError("it is held")
    assert scope.cancelled_caught and not holds.held("a")
    with pytest.raises(ValueError, match="bad"), holds.together(["a"]):
        raise ValueError("bad")
    assert not holds.held("a")
