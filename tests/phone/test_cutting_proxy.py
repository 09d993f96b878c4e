"""The proxy that is a bad network, and a phone behind it."""

from collections.abc import Callable, Iterator

import pytest
import trio
import trio.testing

from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.phone.cutting_proxy import Fate, Schedule, cutting_proxy
from tests.phone.driver import AtOnce, Phone
from tests.phone.fake_gateway import KEY, SESSION, fake_gateway


class These(Schedule):
    """Fates that a test chose."""

    def __init__(self, *fates: Fate) -> None:
        super().__init__(0, 0)
        self._fates: Iterator[Fate] = iter(fates)

    def next(self) -> Fate:
        return next(self._fates, Fate())


class Echo:
    """A server that sends back what it gets, and remembers in which pieces it came."""

    def __init__(self) -> None:
        self.heard = b""

    async def serve(self, stream: trio.SocketStream) -> None:
        try:
            async for data in stream:
                self.heard += data
                await stream.send_all(data)
        except trio.BrokenResourceError:
            pass


async def echoed(fate: Fate, data: bytes) -> tuple[bytes, bytes, bool]:
    """What came back through the proxy, what reached the server, and whether all ended in order."""
    echo = Echo()
    back = b""
    orderly = False
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, echo.serve, 0)
        port = listeners[0].socket.getsockname()[1]
        async with cutting_proxy("127.0.0.1", port, These(fate)) as proxy:
            stream = await trio.open_tcp_stream("127.0.0.1", int(proxy.url.rpartition(":")[2]))
            try:
                with trio.fail_after(HANG_SECONDS):
                    await stream.send_all(data)
                    await stream.send_eof()
                    async for piece in stream:
                        back += piece
                orderly = True
            except (trio.BrokenResourceError, OSError):
                pass
            await stream.aclose()
        nursery.cancel_scope.cancel()
    return back, echo.heard, orderly


DATA = bytes(range(256)) * 40


@pytest.mark.parametrize("pieces", ["whole", "bytes", "random"])
async def test_what_is_only_split_arrives_whole(pieces: str) -> None:
    back, heard, orderly = await echoed(Fate(pieces=pieces), DATA)  # type: ignore[arg-type]

    assert (back, heard, orderly) == (DATA, DATA, True)


@pytest.mark.parametrize("after", [0, 1, 5000])
async def test_a_cut_lets_through_no_byte_too_many(after: int) -> None:
    back, _, orderly = await echoed(Fate("cut", after), DATA)

    assert len(back) <= after
    assert back == DATA[: len(back)]
    assert not orderly


async def test_a_cut_on_the_way_up_reaches_the_server_in_part_at_most() -> None:
    _, heard, orderly = await echoed(Fate("cut", 100, downward=False), DATA)

    assert len(heard) <= 100
    assert not orderly


async def test_a_stall_loses_nothing() -> None:
    back, heard, orderly = await echoed(Fate("stall", 3000, seconds=0.01), DATA)

    assert (back, heard, orderly) == (DATA, DATA, True)


async def test_a_half_open_connection_ends_after_its_time() -> None:
    back, _, orderly = await echoed(Fate("half-open", 10, seconds=0.01), DATA)

    assert len(back) <= 10
    assert not orderly


def test_a_seed_decides_all() -> None:
    def fates(seed: int) -> list[Fate]:
        schedule = Schedule(seed, 200)
        return [schedule.next() for _ in range(201)]

    one = fates(1)
    assert one == fates(1) != fates(2)
    assert one[-1] == Fate()
    assert {fate.end for fate in one[:-1]} == {"cut", "stall", "half-open"}
    assert {fate.pieces for fate in one} == {"whole", "bytes", "random"}
    assert any(fate.after_bytes < 200 for fate in one)


def cut_and_back(opened: int) -> Callable[[Phone], bool]:
    return lambda phone: phone.connections > opened and phone.up


@pytest.mark.parametrize("variant", sampled(["ios", "ios-0.4"]))
@pytest.mark.parametrize("seed", sampled([1, 2, 3]))
async def test_a_phone_behind_a_bad_network_ends_up_with_the_log(variant: str, seed: int) -> None:
    """Forty fates while messages flow: nothing is lost, nothing comes twice."""
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        schedule = Schedule(seed, 40, most_bytes=20000, most_seconds=0.01)
        async with (
            cutting_proxy("127.0.0.1", gateway.port, schedule, seed) as proxy,
            Phone(proxy.url, KEY, variant, retries=AtOnce(), wait=False) as phone,
        ):
            phone.model.sync.open(SESSION)
            for number in range(600):
                gateway.add(SESSION, "assistant", f"answer {number} {'x' * (number % 97)}")
                await trio.testing.wait_all_tasks_blocked(0.0005)
            while proxy.done["connections"] <= 40:
                opened = phone.connections
                proxy.cut_all()
                await phone.until(cut_and_back(opened))
            await phone.until(lambda phone: len(phone.ledger[SESSION]) >= 601)
            await phone.barrier()

    log = [(one["seq"], one["text"]) for one in gateway.logs[SESSION]]
    shift = 1 if variant == "ios" else 0
    assert [(one.number + shift, one.text) for one in phone.ledger[SESSION]] == log
    assert phone.faults == []
    assert proxy.done["connections"] > 40
