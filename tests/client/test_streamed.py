"""The agent's words are told once, whenever one came in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.streamed import Words, unsaid


def test_words_streamed_whole_are_not_told_again() -> None:
    words = Words()
    shown = words.add({"turn_id": "t", "uuid": "m", "delta": "One\n"})
    shown += words.add({"turn_id": "t", "uuid": "n", "delta": "Two"})

    assert shown == "One\n\n\nTwo"
    assert words.missing({"turn_id": "t", "text": "One\n\nTwo\n"}) == ("", False)


@pytest.mark.parametrize(
    ("streamed", "missing"),
    [
        ("", ("I need a shell.\n\nTouched. Done.", False)),
        ("uched. Done.", ("I need a shell.\n\nTo", True)),
        ("I need", (" a shell.\n\nTouched. Done.", False)),
        ("I need a Done.", (" shell.\n\nTouched. ", True)),
        ("Quite another.", ("I need a shell.\n\nTouched. Done.", False)),
    ],
)
def test_only_what_was_not_streamed_is_missing(streamed: str, missing: tuple[str, bool]) -> None:
    words = Words()
    if streamed:
        words.add({"turn_id": "t", "uuid": "m", "delta": streamed})

    assert words.missing({"turn_id": "t", "text": "I need a shell.\n\nTouched. Done."}) == missing


def piece(words: str, uuid: str = "m", kind: str = "text") -> dict[str, str]:
    return {"turn_id": "t", "uuid": uuid, "kind": kind, "delta": words}


def tell(words: Words, *pieces: dict[str, str]) -> str:
    """What a view writes of these pieces."""
    return "".join(words.add(one) for one in pieces if words.is_new(one))


TURN = [piece("I need "), piece("a shell."), piece("Bash ls", "k", "tool"), piece("Done.", "n")]
FINAL = {"turn_id": "t", "text": "I need a shell.\n\nDone."}


@pytest.mark.parametrize("streamed", range(len(TURN) + 1))
def test_a_turn_that_is_streamed_again_is_told_once(streamed: int) -> None:
    words = Words()
    told = tell(words, *TURN[:streamed])
    words.again()

    told += tell(words, *TURN)

    assert told == "".join(tell(Words(), *TURN))
    assert words.missing(FINAL) == ("", False)


def test_a_turn_that_goes_on_where_it_was_is_told_on() -> None:
    words = Words()
    tell(words, *TURN[:2])
    words.again()

    assert tell(words, TURN[3]) == "\n\nDone."
    assert words.missing(FINAL) == ("", False)


def test_who_came_in_mid_turn_and_sees_it_again_is_told_the_beginning_once() -> None:
    words = Words()
    tell(words, TURN[3])
    words.again()

    assert "Done." not in tell(words, *TURN)
    assert words.missing(FINAL) == ("", False)


@given(st.text("ab \n"), st.text("ab \n"), st.text("ab \n"))
def test_what_was_shown_and_what_is_missing_are_the_whole(first: str, hole: str, last: str) -> None:
    whole, shown = first + hole + last, first + last

    missing = unsaid(whole, shown)

    told = "".join((shown + missing).split())
    assert sorted(told) == sorted("".join(whole.split()))
    assert "".join(missing.split()) in "".join(whole.split())
