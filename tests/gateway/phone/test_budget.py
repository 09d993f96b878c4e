"""What fits into a frame."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone.protocol import budget, outgoing, outgoing_recipes, outgoing_tools
from podiumd.gateway.phone.protocol.wire import frame
from podiumd.projects.menu import Item
from tests.gateway.phone.samples import (
    SESSION,
    a_command,
    a_file,
    a_question,
    a_recipe,
    a_session,
    read,
)

NOTICE = re.compile(r"\n\[truncated ~([0-9]+) KB\]\n")


def test_a_frame_is_large_until_the_phone_says_how_large() -> None:
    """P-7.1"""
    text = "x" * 200_000

    assert budget.DEFAULT_BYTES == 100 * 1024
    assert len(outgoing_tools.speak(SESSION, text)) == 100 * 1024
    assert len(outgoing_tools.speak(SESSION, text, 50 * 1024)) == 50 * 1024


@pytest.mark.parametrize(
    ("asked", "given_kb"), [(1, 16), (16, 16), (200, 200), (1024, 1024), (10**9, 1024)]
)
def test_the_size_that_is_set_is_acknowledged(asked: int, given_kb: int) -> None:
    """P-7.2"""
    assert budget.kilobytes(asked) == given_kb
    assert read(outgoing.size_ack(asked)) == {
        "type": "ack",
        "message": f"Max message size set to {given_kb} KB",
    }


def test_a_long_text_is_cut_in_the_middle() -> None:
    """P-7.4"""
    text = "a" * 30_000 + "b" * 30_000
    cut = budget.cut(text, budget.MESSAGE_BYTES)

    assert len(cut) == 20 * 1024
    assert re.fullmatch(r"a+\n\[truncated ~39 KB\]\nb+", cut)
    assert cut.count("a") in {cut.count("b"), cut.count("b") + 1}


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert budget.cut("é" * 10_240, 20_480) == "é" * 10_240
    assert budget.cut("short", 20_480) == "short"


@given(st.text(max_size=300), st.integers(-5, 400))
def test_no_cut_splits_a_character_or_is_too_long(text: str, limit: int) -> None:
    """P-7.5"""
    data = text.encode()
    cut = budget.cut(text, limit)

    assert len(cut.encode()) <= max(limit, 0)
    if len(data) <= limit:
        assert cut == text
    else:
        head, *tail = NOTICE.split(cut, maxsplit=1)
        assert text.startswith(head)
        assert not tail or text.endswith(tail[-1])


def test_half_a_character_is_cut_too() -> None:
    assert budget.cut("\ud800" * 50, 40).encode()


@given(st.text(max_size=600), st.integers(60, 400))
def test_a_frame_is_cut_until_it_fits_as_it_is_sent(text: str, limit: int) -> None:
    """P-7.10"""
    sent = outgoing_tools.speak("s-1", text, limit)
    whole = frame("speak", session_id="s-1", text=text)

    assert len(sent) <= limit
    assert sent == whole or len(whole) > limit


def test_a_text_of_control_characters_is_measured_as_json() -> None:
    """P-7.3"""
    sent = outgoing_tools.speak(SESSION, "\x01" * 50_000, 10_240)

    assert 10_240 - 12 <= len(sent) <= 10_240


@pytest.mark.parametrize(
    "build",
    [
        lambda size: outgoing_tools.command_output("cmd-1", "stdout", "\\" * 90_000, size),
        lambda size: outgoing_tools.command_output_full(a_command(), "é" * 90_000, size),
        lambda size: outgoing.response(
            "x" * 90_000, session_id=SESSION, message_id="m", frame_bytes=size
        ),
    ],
)
def test_output_and_answers_are_cut_in_the_middle(build: object) -> None:
    """P-7.10"""
    assert callable(build)
    sent = build(4096)

    assert 4096 - 8 <= len(sent) <= 4096
    assert b"[truncated ~" in sent


def test_a_budget_that_nothing_fits_into_gets_the_empty_text() -> None:
    assert read(outgoing_tools.speak(SESSION, "words", 10))["text"] == ""


def test_lists_lose_their_last_rows() -> None:
    """P-7.9"""
    lists = [
        (outgoing.session_list([a_session()] * 50, 50, 2048)[0], "sessions"),
        (outgoing.recent_sessions([a_session()] * 50, 50, 2048), "sessions"),
        (outgoing_tools.command_history([a_command()] * 50, 50, 2048), "sessions"),
        (outgoing_tools.resources_list([a_file()] * 50, "/home/ada", 2048), "resources"),
        (
            outgoing_recipes.available_recipes([a_recipe(description="x" * 80)] * 50, 2048),
            "recipes",
        ),
        (
            outgoing_tools.available_commands(
                "/", [Item(id="a", label="a" * 40, type="command")] * 50, [], 2048
            ),
            "project_commands",
        ),
    ]
    for sent, key in lists:
        assert 1700 < len(sent) <= 2048, key
        assert 3 < len(read(sent)[key]) < 50, key


@given(st.lists(st.text(max_size=20)), st.integers(0, 300))
def test_a_list_keeps_its_first_rows(names: list[str], limit: int) -> None:
    rows = [{"n": name} for name in names]
    sent = budget.listed({"type": "x", "rows": [], "end": 1}, "rows", rows, limit)
    kept = json.loads(sent)["rows"]

    assert rows[: len(kept)] == kept
    assert len(sent) <= limit or not kept


def test_a_question_that_fits_is_told_whole() -> None:
    question = a_question(input={"content": "x" * 30_000})

    assert read(outgoing_recipes.question(question, 40_960))["input"] == question["input"]


def test_a_large_question_has_its_longest_texts_cut() -> None:
    """P-7.11"""
    question = a_question(
        detail="d" * 200_000, input={"file_path": "/home/ada/x", "edits": [{"new": "n" * 90_000}]}
    )
    sent = outgoing_recipes.question(question, 51_200)
    shown = read(sent)

    assert len(sent) <= 51_200
    assert shown["text"] == question["text"]
    assert shown["input"]["file_path"] == "/home/ada/x"
    assert "[truncated ~" in shown["input"]["edits"][0]["new"]
    assert "[truncated ~" in shown["detail"]


def test_a_question_with_too_many_texts_loses_what_it_is_about() -> None:
    """P-7.11"""
    many = {str(number): number for number in range(5000)}
    without_input = read(outgoing_recipes.question(a_question(input=many), 4096))
    least = len(outgoing_recipes.question(a_question(input=None, detail=None)))
    bare = read(outgoing_recipes.question(a_question(input=many, detail="d" * 80), least))

    assert (without_input["input"], without_input["detail"]) == (None, "make test")
    assert (bare["input"], bare["detail"]) == (None, None)
    assert bare["choices"] == a_question()["choices"]


def test_a_question_no_frame_can_hold_is_still_told() -> None:
    assert read(outgoing_recipes.question(a_question(input=None), 10))["question_id"] == "q-1"
