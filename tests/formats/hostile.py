"""Lines that a session file may hold though no agent should have written them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

DEEP = b'{"type": "user", "message": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
NESTED = b'{"type": "user", "uuid": "n", "message": {"content": ' + b"[" * 500 + b"]" * 500 + b"}}"
BROKEN = [
    b"",
    b"   \t\r",
    b"\x00" * 40,
    b'{"type": "user", "message": {"content": "torn',
    b"[1, 2]",
    b"17",
    b"null",
    b'"user"',
    b'{"type": "user"} {"type": "user"}',
    b'{"type": "user"',
    b"}",
    b'{"type":',
    b'{"type": "user", "x": NaN}',
    b'{"type": "user", "x": -Infinity}',
    '{"type": "user"}'.encode("utf-16"),
    '{"type": "user"}'.encode("utf-32-le"),
    DEEP,
]
ODD = [
    b'\xef\xbb\xbf{"type": "user", "message": {"content": "after a mark"}}',
    b'{"type": "user", "message": {"content": "half \\ud83d a pair"}}',
    b'{"type": "user", "uuid": "half \\ud83d a pair", "message": {"content": "x"}}',
    b'{"type": "user", "message": {"content": "not \xff\xfe UTF-8"}}',
    b'{"type": "user", "x": 1e999, "message": {"content": "beyond"}}',
    b'{"type": "user", "x": ' + b"9" * 5000 + b', "message": {"content": "beyond"}}',
    b'  {"type": "user", "message": {"content": "indented"}}\r',
    b'{"type": "user", "type": "assistant", "message": {"content": "twice"}}',
    b'{"type": "user", "type": 5}',
    b'{"ty\\u0070e": "user", "message": {"content": "escaped name"}}',
    b'{"type": "user"\r, "message": {"content": "a return"}}',
    NESTED,
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
UUIDS = st.sampled_from(
    [
        "11111111-1111-4111-8111-111111111111",
        "22222222-2222-4222-8222-222222222222",
        "33333333333333333333333333333333",
        "a name",
        "",
    ]
)
TIMES = st.sampled_from(
    ["2026-11-21T20:45:09.750Z", "2026-11-21T20:45:09+02:00", "2026-13-01T00:00:00Z", "soon", ""]
)
_WORDS = ["text", "tool_result", "tool_use", "image", "thinking", "input_text", "output_text"]
_BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(_WORDS)},
    optional={
        "text": st.text() | JSON,
        "thinking": st.text() | JSON,
        "content": st.text() | JSON,
        "input": JSON,
        "source": JSON,
        "image_url": JSON,
    },
)
CONTENT = st.text() | JSON | st.lists(_BLOCK | JSON, max_size=3)


def _or_odd(shape: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(shape, shape, shape, JSON)


CLAUDE = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(
            st.sampled_from(
                ["user", "assistant", "attachment", "system", "summary", "custom-title", "ai-title"]
            )
        ),
        "uuid": _or_odd(UUIDS),
        "parentUuid": _or_odd(UUIDS | st.none()),
        "isSidechain": _or_odd(st.booleans()),
        "isMeta": _or_odd(st.just(value=False)),
        "isCompactSummary": st.booleans(),
        "message": _or_odd(st.fixed_dictionaries({"content": CONTENT})),
        "attachment": _or_odd(
            st.fixed_dictionaries(
                {"type": st.sampled_from(["queued_command", "date"]), "prompt": CONTENT},
                optional={"commandMode": _or_odd(st.sampled_from(["prompt", "bash"]))},
            )
        ),
        "toolUseResult": JSON,
        "sourceToolAssistantUUID": _or_odd(UUIDS),
        "timestamp": _or_odd(TIMES),
        "cwd": _or_odd(st.text()),
        "customTitle": _or_odd(st.text()),
        "aiTitle": _or_odd(st.text()),
        "summary": _or_odd(st.text()),
    },
)
CODEX = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(st.sampled_from(["response_item", "session_meta", "turn_context"])),
        "timestamp": _or_odd(TIMES),
        "payload": _or_odd(
            st.fixed_dictionaries(
                {},
                optional={
                    "type": _or_odd(
                        st.sampled_from(
                            [
                                "message",
                                "reasoning",
                                "function_call",
                                "custom_tool_call",
                                "local_shell_call",
                                "function_call_output",
                            ]
                        )
                    ),
                    "role": _or_odd(st.sampled_from(["user", "assistant", "developer"])),
                    "cwd": _or_odd(st.text()),
                    "content": CONTENT,
                    "summary": CONTENT,
                    "arguments": JSON | st.just('{"a": 1}'),
                    "output": CONTENT | st.fixed_dictionaries({"content": CONTENT}),
                },
            )
        ),
    },
)

NATIVE = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(st.sampled_from(["session", "prompt", "reply", "results", "notice"])),
        "uuid": _or_odd(UUIDS),
        "timestamp": _or_odd(TIMES),
        "cwd": _or_odd(st.text()),
        "text": _or_odd(st.text()),
        "said": _or_odd(st.text()),
        "actions": _or_odd(
            st.lists(
                _or_odd(
                    st.fixed_dictionaries(
                        {}, optional={"id": UUIDS, "name": _or_odd(st.text()), "args": JSON}
                    )
                ),
                max_size=3,
            )
        ),
        "results": _or_odd(
            st.lists(
                _or_odd(
                    st.fixed_dictionaries(
                        {}, optional={"id": UUIDS, "message": _or_odd(st.text()), "output": JSON}
                    )
                ),
                max_size=3,
            )
        ),
    },
)


_PART = st.one_of(
    st.text(max_size=8),
    st.fixed_dictionaries(
        {},
        optional={
            "text": _or_odd(st.text()),
            "type": _or_odd(st.sampled_from(["text", "think", "image_url"])),
            "think": _or_odd(st.text()),
            "thought": _or_odd(st.booleans()),
            "functionCall": _or_odd(st.fixed_dictionaries({"id": UUIDS, "args": JSON})),
            "functionResponse": _or_odd(
                st.fixed_dictionaries({"id": UUIDS, "response": JSON | st.just({"output": "x"})})
            ),
            "inlineData": _or_odd(st.just({"mimeType": "image/png", "data": "AAAA"})),
        },
    ),
)
_PARTS = st.lists(_PART | JSON, max_size=3) | st.text() | JSON
QWEN = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(st.sampled_from(["user", "assistant", "tool_result", "system"])),
        "subtype": _or_odd(st.sampled_from(["notification", "custom_title", "rewind"])),
        "uuid": _or_odd(UUIDS),
        "parentUuid": _or_odd(UUIDS | st.none()),
        "isSidechain": _or_odd(st.booleans()),
        "timestamp": _or_odd(TIMES),
        "cwd": _or_odd(st.text()),
        "message": _or_odd(st.fixed_dictionaries({"parts": _PARTS})),
        "systemPayload": _or_odd(st.dictionaries(st.just("customTitle"), st.text() | JSON)),
    },
)
_CALL = st.fixed_dictionaries(
    {}, optional={"id": _or_odd(UUIDS), "name": _or_odd(st.text()), "args": JSON, "type": JSON}
)
GEMINI = st.fixed_dictionaries(
    {},
    optional={
        "id": _or_odd(UUIDS),
        "type": _or_odd(st.sampled_from(["user", "gemini", "info"])),
        "timestamp": _or_odd(TIMES),
        "content": _PARTS,
        "displayContent": _PARTS,
        "thoughts": _or_odd(st.lists(st.dictionaries(st.just("subject"), JSON), max_size=2)),
        "toolCalls": _or_odd(st.lists(_CALL | JSON, max_size=3)),
        "name": _or_odd(st.text()),
        "$set": _or_odd(st.dictionaries(st.just("summary"), st.text() | JSON)),
        "$rewindTo": _or_odd(UUIDS),
    },
)
KIMI = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(
            st.sampled_from(
                ["context.append_message", "context.append_loop_event", "context.undo", "forked"]
            )
        ),
        "time": _or_odd(st.integers(0, 10**13) | st.floats()),
        "message": _or_odd(
            st.fixed_dictionaries(
                {},
                optional={
                    "role": _or_odd(st.sampled_from(["user", "assistant"])),
                    "id": _or_odd(UUIDS),
                    "content": _PARTS,
                    "origin": _or_odd(st.just({"kind": "user"})),
                    "toolCalls": JSON | st.lists(_CALL, max_size=2),
                },
            )
        ),
        "event": _or_odd(
            st.fixed_dictionaries(
                {},
                optional={
                    "type": _or_odd(st.sampled_from(["content.part", "tool.call", "tool.result"])),
                    "uuid": _or_odd(UUIDS),
                    "part": _PART,
                    "result": JSON | st.fixed_dictionaries({"output": _PARTS}),
                },
            )
        ),
    },
)
COPILOT = st.fixed_dictionaries(
    {},
    optional={
        "type": _or_odd(
            st.sampled_from(
                [
                    "user.message",
                    "assistant.message",
                    "tool.execution_complete",
                    "session.snapshot_rewind",
                    "session.title_changed",
                ]
            )
        ),
        "id": _or_odd(UUIDS),
        "agentId": _or_odd(st.just("")),
        "timestamp": _or_odd(TIMES),
        "data": _or_odd(
            st.fixed_dictionaries(
                {},
                optional={
                    "content": _or_odd(st.text()),
                    "source": _or_odd(st.sampled_from(["user", "skill-pdf"])),
                    "reasoningText": _or_odd(st.text()),
                    "toolRequests": _or_odd(st.lists(_CALL, max_size=2)),
                    "attachments": _or_odd(st.lists(st.dictionaries(st.text(), JSON), max_size=2)),
                    "context": _or_odd(st.dictionaries(st.just("cwd"), st.text() | JSON)),
                    "result": JSON,
                    "title": _or_odd(st.text()),
                },
            )
        ),
    },
)


def _encode(record: object) -> st.SearchStrategy[list[bytes]]:
    plain = json.dumps(record).encode()
    raw = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    tight = json.dumps(record, separators=(",", ":")).encode()
    # One record over several lines, as no writer of JSON lines makes it: all of them are broken.
    spread = json.dumps(record, indent=1).encode().split(b"\n")
    return st.sampled_from([[plain], [plain], [raw], [tight], spread])


_ANY = st.one_of(
    CLAUDE.flatmap(_encode),
    CODEX.flatmap(_encode),
    NATIVE.flatmap(_encode),
    QWEN.flatmap(_encode),
    GEMINI.flatmap(_encode),
    KIMI.flatmap(_encode),
    COPILOT.flatmap(_encode),
    st.sampled_from(BROKEN + ODD).map(lambda line: [line]),
    st.binary(max_size=20).map(lambda line: [line.replace(b"\n", b" ")]),
)
LINES = st.lists(_ANY, max_size=8).map(lambda groups: [line for group in groups for line in group])
"""Lines without their newlines."""
