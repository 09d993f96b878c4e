"""The guard: wrong keys make an address wait, shortly; memory and patience are bounded."""

from __future__ import annotations

import ipaddress

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from podiumd.gateway.access import auth_throttle as guarding
from podiumd.gateway.access.auth_throttle import AuthThrottle, counted_as
from podiumd.gateway.access.notices import KeyNotices, Notices

HERE, THERE = "192.0.2.7", "192.0.2.8"


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def guard(time: Time) -> AuthThrottle:
    return AuthThrottle(time)


def wrong(guard: AuthThrottle, count: int, address: str = HERE) -> None:
    for _ in range(count):
        guard.wrong(address)


def test_four_wrong_keys_are_a_slip(guard: AuthThrottle) -> None:
    wrong(guard, 4)

    assert guard.delay(HERE) == 0


def test_from_the_fifth_on_each_wrong_key_shuts_out_for_twice_as_long(guard: AuthThrottle) -> None:
    wrong(guard, 4)
    waits = []
    for _ in range(10):
        guard.wrong(HERE)
        waits.append(guard.delay(HERE))

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert guard.delay(THERE) == 0


def test_a_shut_out_ends_by_itself(guard: AuthThrottle, time: Time) -> None:
    wrong(guard, 7)

    time.now += 3.5
    assert guard.delay(HERE) == 0.5
    time.now += 0.5
    assert guard.delay(HERE) == 0


def test_a_right_key_makes_the_wrong_ones_forgotten(guard: AuthThrottle) -> None:
    wrong(guard, 5)
    guard.right(HERE)
    wrong(guard, 4)

    assert guard.delay(HERE) == 0


def test_wrong_keys_are_forgotten_after_ten_quiet_minutes(guard: AuthThrottle, time: Time) -> None:
    wrong(guard, 30)
    time.now += 599.9
    guard.wrong(HERE)
    assert guard.delay(HERE) == 60

    time.now += 600
    wrong(guard, 4)
    assert guard.delay(HERE) == 0


def test_many_addresses_that_guess_together_are_held_back_together(
    guard: AuthThrottle, time: Time
) -> None:
    for number in range(guarding.TOTAL_A_MINUTE):
        assert guard.delay(f"198.51.100.{number}") == 0
        guard.wrong(f"198.51.100.{number}")
        time.now += 0.5

    assert guard.delay(HERE) == 30
    time.now += 30
    assert guard.delay(HERE) == 0


def test_an_address_that_has_lately_been_right_is_not_kept_out_by_others(
    guard: AuthThrottle, time: Time
) -> None:
    guard.right(HERE)
    time.now += guarding.TRUSTED_SECONDS - 1
    for number in range(guarding.TOTAL_A_MINUTE):
        guard.wrong(f"198.51.100.{number}")

    assert guard.delay(HERE) == 0
    assert guard.delay(THERE) == 60
    time.now += 1
    assert guard.delay(HERE) == 59


def test_at_most_ten_thousand_addresses_are_remembered_the_quietest_goes_first(
    guard: AuthThrottle, time: Time
) -> None:
    wrong(guard, 10, "10.0.0.0")
    wrong(guard, 10, "10.0.0.1")
    guard.wrong("10.0.0.0")
    first = int(ipaddress.ip_address("10.1.0.0"))
    for number in range(guarding.MOST_ADDRESSES - 1):
        guard.wrong(str(ipaddress.ip_address(first + number)))

    assert len(guard) == guarding.MOST_ADDRESSES
    time.now += 59.5  # when what all did together is nearly over
    assert guard.delay("10.0.0.0") == 0.5
    time.now += 0.5
    wrong(guard, 4, "10.0.0.1")
    assert guard.delay("10.0.0.1") == 0


def test_the_addresses_that_were_right_are_bounded_too(guard: AuthThrottle) -> None:
    for number in range(guarding.MOST_TRUSTED + 1):
        guard.right(str(ipaddress.ip_address(0x0A000000 + number)))
    for number in range(guarding.TOTAL_A_MINUTE):
        guard.wrong(f"198.51.100.{number}")

    assert guard.delay("10.0.0.0") == 60
    assert guard.delay("10.0.0.1") == 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unknown", "unknown"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_an_address_counts_as_what_one_person_has(address: str, counted: str) -> None:
    assert counted_as(address) == counted


