"""Invitations: good once, for minutes, and not to be guessed."""

from __future__ import annotations

import pytest

from podiumd.gateway.access.invitations import (
    CODE_SECONDS,
    CODE_TRIES,
    MOST_OPEN,
    URL_SECONDS,
    Invitation,
    Invitations,
)

LEAVE = Invitation("kitchen", "answer")


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def invitations(clock: Clock) -> Invitations:
    return Invitations(clock)


@pytest.mark.parametrize("by", [0, 1], ids=["token", "code"])
def test_it_is_good_once_by_either(invitations: Invitations, by: int) -> None:
    given = invitations.give(LEAVE)
    taken = invitations.take(given[by])
    assert taken is not None and taken.invitation == LEAVE
    assert [invitations.take(words) for words in given] == [None, None]


def test_a_code_is_read_however_it_is_typed(invitations: Invitations) -> None:
    for typed in (
        str.lower,
        lambda code: code.replace("-", " "),
        lambda code: code.replace("-", ""),
    ):
        _, code = invitations.give(LEAVE)
        assert invitations.take(typed(code)) is not None


def test_letters_that_look_like_digits_are_read_as_those(
    invitations: Invitations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podiumd.gateway.access.invitations.secrets.choice", lambda letters: "1")
    _, code = invitations.give(LEAVE)
    assert code == "1111-1111"
    assert invitations.take("IlIl-lili") is not None


def test_a_code_lasts_less_long_than_its_link(invitations: Invitations, clock: Clock) -> None:
    token, code = invitations.give(LEAVE)
    clock.now = CODE_SECONDS
    assert invitations.take(code) is None
    clock.now = URL_SECONDS - 1
    assert invitations.take(token) is not None


def test_a_link_is_forgotten_in_time(invitations: Invitations, clock: Clock) -> None:
    token, _ = invitations.give(LEAVE)
    clock.now = URL_SECONDS
    assert invitations.take(token) is None


def test_a_few_wrong_words_end_every_open_code_and_no_link(invitations: Invitations) -> None:
    token, code = invitations.give(LEAVE)
    for _ in range(CODE_TRIES):
        assert invitations.take("WRNG-WRNG") is None
    assert invitations.take(code) is None
    assert invitations.take(token) is not None


def test_one_that_came_to_nothing_is_given_back(invitations: Invitations) -> None:
    token, _ = invitations.give(LEAVE)
    taken = invitations.take(token)
    assert taken is not None
    invitations.give_back(taken)
    assert invitations.take(token) is not None


def test_a_further_one_takes_the_place_of_the_oldest(invitations: Invitations) -> None:
    tokens = [invitations.give(LEAVE)[0] for _ in range(MOST_OPEN + 1)]
    assert [invitations.take(token) is not None for token in tokens] == [False] + [True] * MOST_OPEN
