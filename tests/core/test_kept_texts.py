"""What a turn's requests keep of each other: the same bytes, and each text made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.prompts.context_window import FileNow, Material, PastTurn, compose
from podiumd.core.prompts.history import feedback
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.run.native_loop_state import LoopState, Round
from tests.core.plain_conversation import plainly
from tests.core.rounds import digest, ended, read, turn

PLENTY = 1_000_000


class Counting:
    """Makes the texts, and counts for each reply how often, those with cut outputs apart."""

    def __init__(self) -> None:
        self.made: Counter[int] = Counter()
        self.cuts = 0

    def __call__(
        self, round_: Round, said: tuple[str, ...], *, old: Mapping[int, str], **how: Any
    ) -> str:
        if "room" in how:
            self.cuts += 1
        else:
            self.made[round_.number] += 1
        return feedback(round_, said, old=old, **how)


def begun(whole: LoopState, replies: int) -> LoopState:
    """The turn when it had only so many replies."""
    words = tuple(one for one in whole.words if one.after <= replies)
    return LoopState(rounds=whole.rounds[:replies], words=words)


def long_turn(replies: int) -> LoopState:
    return turn(*((f"I look {n}.", (read(f"{n}.py", "a"), ended("x"))) for n in range(replies)))


ACTIONS = st.sampled_from(
    [
        ended("search", "z" * 3000),
        ended("run_command", "ü" * 450, command="make"),
        ended("search", "few"),
        read("a.py", "a"),
        read("b.py", "a", "1\tx\n" * 200),
    ]
)
ROUNDS = st.lists(st.tuples(st.text(max_size=40), st.lists(ACTIONS, max_size=2)), max_size=9)
WORDS = st.lists(st.tuples(st.integers(0, 9), st.text(max_size=20)), max_size=3)
PAST = st.lists(
    st.builds(
        PastTurn,
        st.text(max_size=300),
        st.text(max_size=300),
        st.lists(st.text(max_size=50), max_size=3).map(tuple),
    ),
    max_size=9,
)
FILES = st.lists(st.builds(FileNow, st.just("a.py"), st.text(max_size=500)), max_size=2)
REQUESTS = st.lists(
    st.tuples(st.integers(0, 12_000), st.sampled_from("ab"), st.sampled_from("ab"), FILES),
    min_size=1,
    max_size=6,
)


@given(ROUNDS, WORDS, PAST, REQUESTS, st.sampled_from(["", "map of the files"]))
def test_request_after_request_is_byte_for_byte_what_it_is_when_all_is_made_anew(
    rounds: list[tuple[str, list[Any]]],
    words: list[tuple[int, str]],
    past: list[PastTurn],
    requests: list[tuple[int, str, str, list[FileNow]]],
    opening: str,
) -> None:
    whole = turn(*((text, tuple(actions)) for text, actions in rounds), words=tuple(words))
    texts = KeptTexts()
    for number, (room, a, b, files) in enumerate(requests, 1):
        material = Material(
            goal="Fix it.",
            loop=begun(whole, len(rounds) * number // len(requests)),
            opening=opening,
            past=tuple(past),
            digests={"a.py": digest(a), "b.py": digest(b)},
            files=tuple(files),
        )
        known = texts.working_set(material.loop)

        found = compose(material, room, texts)

        assert (found.messages, found.size) == plainly(material, room)
        assert found.fits == (found.size <= room)
        assert known == KeptTexts().working_set(material.loop)


def test_a_turn_makes_the_text_of_each_reply_once() -> None:
    whole, counting = long_turn(100), Counting()
    texts = KeptTexts(counting)

    for replies in range(101):
        before = counting.made.total()
        compose(Material(goal="Fix it.", loop=begun(whole, replies)), PLENTY, texts)

        assert counting.made.total() - before == bool(replies)

    assert set(counting.made.values()) == {1}


def test_without_room_for_all_a_reply_is_made_some_times_however_long_the_turn() -> None:
    """In full, without its outputs when those go, and in full again if it is sent after all."""
    whole, counting = long_turn(300), Counting()
    texts = KeptTexts(counting)

    for replies in range(301):
        before, cuts = counting.made.total(), counting.cuts
        compose(Material(goal="Fix it.", loop=begun(whole, replies)), 20_000, texts)
        if replies > 150:  # none goes in full any more, but for the last
            assert counting.made.total() - before <= 3, "of what is new alone"
            assert counting.cuts - cuts <= 20, "tried by halving, of the last reply"

    assert max(counting.made.values()) <= 3


def test_a_changed_file_makes_the_texts_that_show_it_anew_and_no_others() -> None:
    counting = Counting()
    texts = KeptTexts(counting)
    material = Material(goal="Fix it.", loop=long_turn(50), digests={"7.py": digest("a")})
    compose(material, PLENTY, texts)

    for version, made in (("a", 50), ("b", 51), ("b", 51), ("a", 52)):
        digests = {"7.py": digest(version)}
        compose(Material(goal="Fix it.", loop=material.loop, digests=digests), PLENTY, texts)
        assert counting.made.total() == made
    assert counting.made[8] == 3


def test_words_after_a_reply_are_told_with_the_next_request() -> None:
    texts = KeptTexts()
    loop = turn(("one", ()))
    compose(Material(goal="Fix it.", loop=loop), PLENTY, texts)
    more = LoopState(rounds=loop.rounds, words=turn(("one", ()), words=((1, "Stop."),)).words)

    found = compose(Material(goal="Fix it.", loop=more), PLENTY, texts)

    assert found.messages[-1].text == "The person says:\nStop."


def test_a_reply_is_told_with_what_has_come_of_it_since() -> None:
    texts = KeptTexts()
    earlier, later = turn(("one", ())), turn(("one", (read("a.py", "a"),)))
    compose(Material(goal="Fix it.", loop=earlier), PLENTY, texts)

    found = compose(Material(goal="Fix it.", loop=later), PLENTY, texts)

    assert "1\tx = 1" in found.messages[-1].text
    assert list(texts.working_set(later)) == ["a.py"]


def test_of_another_turn_nothing_is_kept() -> None:
    texts = KeptTexts()
    first = turn(("one", (read("a.py", "a"),)), ("two", (read("b.py", "a"),)))
    other = turn(("uno", (read("c.py", "a"),)))
    compose(Material(goal="Fix it.", loop=first), PLENTY, texts)

    material = Material(goal="Fix it.", loop=other, digests={"c.py": digest("b")})
    found = compose(material, PLENTY, texts)

    assert (found.messages, found.size) == plainly(material, PLENTY)
    assert list(texts.working_set(other)) == ["c.py"]
