"""What a phone may ask, and how it hears what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from podiumd.gateway.phone.handlers.dispatch import HANDLERS
from podiumd.gateway.phone.protocol import decode
from podiumd.gateway.phone.protocol import requests as r
from tests.gateway.phone.samples import SESSION, UUID, Json, read

DIRECTORY = "/home/ada/gate"


def _decode(type: str, **fields: Any) -> r.Request:
    return decode.decode(json.dumps({"type": type, **fields}))


def _refused(data: str | bytes) -> Json:
    with pytest.raises(decode.Refusal) as refusal:
        decode.decode(data)
    return read(refusal.value.frame)


def _refused_request(type: str, **fields: Any) -> Json:
    return _refused(json.dumps({"type": type, **fields}))


def test_every_request_has_a_type_and_a_handler() -> None:
    kinds = {
        each
        for each in vars(r).values()
        if isinstance(each, type) and issubclass(each, r.Request) and each.__name__[0] != "_"
    }
    assert set(decode.TYPES.values()) == kinds - {r.Request, r.VoiceFrame}
    assert set(HANDLERS) == kinds - {r.Request}


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_field_that_may_be_left_out_may_be_null_or_empty(nothing: object) -> None:
    """P-1.6"""
    assert _decode(
        "prompt", text="Hi", session_id=nothing, working_directory=nothing, provider=nothing
    ) == r.Prompt(text="Hi")
    assert _decode("get_command_history", limit=None) == r.GetCommandHistory(limit=50)
    assert _decode("subscribe", session_id=SESSION, last_message_id=nothing, last_seq=None) == (
        r.Subscribe(session_id=SESSION)
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "The message is not valid JSON."),
        ("{", "The message is not valid JSON."),
        ('{"type":"ping"} x', "The message is not valid JSON."),
        ('{"type":"\\ud800"}', "The message is not valid JSON."),
        ("\ud800", "The message is not valid JSON."),
        ("[1]", "A message is a JSON object with a field 'type'."),
        ("null", "A message is a JSON object with a field 'type'."),
        ("{}", "A message needs a field 'type' that is a string."),
        ('{"type":7}', "A message needs a field 'type' that is a string."),
        ("[" * 100_000, "The message is nested too deeply."),
    ],
)
def test_what_is_no_message_is_told_so(data: str, words: str) -> None:
    """P-1.7"""
    assert _refused(data) == {"type": "error", "message": words}


@pytest.mark.parametrize("type", ["dance", "", "Ping"])
def test_an_unknown_type_is_named(type: str) -> None:
    """P-1.8"""
    assert _refused_request(type) == {"type": "error", "message": f"Unknown message type: {type}"}


def test_a_type_that_could_drive_a_terminal_is_named_escaped() -> None:
    told = _refused_request("a\x1b[2J\u202eb")["message"]
    assert told == r"Unknown message type: a\x1b[2J\u202eb"


def test_an_endless_type_is_named_shortened() -> None:
    assert len(_refused_request("x" * 10_000)["message"]) < 200


@pytest.mark.parametrize(
    ("type", "fields", "words"),
    [
        ("prompt", {}, "Invalid prompt: text is missing: expected a text that is not empty, witho"),
        (
            "prompt",
            {"text": ""},
            "Invalid prompt: text: expected a text that is not empty, without",
        ),
        ("prompt", {"text": None}, "got null."),
        ("prompt", {"text": "x", "resume_session_id": "../x"}, "got '../x'."),
        ("prompt", {"text": "x", "working_directory": "a\0b"}, "Invalid prompt: working_directory"),
        ("set_max_message_size", {"size_kb": 0}, "size_kb: expected an integer of at least 1, got"),
        ("set_max_message_size", {"size_kb": True}, "got true."),
        ("set_max_message_size", {"size_kb": "200"}, "got '200'."),
        ("set_orchestration", {"enabled": 1}, "enabled: expected true or false, got the number 1."),
        (
            "get_command_history",
            {"limit": -1},
            "limit: expected an integer from 1 to 1000, got the",
        ),
        ("answer_question", {"question_id": "q"}, "answer is missing: expected"),
        ("steer", {"text": "x"}, "session_id is missing: expected an id of letters"),
    ],
)
def test_what_is_wrong_is_named_with_what_it_has_to_be(type: str, fields: Json, words: str) -> None:
    """P-1.9"""
    refused = _refused_request(type, **fields)

    assert refused["type"] == "error"
    assert words in refused["message"]


@pytest.mark.parametrize(
    ("type", "fields", "answer"),
    [
        ("infer_session_name", {"session_id": SESSION}, {"session_id": SESSION}),
        ("infer_session_name", {}, {}),
        (
            "create_worktree_session",
            {"session_name": 7},
            {"success": False, "error_type": "invalid_request"},
        ),
        ("execute_command", {"command_id": "b", "working_directory": 7}, {"command_id": "b"}),
        ("compact_session", {"session_id": "../x"}, {"session_id": "../x"}),
        ("voice_start", {"utterance_id": "u"}, {"utterance_id": "u", "code": "invalid_request"}),
        ("voice_end", {}, {"utterance_id": None, "code": "invalid_request"}),
    ],
)
def test_a_request_fails_by_its_own_message(type: str, fields: Json, answer: Json) -> None:
    """P-1.10"""
    refused = _refused_request(type, **fields)
    named = {
        "infer_session_name": "infer_name_error",
        "create_worktree_session": "worktree_session_error",
        "execute_command": "command_error",
        "compact_session": "compaction_error",
    }.get(type, "voice_error")
    words = refused.pop("error", None) or refused.pop("message")

    assert refused == {"type": named, **answer}
    assert words.startswith(f"Invalid {type}: ")


@pytest.mark.parametrize("type", ["execute_command", "compact_session"])
def test_without_what_it_is_about_it_fails_by_a_plain_error(type: str) -> None:
    """P-1.10"""
    assert _refused_request(type)["type"] == "error"


def test_an_upload_fails_by_how_its_error_begins() -> None:
    """P-1.10, P-14.1"""
    refused = _refused_request("upload_file", filename="x", content="", storage_location=7)

    assert refused["type"] == "error"
    assert refused["message"].startswith("Failed to upload file: Invalid upload_file: storage_loc")


@pytest.mark.parametrize("field", ["session_id", "resume_session_id", "new_session_id"])
def test_a_refused_message_is_answered_with_the_session_that_it_names(field: str) -> None:
    """P-1.11, P-1.12"""
    assert _refused_request("prompt", text="", **{field: SESSION})["session_id"] == SESSION
    assert _refused_request("prompt", text="", **{field: SESSION.upper()})["session_id"] == SESSION
    assert "session_id" not in _refused_request("prompt", text="", **{field: 7})


def test_a_session_may_come_with_capitals() -> None:
    """P-1.12"""
    for field in ("session_id", "new_session_id", "resume_session_id"):
        prompt = _decode("prompt", text="x", **{field: UUID.upper()})
        assert getattr(prompt, field) == UUID
    assert _decode("kill_session", session_id="Ses_A") == r.KillSession(session_id="Ses_A")
    asked = _decode("prompt", text="x", ios_session_id=UUID.upper())
    assert isinstance(asked, r.Prompt) and asked.ios_session_id == UUID.upper()


@pytest.mark.parametrize("type", ["message_ack", "message-ack"])
def test_an_acknowledgement_is_taken(type: str) -> None:
    """P-1.13"""
    assert _decode(type, message_id=UUID) == r.MessageAck(message_id=UUID)
    assert _decode(type) == r.MessageAck()


@pytest.mark.parametrize("type", ["supervisor_message", "canvas_action"])
def test_a_supervisor_is_told_what_to_use(type: str) -> None:
    """P-1.14"""
    refused = _refused_request(type, text="Hi", callback_id="c")

    assert refused["type"] == "error"
    assert "'prompt'" in refused["message"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_NAMES = sorted({f.name for struct in decode.TYPES.values() for f in fields(struct)})


@given(st.sampled_from(sorted(decode.TYPES)), st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_whatever_comes_is_made_out_or_refused_with_a_frame(type: str, fields: Json) -> None:
    """P-1.1"""
    made = _made_out(json.dumps({"type": type, **fields}))

    assert isinstance(made, dict | decode.TYPES[type])
    assert not isinstance(made, dict) or isinstance(made["type"], str)


@given(st.text() | st.binary())
def test_no_message_breaks_it(data: str | bytes) -> None:
    made = _made_out(data)

    assert not isinstance(made, dict) or made["message"]


def _made_out(data: str | bytes) -> r.Request | Json:
    """The request, or the frame that refuses it."""
    try:
        return decode.decode(data)
    except decode.Refusal as refusal:
        return read(refusal.frame)
