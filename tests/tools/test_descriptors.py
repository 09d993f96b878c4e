"""The daemon may have as many files open as it promises to serve, whatever shell started it."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from podiumd.tools.process.descriptors import ENOUGH, raise_limit


@pytest.fixture(autouse=True)
def _limits() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def soft() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_a_low_limit_is_raised_as_far_as_the_hard_one_goes() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    assert raise_limit() == soft() == wanted


def test_a_limit_that_is_high_enough_stays() -> None:
    before = soft()

    assert raise_limit(enough=before - 1) == soft() == before
    assert raise_limit(enough=before) == soft() == before


@pytest.mark.parametrize("hard", [512, resource.RLIM_INFINITY])
def test_a_system_with_a_bound_of_its_own_keeps_it(
    monkeypatch: pytest.MonkeyPatch, hard: int
) -> None:
    asked = []

    def refuse(which: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, hard))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_limit() == 256
    monkeypatch.undo()
    assert asked == [(ENOUGH if hard == resource.RLIM_INFINITY else 512, hard)]
