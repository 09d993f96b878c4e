"""What a model is sent, and what gives way where there is not room for all of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.prompts.context_window import (
    MOST_TOKENS,
    Composed,
    FileNow,
    Gauge,
    Material,
    PastTurn,
    compose,
    least_tokens,
    prompt_tokens,
)
from podiumd.core.reply.model_message import Message
from podiumd.core.run.native_loop_state import LoopState
from podiumd.core.sizes import size_of
from tests.core.rounds import changed, digest, ended, read, turn

PLENTY = 1_000_000


def composed(loop: LoopState | None = None, room: int = PLENTY, **more: Any) -> Composed:
    return compose(Material(**{"goal": "Fix it.", "loop": loop or LoopState(), **more}), room)


def whole(found: Composed) -> str:
    return "\n".join(message.text for message in found.messages)


def well_formed(found: Composed) -> bool:
    """Whether roles alternate from user to user, and no message is empty."""
    roles = [message.role for message in found.messages]
    alternate = all(a != b for a, b in pairwise(roles))
    full = all(message.text.strip() for message in found.messages)
    return alternate and full and roles[0] == roles[-1] == "user"


def test_a_first_request_is_the_prompt_and_what_was_looked_up() -> None:
    found = composed(opening="The files here:\n./: a.py")

    assert found.messages == (Message("user", "Fix it.\n\nThe files here:\n./: a.py"),)
    assert (found.notices, found.fits) == ((), True)


def test_an_empty_prompt_is_stood_in_for() -> None:
    assert composed(goal=" ").messages == (Message("user", "(nothing)"),)


def test_replies_and_results_alternate() -> None:
    loop = turn(("I look.", (read("a.py", "a"),)), ("", ()), words=((0, "Quickly!"),))

    found = composed(loop)

    assert [m.role for m in found.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert found.messages[0].text == "Fix it.\n\nThe person says:\nQuickly!"
    assert found.messages[1].text == "I look."
    assert found.messages[3].text == "(nothing)"
    assert well_formed(found)


def test_earlier_turns_come_first_with_what_was_done() -> None:
    past = (PastTurn("Hello", "Hi!"), PastTurn("", "", ("patch a.py: ok",)), PastTurn("x", " "))

    found = composed(past=past)

    assert [message.text for message in found.messages] == [
        "Hello",
        "Hi!",
        "(nothing)",
        "What I did:\n- patch a.py: ok",
        "x",
        "(nothing)",
        "Fix it.",
    ]


def test_files_that_have_changed_are_shown_last_as_they_are_now() -> None:
    loop = turn(("1", (read("a.py", "a"),)), ("2", (changed("patch", "a.py", "a", "b"),)))

    found = composed(loop, digests={"a.py": digest("b")}, files=(FileNow("a.py", "NOW"),))

    assert found.messages[-1].text.endswith("as they are now:\n\nNOW")
    assert "x = 1" not in whole(found)


LONG = "z" * 3000


def long_turn(replies: int) -> LoopState:
    return turn(*((f"reply {n}", (ended("search", LONG, query=f"q{n}"),)) for n in range(replies)))


def test_the_oldest_outputs_give_way_first() -> None:
    found = composed(long_turn(8), room=20_000, past=(PastTurn("Hello", "Hi!"),))

    assert found.fits and whole(found).count(LONG) == 6
    assert LONG not in found.messages[4].text and LONG in found.messages[-1].text
    assert found.notices == ("2 older replies go without their outputs to save room",)


def test_then_earlier_turns_are_summarised() -> None:
    past = tuple(PastTurn(f"ask {n}", "a" * 2000, ("did it",)) for n in range(4))

    found = composed(room=5_000, past=past)

    assert found.fits and found.messages[0].text == "ask 2"
    assert "Summarised to save room:\n- earlier the person asked: ask 0\n  - did it\n" in (
        found.messages[-1].text
    )
    assert found.messages[-1].text.startswith("Fix it.")
    assert found.notices == ("2 earlier turns are summarised to save room",)


def test_then_earlier_replies_are() -> None:
    loop = turn(*(("w" * 2000, (ended("search", "few", query=f"q{n}"),)) for n in range(6)))

    found = composed(loop, room=7_000)

    assert found.fits
    assert "- search q0: ok: exit code 0" in found.messages[0].text
    assert found.notices[0] == "4 earlier replies of this turn are summarised to save room"
    assert well_formed(found)


def test_then_what_was_looked_up_and_files_give_way() -> None:
    files = (FileNow("old.py", "o" * 2000), FileNow("new.py", "n" * 2000))

    found = composed(room=2_500, opening="m" * 2000, files=files)

    assert "[what was looked up for you is left out to save room]" in found.messages[0].text
    assert "[old.py has changed since you saw it; read it again" in found.messages[0].text
    assert "n" * 2000 in found.messages[0].text
    assert found.notices == (
        "1 changed files are not shown to save room",
        "what was looked up for the prompt is left out to save room",
    )


def test_with_no_room_for_any_file_each_is_named() -> None:
    found = composed(room=400, files=(FileNow("a.py", "o" * 2000),))

    assert found.fits and found.messages[0].text.endswith("read it again before you patch it]")


def test_the_last_outputs_are_cut_to_what_fits() -> None:
    loop = turn(("r", (ended("search", "a" * 50_000), ended("search", "b" * 50_000))))

    found = composed(loop, room=20_000)

    assert found.fits and found.size > 19_900, "no more is cut than must be"
    assert found.messages[-1].text.count("characters left out to save room") == 2
    assert found.notices == ("the last outputs are shortened to save room",)


def test_the_summary_is_cut_to_what_fits() -> None:
    past = tuple(PastTurn(f"ask {n}", "answer") for n in range(500))

    found = composed(room=10_000, past=past)

    assert found.fits
    assert "older lines left out to save room]" in found.messages[0].text
    assert "asked: ask 499" in found.messages[0].text
    assert "the summary is shortened to save room" in found.notices


def test_a_prompt_is_never_shortened_and_said_where_it_does_not_fit() -> None:
    found = composed(long_turn(2), room=2_000, goal="g" * 5000)

    assert not found.fits
    assert found.messages[0].text.startswith("g" * 5000)


def test_the_size_is_that_of_bytes() -> None:
    assert size_of("\u00e9\u6f22\ud800") == 2 + 3 + 3


ROUNDS = st.lists(
    st.tuples(
        st.text(max_size=40),
        st.lists(st.sampled_from([ended("search", LONG), read("a.py", "a")]), max_size=2),
    ),
    max_size=6,
)
PAST = st.lists(st.builds(PastTurn, st.text(max_size=20), st.text(max_size=200)), max_size=4)


@given(ROUNDS, PAST, st.integers(0, 20_000), st.text(max_size=50))
def test_whatever_gives_way_the_prompt_stays_and_roles_alternate(
    rounds: list[tuple[str, list[Any]]], past: list[PastTurn], room: int, goal: str
) -> None:
    loop = turn(*((text, tuple(actions)) for text, actions in rounds))

    found = composed(loop, room, goal=goal, past=tuple(past), opening="map")

    assert well_formed(found)
    assert any(goal.strip() in message.text for message in found.messages)
    assert found.fits == (found.size <= room)
    full = composed(loop, PLENTY, goal=goal, past=tuple(past), opening="map")
    assert full.notices == () or full.size > PLENTY
    assert (found.notices == ()) == (found.messages == full.messages)


def test_a_prompt_leaves_room_for_the_reply_and_has_a_bound() -> None:
    assert prompt_tokens(10_000, 2_000) == 7_600
    assert prompt_tokens(10_000_000, 32_000) == MOST_TOKENS
    assert prompt_tokens(1_000, 2_000) == 0


def test_fewer_tokens_than_a_gauge_ever_believes_no_text_has() -> None:
    assert least_tokens(300_000) == 37_500
    assert Gauge().learned(8_000, least_tokens(8_000)) != Gauge(), "as many are still believed"
    assert Gauge().learned(8_000, least_tokens(8_000) - 1) == Gauge()


def test_the_gauge_learns_from_what_a_server_counts() -> None:
    gauge = Gauge(bytes_a_token=3.0)

    learned = gauge.learned(10_000, 2_000)

    assert learned == Gauge(4.0)
    assert (gauge.tokens(300), gauge.size(100), gauge.size(-5)) == (101, 300, 0)


@pytest.mark.parametrize(
    ("size", "tokens"), [(100, 40), (10_000, 0), (10_000, 10), (10_000, 99_999)]
)
def test_the_gauge_does_not_believe_everything(size: int, tokens: int) -> None:
    assert Gauge().learned(size, tokens) == Gauge()
