"""A prompt of ours, looked for in the session file of Codex."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.codex.rollout import Trace, arguments_of, trace
from tests.formats import fixtures


def event(type: str, **payload: Any) -> bytes:
    return json.dumps({"type": "event_msg", "payload": {"type": type, **payload}}).encode()


def row(text: str) -> bytes:
    about = {"content_item_kinds": ["user.text"]}
    payload = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
        "internal_chat_message_metadata_passthrough": about,
    }
    return json.dumps({"type": "response_item", "payload": payload}).encode()


def named(uuid: str | None) -> bytes:
    return event("item_completed", item={"type": "UserMessage", "client_id": uuid})


BEGINS = event("task_started")


@pytest.mark.parametrize(
    ("name", "uuid", "later", "expected"),
    [
        ("killed-resumed", "u1", (), Trace(recorded=True)),
        ("killed-resumed", "u2", (), Trace(recorded=True)),
        ("killed-resumed", "u3", ("u4",), Trace()),
        ("steer", "u1", ("s1", "s2", "u2"), Trace(recorded=True, delivered=("s1", "u2"))),
        ("interrupt", "u3", (), Trace(recorded=True)),
        ("compacted", "id6", (), Trace(recorded=True)),
        ("forked", "id7", (), Trace(recorded=True)),
        ("forked", "id6", (), Trace()),
    ],
)
def test_a_recorded_prompt_is_found_by_our_id(
    name: str, uuid: str, later: tuple[str, ...], expected: Trace
) -> None:
    assert trace(fixtures.rollout(name).splitlines(), uuid, later) == expected


def test_a_row_whose_id_was_not_written_any_more_is_the_prompt() -> None:
    assert trace([BEGINS, row("go")], "u").recorded
    assert trace([BEGINS, row("go"), named("u"), row("and")], "v").recorded
    assert not trace([BEGINS, row("go"), named("x")], "u").recorded
    assert not trace([BEGINS, row("go"), BEGINS], "u").recorded
    assert not trace([BEGINS, named(None), b"torn", b"{}", event("item_completed")], "u").recorded


def test_every_cut_within_a_turn_tells_the_prompt_once_its_row_is_there() -> None:
    lines = fixtures.rollout("killed-resumed").splitlines()
    told = [trace(lines[:end], "u1").recorded for end in range(13)]
    assert told == [False] * 8 + [True] * 5


def test_what_a_call_was_given_stands_there_before_leave_is_asked_for() -> None:
    lines = fixtures.rollout("subagent").splitlines()
    given = {"cmd": "touch subfile", "sandbox_permissions": "require_escalated"}
    assert arguments_of(lines, "call_0009_0") == {**given, "justification": "sub"}
    assert arguments_of(lines, "call_0009_1") is None
    payload = {"type": "function_call", "call_id": "c", "arguments": "{torn"}
    odd = json.dumps({"type": "response_item", "payload": payload}).encode()
    assert arguments_of([odd, b"c"], "c") is None
