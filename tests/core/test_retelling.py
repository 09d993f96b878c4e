"""How a native turn is told back to its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.prompts.history import (
    LastLines,
    Seen,
    cut_middle,
    did,
    feedback,
    known_after,
    outdated,
    readings,
    reply_text,
    said_after,
    shortened,
    stale,
    summary_of,
    working_set,
)
from podiumd.core.reply.actions import Action
from podiumd.core.run.native_loop_state import ActionState, CommitNote, LoopState
from podiumd.core.sizes import size_of
from tests.core.rounds import changed, digest, ended, read, turn


def told(loop: LoopState, digests: Mapping[str, str | None] | None = None, **how: Any) -> str:
    present = loop.present
    assert present is not None
    said = said_after(loop).get(present.number, ())
    return feedback(present, said, old=stale(readings(present), digests or {}), **how)


def known(loop: LoopState) -> dict[str, Seen]:
    return working_set(chain.from_iterable(map(known_after, loop.rounds)))


def test_each_result_has_a_head_in_json_and_its_output_as_it_is() -> None:
    actions = (ended("run_command", 'say "hi"', command="x"), ended("search", query="y"))

    text = told(turn(("reply", actions)))

    first, second = text.split("\n\n", 1)
    assert first.splitlines()[0] == "Result 1 of 2:"
    assert json.loads(first.splitlines()[1]) == {
        "action": "run_command",
        "success": True,
        "message": "exit code 0",
        "critical": False,
    }
    assert first.endswith('\noutput:\nsay "hi"')
    assert second.startswith("Result 2 of 2:") and "output" not in second


def test_an_action_that_is_not_over_is_not_told() -> None:
    waiting = ActionState(action=Action("run_command", {"command": "x"}))

    assert "Result 2" not in told(turn(("reply", (ended("search"), waiting))))


def test_a_fault_says_why_and_that_nothing_was_done() -> None:
    text = told(turn(("reply", ()), fault="block 2 is no JSON"))

    assert "could not be used: block 2 is no JSON. Nothing of it was done." in text


def test_a_refused_commit_goes_back_with_what_the_hook_said() -> None:
    note = CommitNote("refused", None, "lint: a.py:3")

    assert "lint: a.py:3" in told(turn(("reply", ()), commit=note))


def test_words_of_the_person_are_told_where_they_were_said() -> None:
    loop = turn(("one", ()), words=((0, "at once"), (1, "and now")))

    assert said_after(loop) == {0: ("at once",), 1: ("and now",)}
    assert told(loop) == "The person says:\nand now"


def test_nothing_to_tell_is_still_a_message() -> None:
    assert told(turn(("one", ()))) == "Go on."


@pytest.mark.parametrize(("text", "sent"), [("x", "x"), ("", "(nothing)"), (" \n", "(nothing)")])
def test_an_empty_reply_is_stood_in_for(text: str, sent: str) -> None:
    assert reply_text(turn((text, ())).rounds[0]) == sent


def test_the_working_set_is_what_was_read_or_written_the_latest_last() -> None:
    failed = ended("read_file", success=False, path="gone.py")
    headless = ended("read_file", "an old form", path="odd.py")
    loop = turn(
        ("1", (read("a.py", "a"), read("b.py", "b"), failed, headless)),
        ("2", (changed("patch", "a.py", "a", "c"), changed("write_file", "d.py", "0", "d"))),
        ("3", (ActionState(action=Action("read_file", {"path": "b.py"})),)),
    )

    assert list(known(loop).items()) == [
        ("b.py", Seen(digest("b"), whole=True)),
        ("a.py", Seen(digest("c"), whole=False)),
        ("d.py", Seen(digest("d"), whole=True)),
    ]


def test_outdated_is_what_the_model_does_not_know_as_it_is_now() -> None:
    """Patched files count: their lines have moved. Those that are gone cannot be shown."""
    actions = (
        read("same.py", "a"),
        read("other.py", "b"),
        read("gone.py", "c"),
        changed("patch", "patched.py", "d", "e"),
        changed("write_file", "written.py", "f", "9"),
    )
    now = {
        "same.py": digest("a"),
        "other.py": digest("8"),
        "gone.py": None,
        "patched.py": digest("e"),
        "written.py": digest("9"),
    }

    assert outdated(known(turn(("1", actions))), now) == ("patched.py", "other.py")


def test_lines_of_an_older_version_are_left_out_and_said_so() -> None:
    loop = turn(("1", (read("a.py", "a"), read("b.py", "b"), read("c.py", "c"))))

    text = told(loop, digests={"a.py": digest("a"), "b.py": digest("9")})

    assert text.count("x = 1") == 2
    assert "[left out: b.py has changed since" in text


def test_long_outputs_can_be_left_out_and_short_ones_stay() -> None:
    loop = turn(("1", (ended("search", "short"), ended("search", "z" * 5000))))

    text = told(loop, outputs=False)

    assert "short" in text and "zz" not in text
    assert "[5000 characters left out to save room; do the action again" in text


def test_outputs_can_be_cut_to_a_room() -> None:
    text = told(turn(("1", (ended("search", "a" * 500 + "b" * 500),))), room=300)

    assert "a" * 200 in text and text.endswith("b" * 100)
    assert "[... 700 characters left out to save room ...]" in text


def test_a_reply_is_summarised_by_what_was_said_and_done() -> None:
    actions = (
        ended("run_command", "x" * 999, success=False, command="make test"),
        ended("done"),
        ActionState(action=Action("search", {"query": "y"})),
    )
    text = 'I test it.\n```json\n{"action": "run_command", "command": "make test"}\n```\n'
    note = CommitNote("refused", None, "no subject")
    loop = turn((text, actions), words=((1, "hurry"),), commit=note)

    assert summary_of(loop.rounds[0], said_after(loop)[1]) == [
        "- you said: I test it.",
        "- run_command make test: failed: exit code 0",
        "- done: ok: exit code 0",
        "- the commit was refused: no subject",
        "- the person said: hurry",
    ]


def test_a_reply_that_could_not_be_used_is_summarised_as_such() -> None:
    loop = turn(("```json\n{", ()), fault="not closed")

    assert summary_of(loop.rounds[0]) == ["- a reply that could not be used: not closed"]


def test_a_reply_without_words_and_a_result_without_a_message_make_no_empty_lines() -> None:
    loop = turn(("", ()))
    silent = ended("search", query="q")
    assert silent.result is not None

    assert summary_of(loop.rounds[0]) == []
    assert did(silent).startswith("search q: ok: ")


@given(st.text(max_size=400), st.integers(4, 200))
def test_shortened_is_one_short_line(text: str, most: int) -> None:
    line = shortened(text, most)

    assert len(line) <= most and "\n" not in line


@given(st.text(max_size=300), st.integers(0, 300))
def test_a_cut_text_says_how_much_is_gone(text: str, most: int) -> None:
    cut = cut_middle(text, most)

    if len(text) <= most:
        assert cut == text
    else:
        assert f"[... {len(text) - most} characters left out to save room ...]" in cut


@given(st.lists(st.text("abé", max_size=9), max_size=20), st.integers(0, 100))
def test_of_many_lines_the_last_stay_and_the_others_are_counted(
    lines: list[str], room: int
) -> None:
    last = LastLines(lines)
    kept = last.within(room)

    assert last.size(room) == sum(size_of(line) + 1 for line in kept)

    if kept == lines:
        assert sum(len(line) + 1 for line in lines) <= room
    else:
        gone = len(lines) - len(kept) + 1
        assert kept[0] == f"- [{gone} older lines left out to save room]"
        assert kept[1:] == lines[gone:]
        assert sum(len(line) + 1 for line in kept[1:]) <= room
