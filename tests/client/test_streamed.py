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
        ("Quite another.", ("\n\nI need a shell.\n\nTouched. Done.", False)),
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
    return "".join(words.add(one) for one in pieces if words.is_new(one) and one["kind"] == "text")


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


def test_a_turn_that_goes_on_after_a_break_is_told_in_order_at_its_end() -> None:
    """Nobody knows what was streamed meanwhile."""
    words = Words()
    tell(words, *TURN[:2])
    words.again()

    assert tell(words, TURN[3]) == ""
    assert words.missing(FINAL) == ("\n\nDone.", False)


def test_what_is_streamed_again_in_other_pieces_is_told_once() -> None:
    words = Words()
    tell(words, piece("w1 w"), piece("2 w3"))
    words.again()

    assert tell(words, piece("w"), piece("1 w2 w3 w"), piece("4")) == " w4"
    assert words.missing({"turn_id": "t", "text": "w1 w2 w3 w4"}) == ("", False)


def test_a_middle_that_was_never_streamed_stands_in_its_place() -> None:
    words = Words()
    told = tell(words, piece("w1 w2 w"))
    words.again()
    told += tell(words, piece("5 w6"), piece(" w7"))
    missing, late = words.missing({"turn_id": "t", "text": "w1 w2 w3 w4 w5 w6 w7"})

    assert (told + missing, late) == ("w1 w2 w3 w4 w5 w6 w7", False)


def test_blanks_before_a_middle_are_told_once() -> None:
    words = Words()
    told = tell(words, piece("w1 "))
    words.again()
    told += tell(words, piece("w3"))

    assert told + words.missing({"turn_id": "t", "text": "w1 w2 w3"})[0] == "w1 w2 w3"


@pytest.mark.parametrize(
    ("again", "told"),
    [
        ("I mend it.", "I look. I mend it."),
        ("end it.", "I look. I mend it."),
        ("I test it.", "I look. I me\n\nI test it."),
    ],
)
def test_a_model_that_is_asked_once_more_repeats_its_last_reply_alone(
    again: str, told: str
) -> None:
    """Those before it are told; what it says otherwise this time is told whole."""
    words = Words()
    shown = tell(words, piece("I look. "))
    words.reply({"turn_id": "t", "text": "I look. "})
    shown += tell(words, piece("I me"))
    words.again()
    shown += tell(words, piece(again))
    whole = again if again.startswith("I") else "I mend it."

    shown += words.reply({"turn_id": "t", "text": f"{whole}\n[an action]"})

    assert shown == told
    assert tell(words, piece("More.")) == "More."
    assert words.missing({"turn_id": "t", "text": "More."}) == ("", False)


def test_who_came_in_mid_turn_and_sees_it_again_is_told_the_beginning_once() -> None:
    words = Words()
    tell(words, TURN[3])
    words.again()

    assert tell(words, TURN[0], TURN[1], TURN[3]) == ""
    assert words.missing(FINAL) == ("I need a shell.\n\n", True)


@given(st.text("ab \n"), st.text("ab \n"), st.text("ab \n"))
def test_what_was_shown_and_what_is_missing_are_the_whole(first: str, hole: str, last: str) -> None:
    whole, shown = first + hole + last, first + last

    missing = unsaid(whole, shown)

    told = "".join((shown + missing).split())
    assert sorted(told) == sorted("".join(whole.split()))
    assert "".join(missing.split()) in "".join(whole.split())
