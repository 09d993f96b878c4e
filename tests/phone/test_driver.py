"""The simulated phone under trio, against a small gateway that is true to the protocol."""

from functools import partial

import pytest
import trio
import trio.testing

from tests.phone.driver import AtOnce, Phone, Refused
from tests.phone.fake_gateway import KEY, OTHER, SESSION, fake_gateway
from tests.phone_app.retry import Retry
from tests.phone_app.variants import ANDROID, IOS, VARIANTS

NUMBERED = ["ios", "ios-0.4"]


@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_phone_opens_a_session_and_follows_it(variant: str) -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        gateway.add(SESSION, "assistant", "hi")
        async with Phone(gateway.url, KEY, variant) as phone:
            await phone.open(SESSION)
            gateway.add(SESSION, "assistant", "anything else?")
            if phone.model.variant.legacy:
                await phone.reload()
            await phone.until(lambda phone: len(phone.texts(SESSION)) == 3)

    assert phone.texts(SESSION) == ["hello", "hi", "anything else?"]
    assert phone.model.listed == [SESSION]
    assert phone.faults == []


@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_phone_that_comes_back_asks_for_what_it_missed(variant: str) -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        async with Phone(gateway.url, KEY, variant) as phone:
            await phone.open(SESSION)
            await phone.background()
            for number in range(45):
                gateway.add(SESSION, "assistant", f"answer {number}")
            await phone.foreground()
            if not phone.model.variant.legacy:
                await phone.until(lambda phone: len(phone.ledger[SESSION]) == 46)

    assert phone.connections == 2
    assert phone.texts(SESSION)[0] == "hello"
    assert phone.faults == []


async def test_a_phone_that_is_put_away_in_the_midst_of_the_opening_stays_away() -> None:
    calls = 0

    async def silent(stream: trio.SocketStream) -> None:
        nonlocal calls
        calls += 1
        async for _ in stream:
            pass

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, silent, 0, host="127.0.0.1"))
        url = f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        async with Phone(url, KEY, retries=AtOnce(), wait=False) as phone:
            await phone.background()  # it dials
            phone.carrier.come_back()
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert phone.carrier.is_open and calls, "it waits for an answer"
            await phone.background()
            connections = phone.connections
            await trio.testing.wait_all_tasks_blocked()
            assert phone.connections == connections and not phone.carrier.is_open
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("variant", NUMBERED)
async def test_only_the_newest_fifty_of_many_are_kept(variant: str) -> None:
    async with fake_gateway() as gateway:
        for number in range(80):
            gateway.add(SESSION, "assistant", f"answer {number}")
        async with Phone(gateway.url, KEY, variant) as phone:
            await phone.open(SESSION)
            for number in range(80, 95):
                gateway.add(SESSION, "assistant", f"answer {number}")
            await phone.until(lambda phone: phone.texts(SESSION)[-1:] == ["answer 94"])

    assert [one.text for one in phone.ledger[SESSION]] == [f"answer {n}" for n in range(30, 95)]
    assert len(phone.texts(SESSION)) <= 60
    assert phone.faults == []


@pytest.mark.parametrize("variant", NUMBERED)
async def test_a_prompt_is_settled_when_its_words_come_back(variant: str) -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        async with Phone(gateway.url, KEY, variant) as phone:
            await phone.open(SESSION)
            await phone.say("and now?")
            assert phone.unsent(SESSION) == ["and now?"]
            assert gateway.heard[-2] == {
                "type": "prompt",
                "text": "and now?",
                "resume_session_id": SESSION,
            }
            gateway.add(SESSION, "user", "and now?")
            await phone.until(lambda phone: "and now?" in phone.texts(SESSION))

    assert phone.unsent(SESSION) == []


async def test_a_wrong_key_is_refused() -> None:
    async with fake_gateway() as gateway:
        with pytest.raises(Refused, match="authentication failed"):
            async with Phone(gateway.url, "untethered-" + "f" * 32):
                pass


async def test_a_server_that_is_no_gateway_is_named() -> None:
    async with fake_gateway() as gateway:
        url = gateway.url

    with pytest.raises(Refused, match="no connection"):
        async with Phone(url, KEY):
            pass


async def test_what_does_not_happen_in_time_is_told_with_the_state_of_the_phone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fake_gateway() as gateway, Phone(gateway.url, KEY) as phone:
        monkeypatch.setattr("tests.phone.driver.HANG_SECONDS", 0.0)
        with pytest.raises(AssertionError, match=r"ios phone on None: connected True"):
            await phone.until(lambda _: False)