ADDRESSES = st.sampled_from(
    ["192.0.2.1", "192.0.2.2", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::2", "nonsense"]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["wrong", "right", "delay"]),
        ADDRESSES,
        st.floats(min_value=0, max_value=700),
    ),
    max_size=60,
)


@given(STEPS)
def test_a_wait_is_never_negative_and_never_over_a_minute(
    steps: list[tuple[str, str, float]],
) -> None:
    time = Time()
    guard = AuthThrottle(time)
    for action, address, later in steps:
        time.now += later
        if action == "wrong":
            guard.wrong(address)
        elif action == "right":
            guard.right(address)
        assert 0 <= guard.delay(address) <= 60


@given(st.lists(st.floats(min_value=0, max_value=20), min_size=20, max_size=120))
def test_whatever_the_rhythm_an_address_guesses_at_most_ten_times_in_any_minute(
    pauses: list[float],
) -> None:
    time = Time()
    guard = AuthThrottle(time)
    guesses: list[float] = []
    for pause in pauses:
        time.now += pause
        if guard.delay(HERE) == 0:
            guard.wrong(HERE)
            guesses.append(time.now)

    for start in guesses:
        assert sum(start <= one < start + 60 for one in guesses) <= 10


@given(st.lists(st.ip_addresses(), max_size=200))
def test_no_address_has_to_wait_for_anothers_few_wrong_keys(
    others: list[ipaddress.IPv4Address | ipaddress.IPv6Address],
) -> None:
    guard = AuthThrottle(Time())
    for address in others[: guarding.TOTAL_A_MINUTE - 1]:
        guard.wrong(str(address))

    strangers = {counted_as(str(one)) for one in others}
    assert HERE in strangers or guard.delay(HERE) == 0


def test_an_address_is_known_for_a_day_after_its_right_key() -> None:
    time = Time()
    guard = AuthThrottle(time)
    assert not guard.knows(HERE)
    guard.right(HERE)
    assert guard.knows(HERE)
    time.now += guarding.TRUSTED_SECONDS
    assert not guard.knows(HERE)


def test_it_tells_of_each_key_that_was_wrong_or_not_looked_at() -> None:
    told: list[tuple[str, str]] = []
    guard = AuthThrottle(Time(), lambda event, address: told.append((event, address)))
    guard.wrong(HERE)
    guard.put_off(HERE)
    assert told == [("Wrong key", HERE), ("Key not looked at", HERE)]


# -- Strangers cannot fill the log --


async def test_so_many_lines_a_minute_and_a_count_of_the_rest(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = Notices(a_minute=3)
    for number in range(10):
        notices.tell("Host refused", host=f"{number}.evil.com")
    await trio.sleep(60)
    notices.tell("Host refused", host="later.evil.com")

    told = [(record.args, record.podium) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [
        (("Host refused",), {"host": "0.evil.com"}),
        (("Host refused",), {"host": "1.evil.com"}),
        (("Host refused",), {"host": "2.evil.com"}),
        (("Warnings left out",), {"count": 7}),
        (("Host refused",), {"host": "later.evil.com"}),
    ]


async def test_keys_of_an_address_are_told_once_a_second_with_how_many_were_left_out(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = KeyNotices()
    for _ in range(4):
        notices.tell("Wrong key", "10.0.0.1")
    notices.tell("Wrong key", "10.0.0.2")
    await trio.sleep(1)
    notices.tell("Key not looked at", "10.0.0.1")

    told = [(record.args, record.podium) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [
        (("Wrong key",), {"peer": "10.0.0.1"}),
        (("Wrong key",), {"peer": "10.0.0.2"}),
        (("Key not looked at",), {"peer": "10.0.0.1", "left_out": 3}),
    ]


async def test_keys_of_many_addresses_fill_neither_the_log_nor_memory(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    notices = KeyNotices()
    for number in range(2000):
        notices.tell("Wrong key", f"10.0.{number // 250}.{number % 250}")

    assert len(caplog.records) == 60
    assert len(notices._told) == 1000
