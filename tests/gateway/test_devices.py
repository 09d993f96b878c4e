"""Paired devices: stored before they are told, found by their key alone, cut off at once."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.access import devices as pairing
from podiumd.gateway.access import keys
from podiumd.gateway.access.devices import DamagedDevices, Devices
from podiumd.runtime.errors import InvalidParameter, NotFound, Refused
from podiumd.store.errors import StoreFull
from podiumd.store.facts import open_store
from tests.gateway.kept import NOON, Clock, Kept
from tests.plain import plain


async def reloaded(kept: Kept) -> Devices:
    devices = Devices(kept, Clock())
    await devices.load()
    return devices


async def test_a_paired_device_is_known_by_its_key_after_a_restart_too(
    devices: Devices, kept: Kept
) -> None:
    device, key = await devices.pair("Ada's phone")

    assert devices.check(key) == device
    assert (await reloaded(kept)).check(key) == device


async def test_neither_what_is_stored_nor_what_is_listed_holds_the_key(
    devices: Devices, kept: Kept
) -> None:
    _, key = await devices.pair(None)
    secret = key.removeprefix("untethered-")

    assert secret.encode() not in b"".join(kept.values.values())
    assert kept.stored[0]["key_sha256"] == keys.digest(key)
    assert secret not in str(devices.list())
    assert keys.digest(key) not in str(devices.list())


async def test_the_real_store_keeps_devices(tmp_path: Path) -> None:
    async with open_store(tmp_path, on_facts=lambda facts: None) as store:
        devices = Devices(store, Clock())
        await devices.load()
        device, key = await devices.pair("phone")
    async with open_store(tmp_path, on_facts=lambda facts: None) as store:
        again = Devices(store, Clock())
        await again.load()
        assert again.check(key) == device
    assert key.encode() not in (tmp_path / "facts.db").read_bytes()


@pytest.mark.parametrize(
    "key",
    ["", "untethered-", None, True, 7, [], {}, b"bytes", "untethered-" + "0" * 32, "\ud800"],
)
async def test_what_is_no_key_of_a_device_finds_none(devices: Devices, key: object) -> None:
    await devices.pair(None)

    assert devices.check(key) is None


async def test_a_digest_is_no_key(devices: Devices, kept: Kept) -> None:
    """What a thief of the store has does not open the door."""
    await devices.pair(None)

    assert devices.check(kept.stored[0]["key_sha256"]) is None


@pytest.mark.parametrize("which", [0, 2, None])
async def test_every_check_compares_with_every_device(
    devices: Devices, which: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [(await devices.pair(None))[1] for _ in range(3)]
    same, compared = keys.same, []

    def counting(one: str, other: str) -> bool:
        compared.append(one)
        return same(one, other)

    monkeypatch.setattr(keys, "same", counting)

    devices.check(7 if which is None else made[which])

    assert compared == [keys.digest(key) for key in made]


async def test_devices_without_a_name_are_numbered_and_gaps_are_filled(devices: Devices) -> None:
    names = [(await devices.pair(None))[0].name for _ in range(3)]
    await devices.revoke("phone-2")

    assert names == ["phone", "phone-2", "phone-3"]
    assert (await devices.pair(None))[0].name == "phone-2"


@pytest.mark.parametrize("name", ["Phone", "PHONE", "\uff50\uff48\uff4f\uff4e\uff45"])
async def test_a_default_name_is_not_one_that_could_be_mistaken_for_another(
    devices: Devices, name: str
) -> None:
    await devices.pair(name)

    assert (await devices.pair(None))[0].name == "phone-2"


@pytest.mark.parametrize("name", ["a", "a" * 64, "Ada's phone", "電話 ☎", "revoke", "-x"])
async def test_a_name_is_kept_as_given(devices: Devices, name: str) -> None:
    assert (await devices.pair(name))[0].name == name


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a" * 65, "a\nb", "a\0", "\x1b[31m", "a\u202eb", "\ud800"]
)
async def test_an_impossible_name_pairs_nothing_and_says_what_is_expected(
    devices: Devices, kept: Kept, name: str
) -> None:
    with pytest.raises(InvalidParameter, match="expected 1 to 64 printable") as refusal:
        await devices.pair(name)

    assert plain(refusal.value.data) == {"parameter": "name"}
    assert kept.writes == 0


@pytest.mark.parametrize("name", ["Zoë", "ZOË", "Zoe\u0308"])
async def test_a_name_that_is_taken_is_refused(devices: Devices, name: str) -> None:
    await devices.pair("Zoë")

    with pytest.raises(InvalidParameter, match="is paired already: take another name"):
        await devices.pair(name)


async def test_two_that_want_one_name_at_once_do_not_both_get_it(
    devices: Devices, kept: Kept
) -> None:
    kept.gate = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.pair, None)
        nursery.start_soon(devices.pair, None)
        await trio.testing.wait_all_tasks_blocked()
        kept.gate.set()

    assert [row.name for row in devices.list()] == ["phone", "phone-2"]
    assert [row["name"] for row in kept.stored] == ["phone", "phone-2"]


async def test_a_device_that_cannot_be_stored_is_not_paired(devices: Devices, kept: Kept) -> None:
    kept.full = True

    with pytest.raises(StoreFull):
        await devices.pair(None)

    assert devices.list() == []
    kept.full = False
    assert (await devices.pair(None))[0].name == "phone"


async def test_a_revoked_key_is_wrong_and_its_connections_are_told(
    devices: Devices, kept: Kept
) -> None:
    told: list[str] = []
    devices.on_revoke(told.append)
    _, key = await devices.pair(None)
    _, other = await devices.pair(None)

    assert (await devices.revoke("phone")).name == "phone"

    assert told == ["phone"]
    assert devices.check(key) is None
    assert devices.check(other) is not None
    assert [row["name"] for row in kept.stored] == ["phone-2"]


async def test_revoking_takes_hold_before_the_disk_has_it(devices: Devices, kept: Kept) -> None:
    told: list[str] = []
    devices.on_revoke(told.append)
    _, key = await devices.pair(None)
    kept.gate = trio.Event()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.revoke, "phone")
        await trio.testing.wait_all_tasks_blocked()

        assert told == ["phone"]
        assert devices.check(key) is None
        kept.gate.set()


@pytest.mark.parametrize("name", ["phone-2", "", "PHONE"])
async def test_what_is_not_paired_cannot_be_revoked(devices: Devices, name: str) -> None:
    await devices.pair(None)

    with pytest.raises(NotFound) as refusal:
        await devices.revoke(name)

    assert plain(refusal.value.data) == {"kind": "device", "id": name}


async def test_how_far_a_device_was_told_is_stored_and_never_goes_back(
    devices: Devices, kept: Kept
) -> None:
    _, key = await devices.pair(None)
    await devices.told("phone", 7)
    await devices.told("phone", 5)
    await devices.told("gone", 9)

    found = (await reloaded(kept)).check(key)
    assert found is not None and found.told_pos == 7
    assert kept.writes == 2


async def test_a_device_need_not_be_told_of_what_was_before_it_was_paired(
    devices: Devices, kept: Kept
) -> None:
    devices.begin_at(lambda: 7)
    _, key = await devices.pair(None)

    found = (await reloaded(kept)).check(key)
    assert found is not None and found.told_pos == 7


@pytest.mark.parametrize(
    "value", [b"", b"{}", b"[1]", b'[{"name": "phone"}]', b"\xff", b'[{"name": 1}]']
)
async def test_a_damaged_list_is_refused_with_its_place(value: bytes) -> None:
    kept = Kept()
    kept.values[pairing.SETTING] = value

    with pytest.raises(DamagedDevices, match=r"'gateway\.devices' of facts\.db"):
        await Devices(kept, Clock()).load()


async def test_a_list_by_a_newer_release_is_read_as_far_as_it_is_known(kept: Kept) -> None:
    digest = keys.digest("untethered-" + "0" * 32)
    row = {"name": "phone", "key_sha256": digest, "paired_at": NOON, "colour": "red"}
    kept.values[pairing.SETTING] = json.dumps([row]).encode()

    found = (await reloaded(kept)).check("untethered-" + "0" * 32)

    assert found is not None and (found.name, found.last_seen, found.told_pos) == ("phone", None, 0)


# -- who is connected, when devices were seen, and that it is stored without haste


async def test_the_list_tells_who_is_connected_and_when_each_was_seen(
    devices: Devices, clock: Clock
) -> None:
    await devices.pair(None)
    clock.minutes = 1
    with devices.connected("phone"), devices.connected("phone"):
        clock.minutes = 2
        seen = devices.list()
    clock.minutes = 3

    assert plain(seen) == [
        {
            "device": "phone",
            "name": "phone",
            "paired_at": NOON,
            "last_seen": "2026-01-01T12:01:00.000Z",
            "connected": True,
            "kind": "phone",
            "scope": "all",
        }
    ]
    (row,) = devices.list()
    assert not row.connected
    assert row.last_seen == "2026-01-01T12:02:00.000Z"


async def test_a_device_stays_connected_until_its_last_connection_ends(devices: Devices) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        with devices.connected("phone"):
            pass
        assert devices.list()[0].connected


async def test_a_device_revoked_after_its_check_does_not_connect(devices: Devices) -> None:
    await devices.pair(None)
    await devices.revoke("phone")

    with pytest.raises(NotFound), devices.connected("phone"):
        pass


async def test_the_end_of_a_revoked_connection_says_nothing_of_a_namesake(
    devices: Devices, clock: Clock
) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        await devices.revoke("phone")
        await devices.pair(None)
        clock.minutes = 5

    assert devices.list()[0].last_seen is None


async def test_when_devices_were_seen_is_stored_once_a_minute_and_at_the_end(
    devices: Devices, kept: Kept, clock: Clock, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        for minute in range(1, 4):
            clock.minutes = minute
            with devices.connected("phone"):
                await trio.sleep(1)
        assert kept.writes == 2
        await trio.sleep(pairing.SEEN_SECONDS)
        assert kept.writes == 3
        assert kept.stored[0]["last_seen"] == "2026-01-01T12:03:00.000Z"
        clock.minutes = 9
        with devices.connected("phone"):
            nursery.cancel_scope.cancel()

    assert kept.writes == 4
    assert kept.stored[0]["last_seen"] == "2026-01-01T12:09:00.000Z"


async def test_nothing_seen_is_nothing_stored(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        await trio.sleep(10 * pairing.SEEN_SECONDS)
        nursery.cancel_scope.cancel()

    assert kept.writes == 1


async def test_a_disk_that_hangs_does_not_hold_up_the_end(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    await devices.pair(None)
    with devices.connected("phone"):
        kept.gate = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(devices.keep)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            nursery.cancel_scope.cancel()

    assert trio.current_time() - began <= pairing.LAST_WRITE_SECONDS


async def test_what_the_disk_does_not_take_is_revoked_all_the_same_and_stored_later(
    devices: Devices, kept: Kept, autojump_clock: trio.testing.MockClock
) -> None:
    _, key = await devices.pair(None)
    kept.full = True

    with pytest.raises(StoreFull):
        await devices.revoke("phone")

    assert devices.check(key) is None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(devices.keep)
        await trio.sleep(1)
        assert kept.writes == 3  # paired, revoked, and tried again
        kept.full = False
        await trio.sleep(pairing.SEEN_SECONDS)
        assert kept.stored == []
        nursery.cancel_scope.cancel()


# -- Keys: a form that existing apps accept, never kept, compared in constant time --


KEY = "untethered-0123456789abcdef0123456789abcdef"


def test_a_new_key_has_the_form_that_existing_apps_accept_and_is_new_each_time() -> None:
    made = {keys.new_key() for _ in range(100)}

    assert len(made) == 100
    assert all(re.fullmatch(r"untethered-[0-9a-f]{32}", key) for key in made)
    assert all(keys.well_formed(key) for key in made)


@pytest.mark.parametrize(
    "key",
    [
        "",
        KEY[:-1],
        KEY + "0",
        KEY + "\n",
        " " + KEY,
        KEY.upper(),
        KEY.replace("-", "_"),
        KEY.replace("0", "g"),
        KEY.replace("0", "\u0660"),
        "untethered-" + "\0" * 32,
    ],
)
def test_what_only_looks_like_a_key_is_none(key: str) -> None:
    assert not keys.well_formed(key)


def test_the_digest_is_sha256_in_hex() -> None:
    assert keys.digest(KEY) == hashlib.sha256(KEY.encode()).hexdigest()


@given(st.text(st.characters()))
def test_any_text_a_client_can_send_has_a_digest(text: str) -> None:
    assert len(keys.digest(text)) == 64


def test_digests_are_compared_by_a_function_of_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)

    assert keys.same("aa", "aa")
    assert not keys.same("aa", "ab")
    assert compared == [(b"aa", b"aa"), (b"aa", b"ab")]


async def test_only_a_page_that_is_paired_is_given_another_scope(devices: Devices) -> None:
    await devices.pair(None)
    await devices.pair_page(None, "work")
    assert (await devices.rescope("browser", "look")).scope == "look"
    with pytest.raises(NotFound, match="There is no paired device 'nobody'"):
        await devices.rescope("nobody", "look")
    with pytest.raises(Refused, match="knows no scopes"):
        await devices.rescope("phone", "look")