async def test_a_lost_connection_is_made_again_and_the_session_goes_on() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        async with Phone(gateway.url, KEY, retries=AtOnce()) as phone:
            await phone.open(SESSION)
            phone.cut()
            await phone.until(lambda phone: phone.connections == 2 and phone.up)
            await phone.barrier()
            gateway.add(SESSION, "assistant", "still here?")
            await phone.until(lambda phone: len(phone.texts(SESSION)) == 2)

    assert phone.faults == []


async def test_without_retries_a_lost_connection_stays_lost_until_the_person_comes_back() -> None:
    async with fake_gateway() as gateway, Phone(gateway.url, KEY) as phone:
        phone.cut()
        await phone.until(lambda phone: not phone.up)
        await phone.foreground()

    assert phone.connections == 2


async def test_the_barrier_of_the_apps_lets_no_old_push_through() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        async with Phone(gateway.url, KEY) as phone:
            await phone.open(SESSION)
            await phone.reload()
            sent = [frame["type"] for frame in gateway.heard]

    assert sent[-4:] == ["subscribe", "unsubscribe", "ping", "subscribe"]
    assert phone.faults == []


async def test_an_answer_is_waited_for_by_its_type() -> None:
    async with fake_gateway() as gateway:
        recipe = {"id": "fix-it", "label": "Fix it", "description": "Mends things."}
        gateway.answers["get_available_recipes"] = lambda _: [
            {"type": "available_recipes", "recipes": [recipe]}
        ]
        async with Phone(gateway.url, KEY) as phone:
            answer = await phone.request({"type": "get_available_recipes"}, "available_recipes")

    assert answer["recipes"] == [recipe] == phone.model.board.recipes


async def test_a_phone_that_stops_reading_takes_it_all_when_it_reads_again() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        async with Phone(gateway.url, KEY) as phone:
            await phone.open(SESSION)
            phone.stop_reading()
            for number in range(200):
                gateway.add(SESSION, "assistant", f"answer {number}")
            phone.go_on_reading()
            await phone.until(lambda phone: len(phone.ledger[SESSION]) == 201)

    assert phone.faults == []


@pytest.mark.parametrize(("variant", "socket_pings"), [("ios", False), ("android", True)])
async def test_it_pings_of_itself(variant: str, socket_pings: bool) -> None:
    async with (
        fake_gateway() as gateway,
        Phone(gateway.url, KEY, variant, keepalive_seconds=0.01) as phone,
    ):
        await phone.until(lambda phone: phone.model.counts["pong"] >= 4)

    assert (gateway.socket_pings > 0) is socket_pings


async def test_leaving_a_session_ends_its_pushes() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        gateway.add(OTHER, "user", "there")
        async with Phone(gateway.url, KEY) as phone:
            await phone.open(SESSION)
            await phone.open(OTHER)
            gateway.add(SESSION, "assistant", "unseen")
            await phone.barrier()

    assert phone.texts(SESSION) == ["hello"]
    assert phone.faults == []


async def test_a_breach_of_the_websocket_standard_is_a_fault() -> None:
    async with fake_gateway() as gateway, Phone(gateway.url, KEY) as phone:
        gateway.visitors[0].stray_bytes(b"\x80\x00")
        await phone.until(lambda phone: not phone.up)

    assert [fault.reason for fault in phone.faults] == ["unexpected continuation frame"]


async def test_frames_of_ones_own_go_as_text_and_as_bytes() -> None:
    async with fake_gateway() as gateway, Phone(gateway.url, KEY) as phone:
        phone.send_raw('{"type": "odd"}')
        phone.send_raw(b"\x00\x00\x00\x00voice")
        await phone.barrier()
        with phone.listening() as heard:
            await phone.barrier()

    assert {"type": "odd"} in gateway.heard
    assert [one["type"] for one in heard] == ["pong"]


# -- when the apps try again after a lost connection


def delays(retry: Retry) -> list[float]:
    return list(iter(retry.next, None))


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 0.75), (0.5, 1.0), (1.0, 1.25)])
def test_the_swift_app_doubles_up_to_thirty_seconds_give_or_take_a_quarter(
    chance: float, factor: float
) -> None:
    waited = delays(Retry(IOS, lambda: chance))

    assert len(waited) == 20
    assert waited[:7] == [max(1.0, base * factor) for base in (1, 2, 4, 8, 16, 30, 30)]


def test_the_kotlin_app_tries_for_seventeen_minutes() -> None:
    waited = delays(Retry(ANDROID, lambda: 0.0))

    assert waited[:6] == [1, 2, 4, 8, 16, 30]
    assert 16 * 60 < sum(waited) < 18 * 60


def test_a_connection_or_a_person_begins_the_count_anew() -> None:
    retry = Retry(IOS, lambda: 0.5)
    delays(retry)
    retry.reset()

    assert retry.next() == 1.0
