"""Where the gateway listens, and what it says when it cannot."""

from __future__ import annotations

import errno
import os
import re
import socket
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.listener import AddressInUse, CannotListen, open_sockets
from podiumd.host.accept import accept


def close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


async def test_an_address_and_any_free_port() -> None:
    sockets = await open_sockets("127.0.0.1", 0)
    address, port = sockets[0].getsockname()
    close(sockets)

    assert (len(sockets), address) == (1, "127.0.0.1")
    assert port > 0


async def test_all_addresses_of_a_name_have_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(*_: Any, **__: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))
            for address in ("127.0.0.1", "127.0.0.2")
        ]

    monkeypatch.setattr(trio.socket, "getaddrinfo", found)
    sockets = await open_sockets("two.example", 0)
    names = [sock.getsockname() for sock in sockets]
    close(sockets)

    assert [address for address, _ in names] == ["127.0.0.1", "127.0.0.2"]
    assert len({port for _, port in names}) == 1


async def test_a_family_that_this_machine_lacks_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def found(*_: Any, **__: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.1", 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
        ]

    monkeypatch.setattr(trio.socket, "getaddrinfo", found)
    sockets = await open_sockets("half.example", 0)
    names = [sock.getsockname()[0] for sock in sockets]
    close(sockets)

    assert names == ["127.0.0.1"]


async def test_localhost_is_found_by_name() -> None:
    sockets = await open_sockets("localhost", 0)
    addresses = {sock.getsockname()[0] for sock in sockets}
    close(sockets)

    assert "127.0.0.1" in addresses
    assert addresses <= {"127.0.0.1", "::1"}


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_every_address_of_both_families() -> None:
    sockets = await open_sockets("::", 0)
    port = sockets[0].getsockname()[1]
    client = await trio.open_tcp_stream("127.0.0.1", port)
    await client.aclose()
    close(sockets)


async def test_a_port_in_use_is_named_with_what_to_do() -> None:
    taken = await open_sockets("127.0.0.1", 0)
    port = taken[0].getsockname()[1]
    with pytest.raises(AddressInUse) as refused:
        await open_sockets("127.0.0.1", port)
    close(taken)

    assert str(refused.value) == (
        f"Port {port} on 127.0.0.1 is in use by another program. Stop that program, or set"
        " [gateway] port to another one (0: any free port)."
    )
    assert (refused.value.host, refused.value.port) == ("127.0.0.1", port)


async def test_a_free_port_that_is_taken_on_the_next_address_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def refuse(host: str, port: int, places: object) -> list[socket.socket]:
        tried.append(port)
        raise AddressInUse(host, 40_000)

    monkeypatch.setattr("podiumd.gateway.listener._listen_on_all", refuse)
    with pytest.raises(AddressInUse):
        await open_sockets("127.0.0.1", 0)
    assert tried == [0] * 8

    with pytest.raises(AddressInUse):
        await open_sockets("127.0.0.1", 40_000)
    assert tried == [0] * 8 + [40_000]


async def test_a_foreign_address_is_named() -> None:
    with pytest.raises(
        CannotListen, match=re.escape("'203.0.113.1', which is no address of this machine")
    ):
        await open_sockets("203.0.113.1", 0)


async def test_a_name_nobody_knows_is_named() -> None:
    with pytest.raises(
        CannotListen, match=re.escape("'nowhere.invalid', which cannot be resolved")
    ):
        await open_sockets("nowhere.invalid", 0)


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EACCES, "Set \\[gateway\\] port to 1024 or more"), (errno.EIO, os.strerror(errno.EIO))],
)
async def test_other_reasons_are_told(
    number: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> socket.socket:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("podiumd.gateway.listener._listen", refuse)
    with pytest.raises(CannotListen, match=words):
        await open_sockets("127.0.0.1", 80)


class Queue:
    """A listening socket whose queue is a script: an error number, or a connection."""

    def __init__(self, *script: int | socket.socket) -> None:
        self.script = list(script)
        self.blocking = True

    def setblocking(self, blocking: bool) -> None:
        self.blocking = blocking

    def accept(self) -> tuple[socket.socket, str]:
        step = self.script.pop(0)
        if isinstance(step, int):
            raise OSError(step, os.strerror(step))
        return step, "somewhere"


@pytest.mark.parametrize(
    ("errors", "pauses"),
    [
        pytest.param(
            (errno.EMFILE, errno.ECONNABORTED, errno.EAGAIN, errno.ENFILE), 2, id="descriptors"
        ),
        pytest.param((errno.EPERM,), 1, id="firewall"),
        pytest.param((errno.EPROTO, errno.ENETDOWN, errno.EHOSTUNREACH), 3, id="network"),
    ],
)
async def test_accepting_goes_on_whatever_becomes_of_a_connection(
    errors: tuple[int, ...],
    pauses: int,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As accept(2) advises for Linux: after a pause, and until the socket itself is at fault."""

    async def readable(_: object) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(trio.lowlevel, "wait_readable", readable)
    ours, theirs = socket.socketpair()
    taken: list[socket.socket] = []
    queue = Queue(*errors, ours, errno.EBADF)
    started = trio.current_time()
    with pytest.raises(OSError, match="Bad file"):
        await accept(queue, taken.append, 0.1)  # type: ignore[arg-type]
    blocking = ours.getblocking()
    close([ours, theirs])

    assert taken == [ours] and not blocking and not queue.blocking
    assert trio.current_time() - started == pytest.approx(pauses / 10)
    assert caplog.text.count("Accept failed") == pauses
