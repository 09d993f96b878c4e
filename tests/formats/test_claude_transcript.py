"""Claude Code's session files, read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.claude_transcript import (
    LiveSession,
    PromptTrace,
    Record,
    decode_record,
    find_prompt,
    foreign_user_rows,
    has_steer,
    last_record_uuid,
    live_session_record,
    project_directory_name,
)
from podiumd.formats.message import Text, ToolResult, ToolUse
from tests.formats import fixtures

PROMPT = "11111111-1111-4111-8111-111111111111"
STEER = "22222222-2222-4222-8222-222222222222"


def row(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def user(uuid: str, content: Any, **more: Any) -> bytes:
    return row(type="user", uuid=uuid, message={"role": "user", "content": content}, **more)


def answer(text: str, model: str = "m") -> bytes:
    content = [{"type": "text", "text": text}]
    return row(type="assistant", uuid=text, message={"model": model, "content": content})


def queued(uuid: str, **more: Any) -> bytes:
    attachment = {"type": "queued_command", "prompt": "more", "source_uuid": uuid, **more}
    return row(type="attachment", uuid=f"row-{uuid}", attachment=attachment)


def records(name: str) -> list[Record]:
    found = [decode_record(line) for line in fixtures.lines(name)]
    return [record for record in found if record is not None]


@pytest.mark.parametrize("name", fixtures.sessions())
def test_every_recorded_line_is_a_record(name: str) -> None:
    assert len(records(name)) == len(fixtures.lines(name)) > 0


def test_a_row_has_its_place_in_the_tree_and_its_message() -> None:
    rows = {record.uuid: record for record in records("permission.session")}
    prompt = rows["e9a9e7f7-8f51-4a3f-9891-6a4a818b9b64"]
    assert (prompt.type, prompt.parent_uuid, prompt.sidechain) == ("user", None, False)
    assert prompt.cwd == "/home/dev/app"
    assert prompt.session_id == "a2c2203c-6e9e-5714-b559-77f67a2a46e6"
    assert prompt.message is not None
    assert (prompt.message.role, prompt.message.text) == ("user", "Make two files.")
    assert prompt.message.timestamp == prompt.timestamp == "2026-11-21T20:45:09.750Z"
    call = rows["e1b9fbd5-6db5-4773-bffb-2400f1fe798a"]
    assert call.message is not None and call.message.role == "assistant"
    assert isinstance(call.message.blocks[0], ToolUse)
    result = rows["6f44e0f5-5591-45e8-a54a-3b3f6151bdb7"]
    assert result.message is not None and isinstance(result.message.blocks[0], ToolResult)


def test_unknown_types_are_opaque() -> None:
    opaque = [r for r in records("permission.session") if r.type == "queue-operation"]
    assert opaque and all(r.message is None and r.uuid is None for r in opaque)
    environment = [r for r in records("permission.session") if r.type == "attachment"]
    assert environment and all(r.message is None for r in environment)


def test_a_sub_agents_rows_are_a_side_chain() -> None:
    assert all(r.sidechain for r in records("subagent.subagent") if r.message is not None)


def test_a_queued_message_is_a_persons_with_the_uuid_it_was_sent_under() -> None:
    found = [r for r in records("turns/steer-folded.session") if r.source_uuid == STEER]
    assert len(found) == 1
    assert found[0].message is not None
    assert (found[0].message.role, found[0].message.blocks) == ("user", (Text("also do that"),))


def test_the_clis_own_rows_are_synthetic() -> None:
    assert [
        r.message.text for r in records("killed-resumed.session") if r.synthetic and r.message
    ] == ["No response requested."]
    interrupted = [r for r in records("interrupt.session") if r.synthetic and r.type == "user"]
    assert len(interrupted) == 1
    notified = [r for r in records("subagent.session") if r.synthetic and r.type == "user"]
    assert len(notified) == 1, "the end of a background agent comes as a user's row"
    for mark in ({"isMeta": True}, {"isCompactSummary": True}, {"promptSource": "system"}):
        record = decode_record(user("u", "x", **mark))
        assert record is not None and record.synthetic


def test_a_prompt_is_recorded_and_followed_once_the_agent_answers() -> None:
    lines = fixtures.lines("turns/steer-second-turn.session")
    assert find_prompt(lines, PROMPT) == PromptTrace(recorded=True, followed=True)
    assert find_prompt(lines, STEER) == PromptTrace(recorded=True, followed=True)
    assert find_prompt(lines, "another") == PromptTrace(recorded=False, followed=False)


def test_what_comes_before_a_prompt_or_from_the_cli_does_not_follow_it() -> None:
    result = user("r", [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}])
    lines = [answer("earlier"), b"{ torn", user(PROMPT, "go"), answer("err", "<synthetic>")]
    lines += [row(type="last-prompt"), user("b", "[Request interrupted by user]")]
    assert find_prompt(lines, PROMPT) == PromptTrace(recorded=True, followed=False)
    assert find_prompt([*lines, result], PROMPT).followed
    assert find_prompt([*lines, user("c", "another prompt")], PROMPT).followed is False


def test_messages_that_were_joined_in_one_row_are_all_found_there() -> None:
    joined = user(STEER, "go\nand this", mergedSendUuids=[PROMPT, 7])
    lines = [joined, answer("done")]
    assert find_prompt(lines, PROMPT) == PromptTrace(recorded=True, followed=True)
    assert has_steer(lines, STEER)
    assert not has_steer([row(type="assistant", uuid="a", mergedSendUuids=[STEER])], STEER)
    assert foreign_user_rows(lines, {PROMPT}) == [], "words of ours are in it"
    assert len(foreign_user_rows(lines, {"another"})) == 1
    unclear = user(STEER, "go", mergedSendUuids=PROMPT)
    assert not find_prompt([unclear], PROMPT).recorded


def test_a_steer_is_found_in_either_form() -> None:
    assert has_steer(fixtures.lines("turns/steer-folded.session"), STEER)
    assert has_steer(fixtures.lines("turns/steer-second-turn.session"), STEER)
    assert not has_steer(fixtures.lines("turns/steer-folded.session"), "another")
    assert not has_steer([row(type="assistant", uuid=STEER)], STEER)


def test_the_last_record_is_the_last_one_with_a_uuid() -> None:
    lines = fixtures.lines("permission.session")
    assert last_record_uuid(lines) == "6368bd26-74c7-4614-bfba-dbe6e42712f9"
    assert last_record_uuid([]) is None


def test_foreign_rows_are_what_somebody_else_said() -> None:
    lines = [
        user(PROMPT, "ours"),
        user("f", "theirs", promptSource="typed"),
        user("t", [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]),
        user("i", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        user("s", "in a sub-agent", isSidechain=True),
        answer("said"),
        queued(STEER),
        queued("theirs"),
        queued("n", commandMode="task-notification"),
        row(type="attachment", uuid="d", attachment={"type": "date"}),
        b"torn",
    ]
    found = [record.uuid for record in foreign_user_rows(lines, {PROMPT, STEER})]
    assert found == ["f", "row-theirs"]


def test_a_picture_is_somebodys_words_and_a_refused_tool_is_nobodys() -> None:
    picture = user("p", [{"type": "image", "source": {"media_type": "image/png"}}])
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}
    refused = user("r", [block, {"type": "text", "text": "not like that"}])
    assert [record.uuid for record in foreign_user_rows([picture, refused], ())] == ["p"]


def test_a_turn_of_ours_leaves_no_foreign_rows() -> None:
    for name in ("turns/steer-folded.session", "turns/steer-second-turn.session"):
        assert foreign_user_rows(fixtures.lines(name), {PROMPT, STEER}) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/dev/app", "-home-dev-app"),
        ("/home/dev/a.b_c d-é", "-home-dev-a-b-c-d--"),
        ("/x/\U0001f600", "-x---"),
        ("/" + "a" * 199, "-" + "a" * 199),
        ("/" + "a" * 200, "-" + "a" * 199 + "-b6ymvl"),
        ("/" + "b" * 250, "-" + "b" * 199 + "-xbh6lr"),
    ],
)
def test_a_directorys_name_is_its_path_with_dashes(path: str, name: str) -> None:
    assert project_directory_name(path) == name


@given(st.text())
def test_a_directorys_name_is_short_and_harmless(path: str) -> None:
    name = project_directory_name(path)
    assert re.fullmatch("[A-Za-z0-9-]{0,208}", name)
    assert project_directory_name(path) == name


def test_a_live_session_names_its_process() -> None:
    data = row(
        pid=8700, sessionId="s", cwd="/w", procStart="121849", status="busy", kind="interactive"
    )
    assert live_session_record(data) == LiveSession(
        pid=8700, proc_start=121849, session_id="s", status="busy", cwd="/w"
    )


@pytest.mark.parametrize(
    ("start", "read"), [(7, 7), ("soon", None), (None, None), ("9" * 30, None), ("²", None)]
)
def test_a_live_sessions_start_may_be_unknown(start: object, read: int | None) -> None:
    found = live_session_record(row(pid=1, sessionId="s", procStart=start))
    assert found is not None and found.proc_start == read


@pytest.mark.parametrize(
    "data", [b"", b'{"pid": 1', b"[]", b'{"pid": 1}', b'{"pid": 0, "sessionId": "s"}']
)
def test_a_half_written_live_session_is_none(data: bytes) -> None:
    assert live_session_record(data) is None


@given(st.lists(st.binary()))
def test_no_bytes_make_a_reader_raise(lines: list[bytes]) -> None:
    for line in lines:
        decode_record(line)
        live_session_record(line)
    find_prompt(lines, "u")
    foreign_user_rows(lines, ())


@given(
    st.dictionaries(
        st.sampled_from(["type", "message", "attachment", "uuid", "isMeta", "pid", "sessionId"]),
        st.none() | st.integers() | st.text() | st.lists(st.integers())
        | st.sampled_from(["user", "assistant", "attachment"])
        | st.dictionaries(st.sampled_from(["type", "content", "prompt", "model"]), st.text()),
    )
)  # fmt: skip
def test_no_row_of_odd_shape_makes_a_reader_raise(value: dict[str, Any]) -> None:
    assert decode_record(row(**value)) is not None
    live_session_record(row(**value))
