"""The agent's words are told once, whenever one came in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.render import streamed
from podium.render.streamed import Pieces, unsaid

# What these tests name of what is sent is all that they are about.
Words: Any = streamed.Words


def test_words_streamed_whole_are_not_told_again() -> None:
    words = Words()
    shown = words.add({"turn_id": "t", "uuid": "m", "delta": "One\n", "at": 0})
    shown += words.add({"turn_id": "t", "uuid": "n", "delta": "Two", "at": 4})

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
        words.add({"turn_id": "t", "uuid": "m", "delta": streamed, "at": 0})

    assert words.missing({"turn_id": "t", "text": "I need a shell.\n\nTouched. Done."}) == missing


def piece(
    words: str, uuid: str = "m", kind: str = "text", *, at: int = 0, part: str = ""
) -> dict[str, object]:
    return {
        "turn_id": "t",
        "uuid": uuid,
        "kind": kind,
        "delta": words,
        "part": part,
        "at": at,
    }


def tell(words: Words, *pieces: dict[str, object]) -> str:
    """What a view writes of these pieces."""
    told = ""
    for one in pieces:
        if not words.is_new(one):
            continue
        told += words.add(one) if one["kind"] == "text" else f"[{one['delta']}]"
    return told


TURN = [
    piece("I need "),
    piece("a shell.", at=7),
    piece("ls", "k", "tool"),
    piece("ls", "k", "tool", at=2),
    piece("Done.", "n", at=15),
]
TOLD = "I need a shell.[ls][ls]\n\nDone."
FINAL = {"turn_id": "t", "text": "I need a shell.\n\nDone."}


@pytest.mark.parametrize("streamed", range(len(TURN) + 1))
def test_a_turn_that_is_streamed_again_is_told_once(streamed: int) -> None:
    words = Words()
    told = tell(words, *TURN[:streamed])

    told += tell(words, *TURN)

    assert told == TOLD
    assert words.missing(FINAL) == ("", False)


def test_a_turn_of_which_some_is_kept_nowhere_is_told_in_order_at_its_end() -> None:
    words = Words()
    tell(words, *TURN[:1])

    assert tell(words, TURN[4], piece(" Yes.", "n", at=20)) == ""
    assert words.missing(FINAL) == ("a shell.\n\nDone.", False)


def test_what_is_streamed_again_in_other_pieces_is_told_once() -> None:
    words = Words()
    tell(words, piece("w1 w"), piece("2 w3", at=4))

    again = [piece("w"), piece("1 w2 w3 w", at=1), piece("4", at=10)]
    assert tell(words, *again) == " w4"
    assert words.missing({"turn_id": "t", "text": "w1 w2 w3 w4"}) == ("", False)


def test_blanks_before_what_is_told_at_the_end_are_told_once() -> None:
    words = Words()
    told = tell(words, piece("w1 ")) + tell(words, piece("w3", at=6))

    assert told + words.missing({"turn_id": "t", "text": "w1 w2 w3"})[0] == "w1 w2 w3"


def test_how_much_is_written_is_told_each_time() -> None:
    words, progress = Words(), piece("Write · 1 kB", kind="progress")

    assert [words.is_new(progress), words.is_new(progress)] == [True, True]


def reply(number: int, said: str) -> dict[str, object]:
    return {"turn_id": "t", "number": number, "said": said}


@pytest.mark.parametrize(
    ("again", "told"),
    [
        ("I mend it.\n", "I look.\nI mend it.\n"),
        ("I test it.\n", "I look.\nI me\n\nI test it.\n"),
    ],
)
def test_a_model_that_is_asked_once_more_repeats_its_last_reply_alone(
    again: str, told: str
) -> None:
    """Those before it are told; what it says otherwise this time is told whole."""
    words = Words()
    shown = tell(words, piece("I look.\n", part="1"))
    shown += words.reply(reply(1, "I look.\n"))
    shown += tell(words, piece("I me", part="2"))

    shown += tell(words, piece(again[:3], part="2"), piece(again[3:], part="2", at=3))
    shown += words.reply(reply(2, again))

    assert shown == told
    assert words.missing({"turn_id": "t", "text": f"I look.\n\n{again}"}) == ("", False)


def test_a_reply_that_was_never_streamed_here_stands_in_its_place() -> None:
    words = Words()
    told = tell(words, piece("I look.", part="1")) + words.reply(reply(1, "I look."))
    told += words.reply(reply(2, "I mend it.\n")) + words.reply(reply(3, "I test it.\n"))
    told += words.reply(reply(4, "\n")) + tell(words, piece("Done.", part="5"))

    assert told == "I look.\n\nI mend it.\nI test it.\nDone."
    assert tell(words, piece("I mend it.\n", part="2")) == "", "what comes late"


def test_the_rest_of_a_reply_is_told_with_it() -> None:
    words = Words()
    told = tell(words, piece("I mend ", part="1"), piece("ow.", part="1", at=10))
    told += words.reply(reply(1, "I mend it now."))

    assert told == "I mend it now."


def test_replies_do_not_run_into_one_another() -> None:
    words = Words()

    told = tell(words, piece("Well.", part="1")) + words.reply(reply(1, "Well."))

    assert told + tell(words, piece("I look.", part="2")) == "Well.\n\nI look."


def test_who_came_in_mid_turn_and_sees_it_again_is_told_the_beginning_once() -> None:
    words = Words()

    assert tell(words, TURN[4]) == "Done."
    assert tell(words, TURN[0], TURN[1], TURN[4]) == ""
    assert words.missing(FINAL) == ("I need a shell.\n\n", True)


def test_words_that_follow_one_another_are_joined_once_at_their_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words, whole, joined = Words(), Pieces.whole, list[int]()

    def counted(pieces: Pieces) -> str:
        joined.append(len(found := whole(pieces)))
        return found

    monkeypatch.setattr(Pieces, "whole", counted)
    told = tell(words, *(piece("word ", at=5 * at) for at in range(1000)))

    assert told == "word " * 1000 and joined == []
    assert words.missing({"turn_id": "t", "text": told}) == ("", False)
    assert joined == [5000]


@given(st.text("ab \n"), st.text("ab \n"), st.text("ab \n"))
def test_what_was_shown_and_what_is_missing_are_the_whole(first: str, hole: str, last: str) -> None:
    whole, shown = first + hole + last, first + last

    missing = unsaid(whole, shown)

    told = "".join((shown + missing).split())
    assert sorted(told) == sorted("".join(whole.split()))
    assert "".join(missing.split()) in "".join(whole.split())
