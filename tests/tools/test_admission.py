"""A sandbox that never stands is given up, and what waited for it goes on."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.tools.confine.admission import admitted
from podiumd.tools.confine.mount_gate import UNSEEN, Gate
from podiumd.tools.git.process import _through
from podiumd.tools.process.in_thread import Program
from podiumd.tools.sandbox.sandbox import Enclosure
from podiumd.tools.sandbox.shell import _HeadAndTail, _Start


class Hanging:
    """Holds what a bubblewrap has inherited that neither mounts nor ends."""

    def __init__(self) -> None:
        self.gate = Gate(())
        self.kept = [os.dup(one) for one in self.gate.descriptors]

    def __enter__(self) -> Hanging:
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.close()
        for one in self.kept:
            os.close(one)

    @property
    def is_closed(self) -> bool:
        return self.gate.info < 0 and self.gate.waits.fileno() < 0


async def start(hanging: Hanging) -> None:
    class Sandbox:
        def gate(self) -> Gate:
            return hanging.gate

        def command(self, argv: Sequence[str], _: Gate) -> Sequence[str]:
            return argv

    with _Start(_HeadAndTail(None), ["true"], cast(Enclosure, Sandbox())) as one:
        await one.follow(cast(trio.Process, None))


async def git(hanging: Hanging) -> None:
    class Started:
        async def begun(self) -> None:
            await trio.lowlevel.checkpoint()

    await _through(hanging.gate, cast(Program, Started()))


@pytest.mark.parametrize("begun", [start, git])
@pytest.mark.parametrize("told", [False, True])
async def test_one_that_hangs_is_given_up_with_its_caller(
    begun: Callable[[Hanging], Awaitable[None]], told: bool
) -> None:
    with Hanging() as hanging:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(begun, hanging))
            await wait_all_tasks_blocked()
            if told:  # it is there, and hangs at what it mounts
                os.write(hanging.kept[0], b'{"child-pid": 1}')
                os.close(hanging.kept.pop(0))
                await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert hanging.is_closed


async def test_one_that_ends_needs_no_word_of_ours_and_one_that_says_nothing_may_not_begin() -> (
    None
):
    hanging = Hanging()
    with hanging:
        while hanging.kept:
            os.close(hanging.kept.pop())
        assert await admitted(hanging.gate) == "" and hanging.is_closed
    with Hanging() as silent:
        os.close(silent.kept.pop(0))
        empty(silent.kept[0])
        assert (await admitted(silent.gate)).startswith(UNSEEN[:20]) and silent.is_closed


@pytest.mark.parametrize(
    "told",
    [
        *(b"[1]", b"{}", b"null", b"1", b'"child-pid"', b"\xff", b"[" * 3000),
        *(b'{"child-pid": %b}' % pid for pid in (b"null", b"[]", b"true", b"-1", b"1e999", b"0")),
    ],
)
async def test_one_that_tells_of_no_process_may_not_begin(told: bytes) -> None:
    with Hanging() as hanging:
        os.write(hanging.kept[0], told)
        os.close(hanging.kept.pop(0))
        empty(hanging.kept[0])
        assert (await admitted(hanging.gate)).startswith(UNSEEN[:20]) and hanging.is_closed


def empty(descriptor: int) -> None:
    """Read all that waits in a socket."""
    with socket.socket(fileno=os.dup(descriptor)) as its, suppress(BlockingIOError):
        its.setblocking(False)
        while True:
            its.recv(65536)


def test_where_there_is_no_room_for_descriptors_none_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[socket.socket] = []
    real = socket.socketpair

    def pair() -> tuple[socket.socket, socket.socket]:
        made.extend(real())
        return made[0], made[1]

    def full() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket, "socketpair", pair)
    monkeypatch.setattr(os, "pipe", full)
    with pytest.raises(OSError, match="Too many"):
        Gate(())
    assert [one.fileno() for one in made] == [-1, -1]
