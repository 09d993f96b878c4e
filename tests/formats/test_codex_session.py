"""Codex's session files as summaries, entries and messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.codex_session import CodexSession
from podiumd.formats.message import (
    Block,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from podiumd.formats.session import Cursor, Summary, identity_of_line, uuid_of
from tests.formats import fixtures

FORMAT = CodexSession()
NEWER = ("interrupt", "killed-resumed", "steer", "compacted", "forked", "subagent")
DATA_URL = "data:image/png;base64,AAAA"


def item(type: str, **payload: Any) -> bytes:
    record = {"timestamp": "", "type": "response_item", "payload": {"type": type, **payload}}
    return json.dumps(record).encode()


def user(*texts: str, kinds: list[str] | None = None) -> bytes:
    about = {} if kinds is None else {"content_item_kinds": kinds}
    content = [{"type": "input_text", "text": text} for text in texts]
    passed = {"internal_chat_message_metadata_passthrough": about}
    return item("message", role="user", content=content, **passed)


def assistant(*texts: str) -> bytes:
    content = [{"type": "output_text", "text": text} for text in texts]
    return item("message", role="assistant", content=content)


def folded(*lines: bytes) -> Summary:
    summary = Summary()
    FORMAT.fold(summary, b"".join(line + b"\n" for line in lines))
    return summary


def message(line: bytes) -> Message:
    found = FORMAT.message(line)
    assert found is not None
    return found


def blocks(line: bytes) -> tuple[Block, ...]:
    return message(line).blocks


def recorded(name: str) -> list[Message]:
    data = fixtures.rollout(name)
    return [
        message(data[entry.offset : entry.offset + entry.length])
        for entry in FORMAT.entries(Cursor(), data)
    ]


def test_a_recorded_rollout_is_summed_up() -> None:
    summary = Summary()
    FORMAT.fold(summary, fixtures.rollout("tools"))
    assert summary == Summary(
        cwd="/home/dev/app",
        prompt="Run the shell, please: two lines",
        preview="It says hello.",
        first_at="2026-11-22T02:32:56.065Z",
        last_at="2026-11-22T02:32:56.407Z",
        messages=7,
        lines=26,
    )


def test_the_messages_of_a_recorded_conversation_are_what_was_said_in_it() -> None:
    said = [(one.role, one.blocks) for one in recorded("text-resumed")]
    assert said == [
        ("user", (Text("Say something."),)),
        ("assistant", (Thinking("**Thinking of words**\n\nFew will do."),)),
        ("assistant", (Text("The first answer, in words."),)),
        ("user", (Text("And go on."),)),
        ("assistant", (Text("Resumed and answered."),)),
    ]


def test_a_resume_leaves_what_was_there_as_it_was() -> None:
    before = recorded("text")
    assert recorded("text-resumed")[: len(before)] == before
    assert len(before) == 3


def test_recorded_calls_of_tools_have_their_results() -> None:
    prompt, words, first, second, good, bad, last = recorded("tools")
    assert prompt.text == "Run the shell, please:\n  two  lines"
    assert (words.text, last.text) == ("Let me look.", "It says hello.")
    assert first.blocks == (ToolUse("call_1", "exec_command", {"cmd": "echo hello-from-shell"}),)
    assert second.blocks == (ToolUse("call_2", "exec_command", {"cmd": "echo no >&2; exit 3"}),)
    assert [one.role for one in (first, good)] == ["assistant", "user"]
    (done,), (failed,) = good.blocks, bad.blocks
    assert isinstance(done, ToolResult)
    assert isinstance(failed, ToolResult)
    assert (done.tool_use_id, done.is_error) == ("call_1", False)
    assert (failed.tool_use_id, failed.is_error) == ("call_2", True)
    assert done.text.endswith("Output:\nhello-from-shell\n")


def test_a_recorded_tool_may_be_run_from_code() -> None:
    _, call, result, _ = recorded("code")
    (use,) = call.blocks
    assert isinstance(use, ToolUse)
    assert use.name == "exec"
    assert use.input["input"].endswith("text(r.output);")
    assert result.blocks == (
        ToolResult("call_3", "Script completed\nWall time 0.1 seconds\nOutput:\nfrom-code"),
    )


def test_a_recorded_picture_comes_without_the_tags_around_it() -> None:
    assert recorded("image")[0].blocks == (Image("image/png", 72), Text("What is this?"))


@given(st.text(), st.booleans())
def test_what_a_person_types_comes_back_byte_for_byte(words: str, ascii: bool) -> None:
    payload = json.loads(user(words, kinds=["user.text"]))
    line = json.dumps(payload, ensure_ascii=ascii).encode()
    assert message(line).text == words
    assert blocks(line) == (Text(words),)


@pytest.mark.parametrize(
    "line",
    [
        user("<environment_context>\n  <cwd>/</cwd>\n</environment_context>"),
        user("<user_instructions>short</user_instructions>"),
        user("# AGENTS.md instructions for /home/dev/app\n\n<INSTRUCTIONS>"),
        user("anything", kinds=["agents_md.instructions", "environments.environment_context"]),
        item("message", role="developer", content=[{"type": "input_text", "text": "be brief"}]),
        item("message", role="system", content=[]),
        item("message"),
        item("reasoning", summary=[], encrypted_content="secret"),
        item("reasoning", summary=[{"type": "summary_text", "text": ""}, 3]),
        item("additional_tools", role="developer"),
        item("web_search_call"),
        json.dumps({"type": "event_msg", "payload": {"type": "message", "role": "user"}}).encode(),
        json.dumps({"type": "compacted", "payload": {"message": "all so far"}}).encode(),
        json.dumps({"type": "response_item", "payload": []}).encode(),
        json.dumps({"type": "response_item"}).encode(),
        json.dumps({"type": "session_meta"}).encode(),
        json.dumps({"type": "turn_context", "payload": {"cwd": 5}}).encode(),
    ],
)
def test_instructions_surroundings_and_events_are_opaque(line: bytes) -> None:
    assert FORMAT.message(line) is None
    assert folded(line) == Summary(lines=1)


@pytest.mark.parametrize("kinds", [["user.text"], ["unknown", "user.image"]])
def test_what_codex_calls_a_users_is_a_message_whatever_it_says(kinds: list[str]) -> None:
    line = user("<environment_context> means what?", kinds=kinds)
    assert message(line).text == "<environment_context> means what?"


@pytest.mark.parametrize("kinds", [None, [], ["unknown"]])
def test_without_kinds_a_users_row_is_told_by_its_first_words(kinds: list[str] | None) -> None:
    assert message(user("hello", kinds=kinds)).text == "hello"
    assert FORMAT.message(user("<environment_context>", kinds=kinds)) is None
    assert message(user(kinds=kinds)).blocks == ()


def test_every_kind_of_call_is_a_tool_use() -> None:
    call = {"call_id": "c", "name": "run"}
    action = {"type": "exec", "command": ["ls"]}
    assert blocks(item("function_call", arguments='{"a": 1}', **call)) == (
        ToolUse("c", "run", {"a": 1}),
    )
    for odd in ("{torn", "[1]", ""):
        assert blocks(item("function_call", arguments=odd, **call)) == (
            ToolUse("c", "run", {"arguments": odd}),
        )
    assert blocks(item("custom_tool_call", input="code", **call)) == (
        ToolUse("c", "run", {"input": "code"}),
    )
    assert blocks(item("local_shell_call", action=action, call_id="c")) == (
        ToolUse("c", "local_shell", action),
    )


@pytest.mark.parametrize(
    ("output", "words", "failed"),
    [
        ("plain", "plain", False),
        ("Wall time: 1 s\nProcess exited with code 0\nOutput:\n", None, False),
        ("Wall time: 1 s\nProcess exited with code -9\nOutput:\n", None, True),
        ("Process exited with code " + "9" * 5000 + "\n", None, False),
        ("1\n2\n3\n4\n5\nProcess exited with code 1\n", None, False),
        ({"content": "refused", "success": False}, "refused", True),
        ({"content": "done", "success": True}, "done", False),
        ({"content": [{"type": "input_text", "text": "done"}]}, "done", False),
        (
            [{"type": "input_text", "text": "a\n"}, {"type": "input_image", "image_url": DATA_URL}],
            "a\n[image, image/png, 3 bytes]",
            False,
        ),
        (None, "", False),
        (5, "", False),
    ],
)
def test_every_kind_of_output_is_a_tool_result(
    output: Any, words: str | None, failed: bool
) -> None:
    expected = ToolResult("c", output if words is None else words, failed)
    for kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        line = item(kind, call_id="c", output=output)
        assert blocks(line) == (expected,)
        assert message(line).role == "user"


def test_a_picture_may_be_elsewhere_and_its_tags_be_a_persons_words() -> None:
    remote = {"type": "input_image", "image_url": "https://example.com/a.png"}
    words = [{"type": "input_text", "text": text} for text in ("<image", "</image>", "a </image>")]
    line = item("message", role="user", content=[*words, remote, {"type": "odd", "text": "x"}])
    assert blocks(line) == (
        Text("<image"),
        Text("</image>"),
        Text("a </image>"),
        Image("unknown", 0),
    )


def test_the_prompt_and_the_preview_are_words() -> None:
    call = item("function_call_output", call_id="c", output="result")
    lines = [user("<environment_context>"), call, user(" ", "first\nwords"), user("more")]
    assert folded(*lines[:2]).prompt == folded(*lines[:2]).preview == ""
    assert folded(*lines).prompt == "first words"
    assert folded(*lines, assistant("an", "answer"), call).preview == "an answer"


def test_the_directory_is_the_first_that_a_session_or_a_turn_names() -> None:
    def about(type: str, cwd: str) -> bytes:
        return json.dumps({"type": type, "payload": {"cwd": cwd}}).encode()

    lines = [about("event_msg", "/no"), about("session_meta", ""), about("turn_context", "/a")]
    assert folded(*lines, about("session_meta", "/b")).cwd == "/a"


def test_what_codex_writes_of_its_own_about_a_turn_is_no_message() -> None:
    said = {name: [one.text for one in recorded(name) if one.text] for name in NEWER}
    assert said == {
        "interrupt": ["go", "go", "b", "go", "c"],
        "killed-resumed": ["go", "b", "go on", "went on"],
        "steer": ["go", "also this", "third while active", "third"],
        "compacted": [
            "go",
            "ok",
            "go2",
            "ok2",
            "go3",
            "go4",
            "go5",
            "SUMMARY of it",
            "go6",
            "after",
        ],
        "forked": ["go6 forked", "after"],
        "subagent": ["sub task please"],
    }


def test_a_sub_agents_thread_is_called_by_its_name() -> None:
    summary = Summary()
    FORMAT.fold(summary, fixtures.rollout("subagent"))
    assert (summary.name, summary.prompt) == ("sub-agent Erdos", "sub task please")
    nameless = {"type": "session_meta", "payload": {"parent_thread_id": "p"}}
    assert folded(json.dumps(nameless).encode()).name == "sub-agent p"


def test_an_identity_is_the_lines() -> None:
    line = assistant("hello")
    (entry,) = FORMAT.entries(Cursor(), line + b"\n")
    assert entry.identity == identity_of_line(line)
    assert message(line).uuid == uuid_of(entry.identity)
