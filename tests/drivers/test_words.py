"""The agent's own messages of a turn, gathered."""

from __future__ import annotations

from podiumd.drivers.words import MESSAGE_CHARACTERS, Words


def test_pieces_become_the_message_that_they_belong_to() -> None:
    words = Words()
    assert not words and words.all() == []
    for message in (("He", "llo"), ("Bye",)):
        words.begin()
        for piece in message:
            words.add(piece)
    assert words and words.all() == ["Hello", "Bye"]


def test_what_is_too_much_is_cut_and_marked_once() -> None:
    words = Words(MESSAGE_CHARACTERS + 5)
    words.begin()
    for piece in ("abc", "defg", "h"):
        words.add(piece)
    words.begin()
    words.add("more")
    assert words.all() == ["abcde…"]


def test_messages_without_a_word_are_bounded_too() -> None:
    words = Words(3 * MESSAGE_CHARACTERS)
    for _ in range(10):
        words.begin()
    assert len(words.all()) == 3
