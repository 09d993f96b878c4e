"""How many are let in, how many of them are strangers, and who makes room for whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.access.admission import Admission, Place
from podiumd.gateway.limits import GatewayLimits

LIMITS = GatewayLimits(
    connections=20,
    strangers=10,
    known_strangers=3,
    strangers_per_address=4,
    strange_phones_per_address=2,
    strange_phones_on_loopback=6,
    visitors=6,
    visitors_per_address=3,
)


class Porch:
    """An admission, with the names of those that had to make room."""

    def __init__(self) -> None:
        self.admission = Admission(LIMITS)
        self.dropped: list[str] = []

    def come(self, name: str, address: str = "127.0.0.1", known: bool = False) -> Place:
        place = self.admission.admit(address, lambda: self.dropped.append(name), known)
        assert place is not None
        return place

    def crowd(self, address: str, count: int, known: bool = False) -> list[Place]:
        return [self.come(f"{address}#{n}", address, known) for n in range(count)]


@pytest.fixture
def porch() -> Porch:
    return Porch()


def test_beyond_the_limit_the_oldest_stranger_makes_room_for_the_newest(porch: Porch) -> None:
    places = porch.crowd("127.0.0.1", 10)
    assert porch.dropped == []

    porch.come("owner")
    assert porch.dropped == ["127.0.0.1#0"]
    assert len(porch.admission.strangers) == 10
    assert not any(place.trusted for place in places)


def test_who_has_sent_a_request_stays_longer_than_who_is_silent(porch: Porch) -> None:
    first, *_ = porch.crowd("127.0.0.1", 10)
    first.spoke = True

    porch.come("owner")
    assert porch.dropped == ["127.0.0.1#1"]


def test_one_that_has_left_makes_room_and_nobody_else_has_to(porch: Porch) -> None:
    porch.crowd("127.0.0.1", 10)[4].leave()

    porch.come("owner")
    assert porch.dropped == []


def test_one_address_uses_up_its_own_room_only(porch: Porch) -> None:
    porch.crowd("10.0.0.1", 3)
    porch.crowd("10.0.0.2", 4)

    porch.come("again", "10.0.0.2")
    assert porch.dropped == ["10.0.0.2#0"]


def test_the_address_with_most_strangers_makes_room(porch: Porch) -> None:
    porch.come("owner", "10.0.0.9")
    for number in (1, 2):
        porch.crowd(f"10.0.0.{number}", 4)
    porch.crowd("10.0.0.3", 1)

    porch.come("one more", "10.0.0.4")
    assert porch.dropped == ["10.0.0.1#0"]


def test_an_address_from_which_a_right_key_came_makes_room_last(porch: Porch) -> None:
    porch.crowd("10.0.0.1", 3, known=True)
    for number in range(2, 9):
        porch.come(f"stranger {number}", f"10.0.0.{number}")

    porch.crowd("10.1.0.1", 4)
    assert all(name.startswith(("stranger", "10.1")) for name in porch.dropped)
    assert len(porch.dropped) == 4


def test_that_address_is_like_others_when_too_many_come_from_there(porch: Porch) -> None:
    porch.crowd("127.0.0.1", 4, known=True)
    for number in range(2, 8):
        porch.come(f"stranger {number}", f"10.0.0.{number}")

    porch.come("one more", "10.0.1.1")
    assert porch.dropped == ["127.0.0.1#0"]


def test_an_ipv6_household_counts_as_one_address(porch: Porch) -> None:
    for number in range(5):
        porch.come(str(number), f"2001:db8:0:1::{number:x}")

    assert porch.dropped == ["0"]


def test_whoever_has_authenticated_keeps_the_place(porch: Porch) -> None:
    for place in porch.crowd("127.0.0.1", 10):
        place.trust()
        assert place.trusted
    porch.crowd("127.0.0.1", 10)

    porch.come("one more")
    assert porch.dropped == ["127.0.0.1#0"] and len(porch.admission.places) == 20


def test_a_house_full_of_those_that_have_authenticated_takes_nobody(porch: Porch) -> None:
    for _ in range(20):
        porch.come("phone").trust()

    assert porch.admission.admit("127.0.0.1", lambda: None) is None
    assert porch.dropped == []


def test_of_too_many_strange_phones_of_an_address_the_oldest_goes(porch: Porch) -> None:
    one, two, three, _ = porch.crowd("10.0.0.1", 4)
    for place in (one, two):
        place.take_phone()
    assert porch.dropped == []

    three.take_phone()
    assert porch.dropped == ["10.0.0.1#0"]
    two.trust()
    porch.come("next", "10.0.0.1").take_phone()
    assert porch.dropped == ["10.0.0.1#0"]


@pytest.mark.parametrize("address", ["::1", "127.0.0.1", "::ffff:127.0.0.1"])
def test_this_machine_may_have_more_strange_phones(porch: Porch, address: str) -> None:
    for place in porch.crowd(address, 7):
        place.take_phone()

    assert porch.dropped == [f"{address}#0"]


def test_a_trusted_connection_may_become_a_phone(porch: Porch) -> None:
    places = porch.crowd("10.0.0.1", 3)
    for place in places:
        place.trust()
        place.take_phone()

    assert porch.dropped == []


def test_leaving_frees_everything_once(porch: Porch) -> None:
    (place,) = porch.crowd("10.0.0.1", 1)
    place.take_phone()
    for end in (place.leave, place.leave, place.trust):
        end()

    assert not porch.admission.places and not porch.admission.strangers


def test_a_page_that_loads_is_a_visitor_and_takes_no_stranger_s_place(porch: Porch) -> None:
    for place in porch.crowd("127.0.0.1", 6):
        place.visit()
    porch.crowd("127.0.0.1", 10)

    assert porch.dropped == []
    assert (len(porch.admission.visitors), len(porch.admission.strangers)) == (6, 10)


def test_of_too_many_visitors_the_oldest_goes(porch: Porch) -> None:
    for place in porch.crowd("127.0.0.1", 7):
        place.visit()

    assert porch.dropped == ["127.0.0.1#0"]


def test_of_too_many_visitors_of_an_address_its_own_oldest_goes(porch: Porch) -> None:
    porch.come("here before").visit()
    for place in porch.crowd("10.0.0.1", 4):
        place.visit()

    assert porch.dropped == ["10.0.0.1#0"]


def test_a_visitor_that_asks_is_a_stranger_until_it_is_given_a_file(porch: Porch) -> None:
    (place,) = porch.crowd("127.0.0.1", 1)
    for _ in range(3):
        place.visit()
        assert place.visiting and not porch.admission.strangers
        place.ask()
        assert not place.visiting and [*porch.admission.strangers] == [place]


def test_in_a_full_house_a_visitor_goes_before_a_stranger_and_none_before_a_device(
    porch: Porch,
) -> None:
    for _ in range(18):
        porch.come("device").trust()
    porch.come("stranger")
    porch.come("visitor").visit()

    porch.come("one more")
    assert porch.dropped == ["visitor"]


def test_one_that_has_left_is_no_visitor_however_late_it_is_answered(porch: Porch) -> None:
    early, late = porch.crowd("127.0.0.1", 2)
    early.visit()
    for place in (early, late):
        place.leave()
        place.visit()
        place.ask()

    assert not porch.admission.visitors and not porch.admission.strangers


def test_a_device_that_loads_a_page_is_no_visitor(porch: Porch) -> None:
    (place,) = porch.crowd("127.0.0.1", 1)
    place.trust()
    place.visit()

    assert not place.visiting and not porch.admission.visitors


STEPS = st.sampled_from(
    [
        *("127.0.0.1", "10.0.0.1", "10.0.0.2"),
        *("trust", "speak", "phone", "leave", "visit"),
    ]
)


@given(st.lists(st.tuples(STEPS, st.integers(0, 30)), max_size=120))
def test_the_bounds_hold_and_who_is_trusted_is_never_dropped(steps: list[tuple[str, int]]) -> None:
    admission = Admission(LIMITS)
    places: list[Place] = []
    trusted: set[Place] = set()

    def dropping(number: int) -> Callable[[], None]:
        return lambda: dropped.append(places[number])

    dropped: list[Place] = []
    for step, which in steps:
        one = places[which % len(places)] if places else None
        if step[0].isdigit():
            place = admission.admit(step, dropping(len(places)), which % 2 == 0)
            places += [] if place is None else [place]
        elif one is not None and step == "trust" and one in admission.places:
            one.trust()
            trusted.add(one)
        elif one is not None and step == "speak":
            one.ask()
        elif one is not None and step == "visit":
            one.visit()
        elif one is not None and step == "phone":
            one.take_phone()
        elif one is not None and step == "leave":
            one.leave()
        assert len(admission.visitors) <= LIMITS.visitors
        assert len(admission.strangers) <= LIMITS.strangers + LIMITS.visitors
        assert admission.strangers.keys().isdisjoint(admission.visitors)
        assert admission.visitors.keys() <= admission.places
        assert len(admission.places) <= LIMITS.connections
        assert admission.strangers.keys() <= admission.places
    assert trusted.isdisjoint(dropped) and len(set(dropped)) == len(dropped)
