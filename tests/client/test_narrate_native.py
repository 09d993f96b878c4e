"""A native turn told to a person: what was done, what could not be read, and its commit."""

from __future__ import annotations

import io
from typing import Any

import pytest

from podium.render.narrate import Narrator
from podium.render.screen import Screen
from tests.client import stories, whole
from tests.client.fake_daemon import RUN_ID, FakeDaemon, podium


def told(type: str, **data: Any) -> str:
    """What a person sees of one event."""
    stream = io.StringIO()
    at = "2026-05-01T10:00:00.000Z"
    Narrator(Screen(stream)).event(whole.event({"type": type, "at": at, "data": data}))
    return stream.getvalue()


@pytest.mark.parametrize(("success", "sign"), [(True, "\u2713"), (False, "\u2717")])
def test_each_action_is_told_with_what_came_of_it(success: bool, sign: str) -> None:
    result = {"action": "patch", "success": success, "message": "a.py:\n2 lines\x1b[2J"}

    assert told("action.ended", index=0, result=result).strip() == (
        f"{sign} patch: a.py: 2 lines\\x1b[2J"
    )


@pytest.mark.parametrize(
    ("success", "shown", "lines"),
    [
        (True, "2 lines", ["✓ patch: 2 lines"]),
        (False, "failed: 2 lines", ["✗ patch: 2 lines"]),
        (True, "2 lines\nand the output", ["✓ patch: 2 lines", "and the output"]),
        (True, "2 lines more", ["✓ patch: 2 lines", "2 lines more"]),
    ],
)
def test_what_an_action_came_to_is_told_once(success: bool, shown: str, lines: list[str]) -> None:
    stream = io.StringIO()
    narrator = Narrator(Screen(stream))
    result = {"action": "patch", "success": success, "message": "2 lines"}

    narrator.event(stories.event(1, "action.ended", index=0, result=result))
    narrator.event(stories.said(shown, kind="tool_result"))

    assert [line.strip() for line in stream.getvalue().splitlines()] == lines


def test_the_next_tool_may_say_what_an_action_has_said() -> None:
    stream = io.StringIO()
    narrator = Narrator(Screen(stream))
    result = {"action": "patch", "success": True, "message": "ok"}

    narrator.event(stories.event(1, "action.ended", index=0, result=result))
    narrator.event(stories.said("ok", kind="tool_result"))
    narrator.event(stories.said("ok", kind="tool_result"))

    assert [line.strip() for line in stream.getvalue().splitlines()] == ["✓ patch: ok", "ok"]


def test_a_reply_that_cannot_be_read_is_told_with_the_reason() -> None:
    fault = "block 1: the fence is never closed"

    assert told("reply.received", number=2, text="...", fault=fault) == (
        f"  ! reply 2 cannot be read: {fault}\n"
    )
    assert told("reply.received", number=1, text="Well.", said="", fault=None) == ""


def test_a_reply_that_was_not_streamed_here_is_told_when_it_is_whole() -> None:
    text = 'I look.\n```json\n{"action": "search"}\n```\n'

    assert told("reply.received", number=1, text=text, said="I look.\n") == "  I look.\n"


def test_a_commit_is_told_and_one_that_was_not_made_with_the_reason() -> None:
    made = told("effect.ended", effect="commit", state="committed", commit="c0ffee" * 7)
    refused = told("effect.ended", effect="commit", state="refused", detail="lint: 1 error")

    assert made == "  \u2713 committed c0ffeec0ffee\n"
    assert refused == "  nothing committed (refused)\n    lint: 1 error\n"
    assert told("effect.ended", effect="answer:q1", state="delivered") == ""


def test_the_log_says_what_came_of_each_action_and_which_commit_the_turn_made(
    daemon: FakeDaemon,
) -> None:
    result = {"action": "patch", "success": False, "message": "line 9 is out of range"}
    report = {"kind": "done", "commit": "c0ffee"}
    daemon.answers |= {"runs.get": stories.ended_run()}
    daemon.events = [
        stories.event(1, "action.ended", reply=2, index=0, result=result),
        stories.event(2, "turn.ended", report=report, text="Done."),
        stories.ended(3),
    ]

    action, turn, _ = podium(daemon, "runs", "log", RUN_ID).stdout.splitlines()

    assert " action=patch success=false message=line 9 is out of range" in action
    assert turn.endswith(" text=Done. seconds=0.0 cost_usd=0.0000 commit=c0ffee")
