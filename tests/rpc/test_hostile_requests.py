"""Malformed, hostile and oversized requests: one clear error each, nothing done, nothing kept."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.long import sampled, spread
from tests.rpc.harness import Harness, served
from tests.rpc.hostile_voice import voice_calls

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
LONE_SURROGATE = b'"\\ud800"'
BIG = 2**53 + 1
SKIPPED_BYTE = b'{"jsonrpc":"2.0","id":1,"method":"daemon.ping","extra":"\xff"}'
"""Not UTF-8 where the decoder does not look: no other line keeps it from being taken as good."""


def call(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def raw(params: bytes, method: bytes = b"runs.get") -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"' + method + b'","params":' + params + b"}"


NOT_JSON: list[bytes] = [
    b"",
    b" ",
    b"\t\r",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"hello",
    b"GET / HTTP/1.1",
    b"Content-Length: 40",
    b"{",
    b"}",
    b"[",
    b"]",
    b'{"jsonrpc"',
    b'{"jsonrpc":"2.0",}',
    b"[1,]",
    b"{'jsonrpc':'2.0'}",
    b'{"jsonrpc":"2.0","id":1,"method":"daemon.ping"',
    b'{"jsonrpc":"2.0","id":1,"method":"daemon.ping"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"daemon.ping"}{"a":1}',
    b'{"jsonrpc":"2.0","id":NaN,"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":Infinity,"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":-Infinity,"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":1e999,"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":01,"method":"daemon.ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"daemon.\xff"}',
    SKIPPED_BYTE,
    b'{"jsonrpc":"2.0","id":1,"method":"a\x01b"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\x41"}',
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000,
    raw(b'{"run_id":' * 50_000 + b"1" + b"}" * 50_000),
    raw(b'{"run_id":' + LONE_SURROGATE + b"}"),
    raw(b'{"run_id":"\\udc00\\ud800"}'),
    raw(b'{"run_id":"\xed\xa0\x80"}'),
    raw(b'{"run_id":"\xff"}'),
    raw(b'{"run_id":"\x00"}'),
    raw(b'{"text":' + LONE_SURROGATE + b"}", b"sessions.prompt"),
    raw(b'{"limit":1e999}', b"runs.list"),
    raw(b'{"limit":' + b"1" * 5000 + b"}", b"runs.list"),
    raw(b"undefined"),
    b"// comment",
    b"null null",
    b"tru",
    b'"',
]
NO_REQUEST: list[bytes] = [
    b"null",
    b"true",
    b"1",
    b"1.5",
    b'"daemon.ping"',
    b"{}",
    b"[]",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","id":1}',
    b'{"method":"daemon.ping","id":1}',
    b'{"jsonrpc":"1.0","method":"daemon.ping","id":1}',
    b'{"jsonrpc":2.0,"method":"daemon.ping","id":1}',
    b'{"jsonrpc":2,"method":"daemon.ping","id":1}',
    b'{"jsonrpc":null,"method":"daemon.ping","id":1}',
    b'{"jsonrpc":["2.0"],"method":"daemon.ping","id":1}',
    b'{"jsonrpc":"2.0","method":null,"id":1}',
    b'{"jsonrpc":"2.0","method":1,"id":1}',
    b'{"jsonrpc":"2.0","method":["daemon.ping"],"id":1}',
    b'{"jsonrpc":"2.0","method":{"name":"daemon.ping"},"id":1}',
    b'{"jsonrpc":"2.0","method":true,"id":1}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":true}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":[1]}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":{"a":1}}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":1,"params":null}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":1,"params":"x"}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":1,"params":1}',
    b'{"jsonrpc":"2.0","method":"daemon.ping","id":1,"params":false}',
    b"[" + b",".join([b"1"] * 1001) + b"]",
]
NO_METHOD: list[bytes] = [
    call(name, {})
    for name in (
        "",
        " ",
        "daemon",
        "daemon.",
        ".ping",
        "daemon.pong",
        "Daemon.Ping",
        "daemon.ping ",
        "daemon.ping\n",
        "daemon.ping\u0000",
        "rpc.discovery",
        "__init__",
        "__class__.__mro__",
        "runs.start; rm -rf /",
        "../daemon.ping",
        "daemon/ping",
        "dаemon.ping",  # a Cyrillic letter  # noqa: RUF001
        "x" * 100_000,
        "\u202egnip.nomead",
        "sessions.lists",
    )
]
BAD_POSITIONS: list[Any] = [-1, "1", 1.5, {}, True, 2**70]
BAD_IDS: list[Any] = [
    "",
    " ",
    "..",
    "../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "run-1\n",
    "run-1\u0000",
    "-rf",
    "_x",
    "$(id)",
    "`id`",
    "a b",
    "a;b",
    "%2e%2e",
    "\u202e1-nur",
    "x" * 129,
    None,
    1,
    1.5,
    True,
    [],
    {},
    ["run-1"],
]
BAD_DIRECTORIES: list[Any] = [
    "",
    ".",
    "..",
    "project",
    "./project",
    "~",
    "~/project",
    "C:\\project",
    "file:///tmp",
    "/tmp\u0000/x",
    "/" + "x" * 5000,
    None,
    1,
    True,
    [],
    {},
]
BAD_FILES: list[Any] = [
    "",
    "r.toml",
    "./r.toml",
    "~/r.toml",
    "file:///r.toml",
    "/r\u0000.toml",
    "/" + "x" * 5000,
    1,
    True,
    [],
    {},
]
BAD_OUTCOMES: list[Any] = [
    None,
    "complete",
    {},
    1,
    [1],
    [None],
    ["a\u0000"],
    ["a\n"],
    ["\u202eetelpmoc"],
    ["x" * 201],
    ["complete"] * 1001,
    [["complete"]],
]
BAD_DIGESTS: list[Any] = [
    "all",
    [],
    ["r"],
    1,
    {"r": ""},
    {"r": "0" * 63},
    {"r": "0" * 65},
    {"r": "G" * 64},
    {"r": None},
    {"r": "0" * 64 + "\n"},
    {"../r": "0" * 64},
    {"": "0" * 64},
]
BAD_FORMATS: list[Any] = ["svg", "", "DOT", None, 1, []]
BAD_REPLIES: list[Any] = [None, "x", {}, [1], ["a\u0000"], [None], ["x"] * 101]
NO_ANY_TEXTS: list[Any] = [1, ["x"], "a\u0000b", {}]
NO_TEXTS: list[Any] = ["", None, 1, [], ["a"], "a\u0000b"]
NO_SWITCHES: list[Any] = ["yes", "true", 1, 0, []]
START = {"recipe": "r", "working_directory": "/tmp"}
BAD_PARAMS: list[bytes] = [
    *(call("runs.get", {"run_id": value}) for value in BAD_IDS),
    *(call("runs.start", START | {"recipe": value}) for value in BAD_IDS),
    *(call("runs.start", START | {"working_directory": value}) for value in BAD_DIRECTORIES),
    *(call("daemon.ping", value) for value in ([], [1], {"x": 1}, {"": 1}, {"self": 1})),
    *(call("daemon.shutdown", {"turns": value}) for value in ("kill", "", None, 1, ["leave"])),
    *(call("daemon.configure", {"orchestration_enabled": v}) for v in NO_SWITCHES),
    *(call("runs.list", {"limit": value}) for value in (0, -1, 1001, 1.5, "10", None, BIG, True)),
    *(call("runs.list", {"active": value}) for value in NO_SWITCHES),
    *(
        call("runs.events", {"run_id": "run-1", "after_seq": value})
        for value in (-1, 1.5, "0", None, BIG, 2**70, True)
    ),
    call("runs.events", {"run_id": "run-1", "follow": None}),
    call("runs.events", {"run_id": "run-1", "folow": True}),
    *(call("events.subscribe", {"types": v}) for v in ("run.ended", [1], [""], ["A"], ["a\n"])),
    *(call("events.subscribe", {"after": value}) for value in (-1, "1", 0.5)),
    call("runs.steer", {"run_id": "run-1"}),
    call("runs.steer", {"text": "x"}),
    *(call("runs.steer", {"run_id": "run-1", "text": v}) for v in NO_TEXTS),
    call("runs.steer", {"run_id": "run-1", "text": "x" * 1024 * 1024}),
    call("sessions.prompt", {}),
    *(call("sessions.prompt", {"text": v}) for v in NO_TEXTS),
    call("sessions.prompt", {"text": "x" * (1024 * 1024 - 4096)}),
    raw(b'{"text":"' + b"\xc3\xa9" * 524_288 + b'"}', b"sessions.prompt"),
    raw(b'{"text":"' + b'\\"' * 524_288 + b'"}', b"sessions.prompt"),
    call("sessions.prompt", {"text": "x" * 8 * 1024 * 1024}),
    call("sessions.prompt", {"text": "x", "if_busy": "wait"}),
    call("sessions.prompt", {"text": "x", "session_id": "../../s"}),
    call("sessions.prompt", {"text": "x", "working_directory": "here"}),
    call("sessions.prompt", {"text": "x", "fork": "yes"}),
    call("sessions.prompt", {"text": "x", "client_token": ""}),
    call("sessions.prompt", {"text": "x", "client_token": "a\nb"}),
    call("sessions.prompt", {"text": "x", "client_token": "x" * 201}),
    call("sessions.prompt", {"text": "x", "agent": "--dangerous"}),
    call("runs.start", START | {"params": []}),
    call("runs.start", START | {"params": {"x": None}}),
    call("runs.start", START | {"params": {"x": []}}),
    call("runs.start", START | {"params": {"x": {"y": 1}}}),
    call("runs.start", START | {"params": {"../x": "1"}}),
    call("runs.start", START | {"params": {"x": "a\u0000"}}),
    call("runs.start", START | {"params": {"x": "y" * 1024 * 1024}}),
    call("runs.start", START | {"on_question": "never"}),
    call("runs.start", START | {"worktree": "yes"}),
    call("runs.start", START | {"agent": "a/b"}),
    call("runs.start", START | {"unknown": 1}),
    call("questions.answer", {"question_id": "q-1"}),
    call("questions.answer", {"answer": "yes"}),
    call("questions.answer", {"question_id": "../q", "answer": "yes"}),
    call("questions.answer", {"question_id": "q-1", "answer": ""}),
    call("questions.answer", {"question_id": "q-1", "answer": True}),
    call("questions.answer", {"question_id": "q-1", "answer": "yes", "note": 1}),
    call("recipes.get", {}),
    call("recipes.get", {"id": "../../etc/passwd"}),
    call("recipes.list", {"working_directory": "x"}),
    call("recipes.outcome", {"id": "r", "step": "s"}),
    call("recipes.outcome", {"id": "r", "step": "s/../t", "text": "x"}),
    call("recipes.outcome", {"id": "r", "step": "s", "text": None}),
    call("recipes.get", {"id": "r", "working_directory": "r"}),
    *(call("recipes.check", {"path": value}) for value in BAD_FILES),
    *(call("recipes.check", {"text": value}) for value in NO_ANY_TEXTS),
    *(call("recipes.check", {"id": value}) for value in ("", "../r", "a/b", "r\n", 1, "x" * 129)),
    call("recipes.check", {"text": "", "working_directory": "here"}),
    call("recipes.check", {"txt": ""}),
    call("recipes.simulate", {"id": "r"}),
    call("recipes.simulate", {"outcomes": ["complete"]}),
    *(call("recipes.simulate", {"id": "r", "outcomes": value}) for value in BAD_OUTCOMES),
    *(call("recipes.simulate", {"id": v, "outcomes": []}) for v in ("", "../r", "a/b", None, 1)),
    call("recipes.paths", {}),
    call("recipes.paths", {"id": "$(id)"}),
    call("recipes.paths", {"id": "r", "most": 10**9}),
    call("recipes.graph", {"format": "dot"}),
    *(call("recipes.graph", {"id": "r", "format": v}) for v in BAD_FORMATS),
    call("recipes.rehearse", {"id": "r", "replies": []}),
    call("recipes.rehearse", {"id": "r", "step": "s"}),
    call("recipes.rehearse", {"id": "r", "step": "../s", "replies": []}),
    *(
        call("recipes.rehearse", {"id": "r", "step": "s", "replies": value})
        for value in BAD_REPLIES
    ),
    call("recipes.trust", {}),
    *(call("recipes.trust", {"working_directory": value}) for value in BAD_DIRECTORIES),
    *(
        call("recipes.trust", {"working_directory": "/p", "digests": value})
        for value in BAD_DIGESTS
    ),
    *(call(f"sessions.{m}", {}) for m in ("get", "messages", "subscribe", "unsubscribe")),
    *(call("sessions.get", {"session_id": bad}) for bad in BAD_IDS),
    *(call("sessions.messages", {"session_id": "s", "after_seq": v}) for v in BAD_POSITIONS),
    *(call("sessions.messages", {"session_id": "s", "limit": v}) for v in (0, 1001, True)),
    call("sessions.subscribe", {"session_id": "s", "follow": True}),
    *(call("sessions.list", {"limit": v}) for v in (0, -1, 1001, "10")),
    *(call("sessions.list", {"before": v}) for v in ("", "now", "2026-01-01T00:00:00Z; DROP", 5)),
    call("sessions.list", {"working_directory": "relative"}),
    call("sessions.forget", {}),
    call("sessions.compact", {"session_id": "../x"}),
    call("sessions.interrupt", {}),
    call("sessions.interrupt", {"session_id": None}),
    call("sessions.interrupt", {"session_id": "s\u0000"}),
    call("sessions.locks", {"all": True}),
    *(call(method, given) for method, given in voice_calls(BAD_FILES, NO_SWITCHES)),
]
HOSTILE: list[tuple[int, bytes]] = [
    *((PARSE, line) for line in NOT_JSON),
    *((REQUEST, line) for line in NO_REQUEST),
    *((METHOD, line) for line in NO_METHOD),
    *((PARAMS, line) for line in BAD_PARAMS),
]
ALWAYS = (PARSE, SKIPPED_BYTE)
PLAYED = [ALWAYS, *spread([case for case in HOSTILE if case != ALWAYS], 60)]


def check(answer: Any, code: int, line: bytes) -> None:
    """One error with a sentence for a person and no words of a library."""
    shown = line[:80]
    assert set(answer) == {"jsonrpc", "error", "id"}, shown
    assert answer["error"]["code"] == code, (shown, answer)
    message = answer["error"]["message"]
    assert 20 < len(message) < 600 and message.endswith("."), message
    assert message.isprintable(), message
    for alien in ("msgspec", "Traceback", "Decode", "`", "$.", "NoneType", "Struct"):
        assert alien not in message.replace("'`id`'", ""), message
    if code == PARAMS:
        assert isinstance(answer["error"]["data"]["parameter"], str), message


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 180 and len({line for _, line in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize(("code", "line"), PLAYED, ids=range(len(PLAYED)))
async def test_a_hostile_line_gets_one_clear_error_and_changes_nothing(
    code: int, line: bytes, tmp_path: Path
) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        check(await client.ask(line), code, line)
        assert daemon.service.calls == []
        assert await client.result("daemon.ping") == {"pong": True}


@pytest.mark.parametrize("requests", sampled([HOSTILE[::8], HOSTILE]), ids=["some", "all"])
async def test_all_of_them_again_and_again_leave_no_memory_behind(
    tmp_path: Path, requests: list[tuple[int, bytes]]
) -> None:
    """Counted is what is allocated: what the process holds depends on the allocator's luck."""

    async def play(daemon: Harness) -> int:
        async with daemon.client() as client:
            for code, line in requests:
                check(await client.ask(line), code, line)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    async with served(tmp_path) as daemon:
        await play(daemon)  # what is loaded and remembered once
        tracemalloc.start()
        try:
            used = [await play(daemon) for _ in range(3)]
        finally:
            tracemalloc.stop()
        assert daemon.service.calls == []
    assert used[-1] - used[0] < 128 * 1024


async def test_a_text_that_just_fits_is_taken(tmp_path: Path) -> None:
    """The bound is on the bytes of the agent's line, letters outside ASCII counted as UTF-8."""
    async with served(tmp_path) as daemon, daemon.client() as client:
        await client.result("sessions.prompt", text="x" * 1_000_000)
        line = raw(b'{"text":"' + "é".encode() * 500_000 + b'"}', b"sessions.prompt")
        assert "result" in await client.ask(line)
        assert len(daemon.service.calls) == 2
