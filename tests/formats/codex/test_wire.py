"""What the app-server of Codex says, as values."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podiumd.formats.codex import calls, wire
from podiumd.formats.jsonrpc_lines import Answer, Notice, Request
from podiumd.formats.jsonrpc_lines import read as read_line
from podiumd.formats.said import Said, read
from tests.formats import fixtures

SHAPES: dict[str, type[Said]] = {
    "account/rateLimits/updated": wire.RateLimitsNotification,
    "error": wire.ErrorNotification,
    "item/agentMessage/delta": wire.DeltaNotification,
    "item/commandExecution/requestApproval": wire.CommandApproval,
    "item/completed": wire.ItemNotification,
    "item/started": wire.ItemNotification,
    "mcpServer/elicitation/request": wire.Elicitation,
    "serverRequest/resolved": wire.ResolvedNotification,
    "thread/tokenUsage/updated": wire.TokenUsageNotification,
    "turn/completed": wire.TurnNotification,
    "turn/started": wire.TurnNotification,
}


@pytest.mark.parametrize("name", fixtures.exchanges())
def test_a_recorded_line_is_read_whole(name: str) -> None:
    seen = 0
    for line in fixtures.exchange(name, "agent"):
        message = read_line(line)
        if isinstance(message, Notice | Request) and message.method in SHAPES:
            seen += 1
            found = read(SHAPES[message.method], message.params)
            raw = message.params
            said = json.loads(msgspec.json.encode(found))
            assert {key: said[key] for key in said.keys() & raw.keys() if _plain(raw[key])} == {
                key: raw[key] for key in said.keys() & raw.keys() if _plain(raw[key])
            }
        elif isinstance(message, Answer) and isinstance(message.result, dict):
            if "thread" in message.result:
                assert read(wire.OpenedThread, message.result).thread.id
            if "turn" in message.result:
                assert read(wire.BegunTurn, message.result).turn.status == "inProgress"
    assert seen or name == "second-writer-refused"


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | bool | None)


def test_a_notice_has_its_time() -> None:
    assert wire.emitted_at(b'{"method": "error", "emittedAtMs": 5}') == 5
    assert wire.emitted_at(b"{}") == wire.emitted_at(b"torn") == 0
    assert wire.emitted_at(b'{"emittedAtMs": "x"}') == 0


def test_every_struct_reads_with_its_defaults_alone() -> None:
    for shape in set(wire.GIVEN.values()):
        assert read(shape, {}) == shape()


def test_leave_for_once_is_offered_where_the_request_names_it_or_names_nothing() -> None:
    def asked(*offered: object) -> wire.CommandApproval:
        return read(wire.CommandApproval, {"availableDecisions": [*offered]})

    assert read(wire.CommandApproval, {}).takes_yes and asked("cancel", "accept").takes_yes
    assert not asked("acceptForSession", {"accept": {}}).takes_yes and not asked().takes_yes


def test_what_is_asked_is_a_line_under_its_steps_name() -> None:
    greeting, greeted = calls.initialize("1.2")
    assert read_line(greeted) == Notice("initialized")
    asked = [
        greeting,
        calls.read_account(),
        calls.start_thread({"cwd": "/w"}),
        calls.resume_thread("t", {"cwd": "/w"}),
        calls.fork_thread("t", {}),
        calls.start_turn("t", "u", "go", ["/a.png"], {"model": "m"}),
        calls.steer_turn("t", "n", "u", "and"),
        calls.interrupt_turn("t", "n"),
        calls.interrupt_turn("t", "n", "stop:n"),
        calls.list_queued("t"),
        calls.start_queued("queue:1", "t"),
    ]
    found = [read_line(line) for line in asked]
    assert [one.method for one in found if isinstance(one, Request)] == [
        "initialize",
        "account/read",
        "thread/start",
        "thread/resume",
        "thread/fork",
        "turn/start",
        "turn/steer",
        "turn/interrupt",
        "turn/interrupt",
        "thread/queue/list",
        "thread/queue/start",
    ]
    assert [one.id for one in found if isinstance(one, Request)] == [
        *("initialize", "account", "open", "open", "open", "prompt", "steer:u", "interrupt"),
        *("stop:n", "rest", "queue:1"),
    ]
    prompt = found[5]
    assert isinstance(prompt, Request) and prompt.params == {
        "threadId": "t",
        "clientUserMessageId": "u",
        "input": [{"type": "text", "text": "go"}, {"type": "localImage", "path": "/a.png"}],
        "model": "m",
    }
    resumed = found[3]
    assert isinstance(resumed, Request)
    assert resumed.params == {"threadId": "t", "excludeTurns": True, "cwd": "/w"}


def test_only_members_that_are_compared_are_sent() -> None:
    sent = {
        "InitializeParams": calls.initialize("1")[0],
        "ThreadStartParams": calls.start_thread({}),
        "ThreadResumeParams": calls.resume_thread("t", {}),
        "ThreadForkParams": calls.fork_thread("t", {}),
        "TurnStartParams": calls.start_turn("t", "u", "go", [], {}),
        "TurnSteerParams": calls.steer_turn("t", "n", "u", "x"),
        "TurnInterruptParams": calls.interrupt_turn("t", "n"),
        "ThreadQueueListParams": calls.list_queued("t"),
        "ThreadQueueStartParams": calls.start_queued("queue:1", "t"),
    }
    for name, line in sent.items():
        message = read_line(line)
        assert isinstance(message, Request)
        assert message.params.keys() <= {*calls.TAKEN[name]}, name
