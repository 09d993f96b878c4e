"""When the apps try again after a lost connection."""

import pytest

from tests.phone_app.retry import Retry
from tests.phone_app.variants import ANDROID, IOS


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
