"""Claude Code's session files as summaries, entries and messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.message import (
    DEPTH_LIMIT,
    Image,
    Message,
    Other,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from podiumd.formats.session import Cursor, Summary, identity_of, identity_of_line, uuid_of
from tests.formats import fixtures, hostile
from tests.formats.claude_rows import (
    FORMAT,
    assistant,
    entries,
    folded,
    message,
    queued,
    row,
    text,
    user,
)


def test_a_recorded_session_is_summed_up() -> None:
    summary = Summary()
    FORMAT.fold(summary, fixtures.session("permission.session"))
    assert summary == Summary(
        cwd="/home/dev/app",
        prompt="Make two files.",
        preview="One was made, one was refused.",
        first_at="2026-11-21T20:45:09.728Z",
        last_at="2026-11-21T20:45:09.886Z",
        messages=8,
        lines=26,
    )


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("text.session", "uaua"),
        ("tools.session", "uaauaaua"),
        ("interrupt.session", "uauua"),
        ("error.session", "ua"),
        ("killed-resumed.session", "uaauaua"),
        ("turns/steer-folded.session", "uaauua"),
        ("subagent.subagent", ""),
    ],
)
def test_the_messages_of_a_recorded_session_are_in_its_order(name: str, roles: str) -> None:
    found = FORMAT.entries(Cursor(), fixtures.session(name))
    assert "".join(entry.role[0] for entry in found) == roles
    assert all(entry.parent is None for entry in found), "nobody else wrote to it"


def test_an_entry_is_where_its_message_is() -> None:
    data = fixtures.session("tools.session")
    found = entries(*data.splitlines())
    said = [message(data[entry.offset : entry.offset + entry.length]) for entry in found]
    assert [entry.identity for entry in found] == [identity_of(one.uuid) for one in said]
    assert said[0].text == "Create hello.txt and check it."
    assert isinstance(said[2].blocks[0], ToolUse)
    assert said[3].blocks[0] == ToolResult(
        said[2].blocks[0].id,
        "File created successfully at: /home/dev/app/hello.txt "
        "(file state is current in your context — no need to Read it back)",
    )


@pytest.mark.parametrize(
    "line",
    [
        user("to the model", isMeta=True),
        user("in a sub-agent", isSidechain=True),
        assistant(text("in a sub-agent"), isSidechain=True),
        queued("a task ended", "task-notification"),
        queued("of no known mode", None),
        row(type="attachment", attachment={"type": "date"}),
        row(type="attachment", attachment="date"),
        row(type="attachment"),
        row(type="user-like", attachment={"type": "queued_command"}),
        row(type="system", subtype="compact_boundary", content="Conversation compacted"),
        row(type="queue-operation", content="typed"),
        row(type="last-prompt", lastPrompt="typed"),
        row(type=["user"]),
        row(),
    ],
)
def test_everything_else_is_opaque(line: bytes) -> None:
    assert FORMAT.message(line) is None
    assert entries(line) == []
    assert folded(line).messages == 0


@pytest.mark.parametrize(
    "line",
    [
        user("all so far", isCompactSummary=True),
        user([text("[Request interrupted by user]")]),
        row(type="assistant", message={"model": "<synthetic>", "content": [text("none")]}),
        row(type="attachment", attachment={"type": "queued_command", "prompt": "a steer"}),
        row(type="user"),
        row(type="assistant", message="odd", isSidechain="no", isMeta=None),
    ],
)
def test_the_clis_own_rows_of_the_conversation_are_messages(line: bytes) -> None:
    found = message(line)
    assert found.uuid == uuid_of(identity_of_line(line))
    assert [entry.identity for entry in entries(line)] == [identity_of_line(line)]


@given(st.text(), st.booleans())
def test_what_a_person_types_comes_back_byte_for_byte(words: str, ascii: bool) -> None:
    rows = [
        {"type": "user", "message": {"role": "user", "content": words}},
        {"type": "user", "message": {"role": "user", "content": [text(words)]}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": words}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": [text(words)]}},
    ]
    for each in rows:
        line = json.dumps(each, ensure_ascii=ascii).encode()
        assert message(line).text == words
        assert message(line).blocks == (Text(words),)


def test_a_steer_of_a_recorded_turn_comes_back_as_it_was_typed() -> None:
    data = fixtures.session("turns/steer-folded.session")
    steer = [FORMAT.message(line) for line in data.splitlines() if b"queued_command" in line]
    assert [one.text for one in steer if one] == ["also do that"]


def test_every_kind_of_block_is_canonical() -> None:
    source = {"media_type": "image/png", "data": "AAAA"}
    line = assistant(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "redacted_thinking", "data": "secret"},
        text("so"),
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a"}},
        {"type": "image", "source": source},
        {"type": "server_tool_use"},
        {"type": "h" * 101},
        {"type": ""},
        {"type": 7},
        uuid="u",
        timestamp="soon",
    )
    assert message(line) == Message(
        uuid="u",
        role="assistant",
        text="so",
        timestamp="soon",
        blocks=(
            Thinking("hm"),
            Thinking(""),
            Thinking(""),
            Text("so"),
            ToolUse("t", "Read", {"file_path": "a"}),
            Image("image/png", 3),
            Other("server_tool_use"),
            Other("h" * 100),
        ),
    )


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"stdout": "", "stderr": ""}, ""),
        ({"type": "create", "content": "new"}, "new"),
        ({"content": [text("of an agent")]}, "of an agent"),
        ("Error: no", "Error: no"),
        ([text("of a server")], "of a server"),
        (None, ""),
        (7, ""),
    ],
)
def test_a_result_without_words_has_those_of_the_agents_own_view(view: Any, words: str) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": True}
    line = user([block], toolUseResult=view)
    assert message(line).blocks == (ToolResult("t", words, is_error=True),)
    line = user([{**block, "content": "for the model"}], toolUseResult=view)
    assert message(line).blocks == (ToolResult("t", "for the model", is_error=True),)


def test_a_tools_input_keeps_so_many_levels_as_can_be_written_again() -> None:
    deep: Any = "bottom"
    for _ in range(DEPTH_LIMIT + 200):
        deep = [deep]
    block = {"type": "tool_use", "id": "t", "name": "N", "input": {"a": deep, "b": {"c": 1}}}
    (call,) = message(assistant(block)).blocks
    assert isinstance(call, ToolUse)
    assert call.input["b"] == {"c": 1}
    levels, at = 1, call.input["a"]
    while isinstance(at, list):
        levels, at = levels + 1, at[0]
    assert (levels, at) == (DEPTH_LIMIT, "[nested too deeply, left out]")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (hostile.ODD[0], "after a mark"),
        (hostile.ODD[1], "half ? a pair"),
        (hostile.ODD[3], "not \ufffd\ufffd UTF-8"),
        (hostile.ODD[4], "beyond"),
        (hostile.ODD[5], "beyond"),
        (hostile.ODD[6], "indented"),
        (hostile.ODD[7], "twice"),
        (hostile.ODD[9], "escaped name"),
        (hostile.ODD[10], "a return"),
        (hostile.NESTED, ""),
    ],
)
def test_an_odd_line_is_read_as_far_as_it_can_be(line: bytes, words: str) -> None:
    assert message(line).text == words
    prompt = words if message(line).role == "user" else ""
    assert folded(line) == Summary(lines=1, messages=1, prompt=prompt, preview=words)


def test_titles_have_ranks_and_the_name_of_an_agent_is_none() -> None:
    lines = [
        row(type="agent-name", agentName="worker", customTitle="no"),
        row(type="summary", summary="Old way"),
        row(type="summary", summary=5),
        row(type="ai-title", aiTitle="By the CLI"),
        row(type="summary", summary="Old way again"),
        row(type="custom-title", customTitle="By a person"),
        row(type="ai-title", aiTitle="By the CLI again"),
    ]
    titles = ["", "Old way", "Old way", "By the CLI", "By the CLI", "By a person", "By a person"]
    assert [folded(*lines[: at + 1]).title for at in range(len(lines))] == titles
    assert folded(user("hi", summary="not of a row")).title == ""


def test_the_directory_is_that_of_the_first_record_that_names_one() -> None:
    lines = [b"torn", row(type="mode"), row(cwd=3), row(cwd=""), row(cwd="/a"), row(cwd="/b")]
    assert folded(*lines[:4]).cwd == ""
    assert folded(*lines).cwd == "/a"


def test_times_are_those_of_the_file_and_clocks_run_back() -> None:
    times = ["soon", "2026-11-21T20:00:00Z", "2026-11-21T22:00:00Z", "2026-11-21T19:00:00Z", "x"]
    summary = folded(row(), *(row(timestamp=time) for time in times), row(timestamp=4), b"torn")
    assert (summary.first_at, summary.last_at) == (times[1], times[3])


@pytest.mark.parametrize(
    "noise",
    [
        user("<command-name>/clear</command-name>"),
        user("<command-message>review</command-message>\n<command-name>/review</command-name>"),
        user("  <local-command-stdout>done</local-command-stdout>"),
        user("Caveat: The messages below were generated by the user while running local commands."),
        user("<bash-input>ls</bash-input>"),
        user([text("<ide_opened_file>a.py</ide_opened_file>")]),
        user([{"type": "tool_result", "content": "x"}, text("refused")]),
        user([{"type": "image", "source": {}}]),
        user([text("[Request interrupted by user]")]),
        user("all so far", isCompactSummary=True),
        user("a task ended", promptSource="system"),
        user("to the model", isMeta=True),
        user(" "),
        user(None),
        row(type="user", message=[]),
        assistant(text("hello")),
    ],
)
def test_the_prompt_is_the_first_thing_that_a_person_said(noise: bytes) -> None:
    assert folded(noise).prompt == ""
    prompt = user([text("<ide_selection>x</ide_selection>"), text("fix\n  it")])
    assert folded(noise, prompt, user("and that")).prompt == "fix it"
    assert folded(noise, queued("a steer")).prompt == "a steer"


def test_the_preview_is_the_last_message_with_words() -> None:
    call = {"type": "tool_use", "id": "t", "name": "N", "input": {}}
    lines = [
        user("go"),
        assistant(text("on"), text("it")),
        assistant(call),
        user([{"type": "tool_result", "content": "result"}]),
        assistant(text("in a sub-agent"), isSidechain=True),
    ]
    assert folded(*lines).preview == "on it"
    assert folded(*lines, queued("wait")).preview == "wait"
    assert folded(*lines, assistant("stray", text("odd"))).preview == "odd"
    assert folded(*lines, assistant(text("w" * 200))).preview == "w" * 119 + "…"
    assert folded(*lines[2:]).preview == ""


CONTENTS: Any = st.one_of(
    st.text(max_size=8),
    st.sampled_from([None, 5, {}, []]),
    st.lists(
        st.one_of(
            st.builds(text, st.text(max_size=8)),
            st.fixed_dictionaries(
                {"type": st.sampled_from(["text", "tool_use", "tool_result", "odd", 7, None])},
                optional={"text": st.sampled_from(["words", 5, None])},
            ),
            st.sampled_from(["stray", 3]),
        ),
        max_size=3,
    ),
)


@given(st.lists(st.one_of(CONTENTS.map(lambda content: {"content": content}), CONTENTS)))
def test_the_preview_is_that_of_the_messages_one_by_one(said: list[Any]) -> None:
    """Those that cannot have words are not read for them; it is the same as if they were."""
    rows = [row(type="assistant", message=each) for each in said]
    texts = [" ".join(found.text.split()) for each in rows if (found := FORMAT.message(each))]
    assert folded(*rows).preview == next((words for words in reversed(texts) if words), "")


@pytest.mark.parametrize("odd", ["words", 5, [], {"content": 5}, {"content": [5]}])
def test_an_odd_message_leaves_those_beside_it_as_they_are(odd: object) -> None:
    lines = [user("go"), row(type="user", message=odd), assistant(text("done"))]
    summary = folded(*lines)
    assert (summary.messages, summary.bad_lines, summary.preview) == (3, 0, "done")
