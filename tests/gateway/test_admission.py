"""How many are let in, and how many of them are strangers."""

import pytest

from podiumd.gateway.admission import Admission, Place
from podiumd.gateway.limits import GatewayLimits

LIMITS = GatewayLimits(
    connections=20,
    strangers=10,
    strangers_per_address=4,
    strange_phones_per_address=2,
    strange_phones_on_loopback=6,
)


@pytest.fixture
def admission() -> Admission:
    return Admission(LIMITS)


def let_in(admission: Admission, address: str, count: int = 1) -> list[Place]:
    places = [admission.admit(address) for _ in range(count)]
    assert all(isinstance(place, Place) for place in places), places
    return [place for place in places if isinstance(place, Place)]


def test_strangers_are_limited_over_all_addresses(admission: Admission) -> None:
    places = let_in(admission, "127.0.0.1", 10)

    assert admission.admit("10.0.0.1") == "too many connections that have not authenticated"
    places[0].leave()
    let_in(admission, "10.0.0.1")


def test_one_address_cannot_use_up_what_is_for_all(admission: Admission) -> None:
    let_in(admission, "10.0.0.1", 4)

    refused = admission.admit("10.0.0.1")
    assert refused == "too many connections of this address that have not authenticated"
    let_in(admission, "10.0.0.2")


def test_an_ipv6_household_counts_as_one_address(admission: Admission) -> None:
    for number in range(4):
        let_in(admission, f"2001:db8:0:1::{number:x}")

    assert isinstance(admission.admit("2001:db8:0:1::ffff"), str)
    let_in(admission, "2001:db8:0:2::1")


def test_whoever_has_authenticated_is_no_stranger_but_a_connection(admission: Admission) -> None:
    for number in range(20):
        for place in let_in(admission, f"10.0.0.{number % 3}"):
            place.trust()

    assert admission.admit("10.0.0.9") == "too many connections"


def test_strange_phones_of_an_address_are_limited(admission: Admission) -> None:
    one, two, three, four = let_in(admission, "10.0.0.1", 4)

    assert one.take_phone() and two.take_phone()
    assert not three.take_phone()
    one.trust()
    assert three.take_phone()
    assert not four.take_phone()
    two.leave()
    assert four.take_phone()


def test_this_machine_may_have_more_strange_phones(admission: Admission) -> None:
    places = let_in(admission, "::1", 7)

    assert [place.take_phone() for place in places] == [True] * 6 + [False]


def test_a_trusted_connection_may_become_a_phone(admission: Admission) -> None:
    places = let_in(admission, "10.0.0.1", 3)
    for place in places:
        place.trust()

    assert all(place.take_phone() for place in places)
    assert not admission.counts.strange_phones


def test_leaving_frees_everything_once(admission: Admission) -> None:
    (place,) = let_in(admission, "10.0.0.1")
    place.take_phone()
    place.leave()
    place.leave()
    place.trust()

    assert admission.counts.connections == 0
    assert not admission.counts.strangers and not admission.counts.strange_phones
