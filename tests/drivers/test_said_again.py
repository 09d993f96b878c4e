"""What was said before a turn is taken up is told as said before, in pieces of some size."""

from podiumd.drivers.base import Output, TurnEvent
from podiumd.drivers.said_again import PIECE_CHARACTERS, say_again


def test_words_of_one_message_are_one_piece_and_what_is_whole_stays_so() -> None:
    events: list[TurnEvent] = []
    for said in (
        Output("m1", "text", "I need "),
        Output("m1", "text", "a shell."),
        Output("a1", "tool", "Bash: ls"),
        Output("a1", "tool", "Bash: ls"),
        Output("m2", "text", "Done."),
        Output("m3", "text", "More."),
    ):
        say_again(events, said)

    assert events == [
        Output("m1", "text", "I need a shell.", again=True),
        Output("a1", "tool", "Bash: ls", again=True),
        Output("a1", "tool", "Bash: ls", again=True),
        Output("m2", "text", "Done.", again=True),
        Output("m3", "text", "More.", again=True),
    ]


def test_a_piece_does_not_grow_without_end() -> None:
    events: list[TurnEvent] = []
    for _ in range(3):
        say_again(events, Output("m", "thinking", "x" * (PIECE_CHARACTERS // 2)))

    assert len(events) == 2


def test_what_was_not_told_before_is_not_added_to() -> None:
    live = Output("m", "text", "new")
    events: list[TurnEvent] = [live]
    say_again(events, Output("m", "text", "old"))

    assert events == [live, Output("m", "text", "old", again=True)]
