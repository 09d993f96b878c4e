"""What a phone may ask, and how it hears what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone import incoming
from podiumd.gateway.phone import requests as r
from tests.gateway.phone.samples import SESSION, UUID, Json, read

DIRECTORY = "/home/ada/gate"


def _decode(type: str, **fields: Any) -> r.Request:
    return incoming.decode(json.dumps({"type": type, **fields}))


def _refused(data: str | bytes) -> Json:
    with pytest.raises(incoming.Refusal) as refusal:
        incoming.decode(data)
    return read(refusal.value.frame)


def _refused_request(type: str, **fields: Any) -> Json:
    return _refused(json.dumps({"type": type, **fields}))


WHOLE: list[tuple[str, Json, r.Request]] = [
    ("ping", {}, r.Ping()),
    ("refresh_sessions", {"recent_sessions_limit": 9}, r.RefreshSessions(recent_sessions_limit=9)),
    ("unsubscribe", {"session_id": SESSION}, r.Unsubscribe(session_id=SESSION)),
    ("session_deleted", {"session_id": SESSION}, r.SessionDeleted(session_id=SESSION)),
    ("kill_session", {"session_id": SESSION}, r.KillSession(session_id=SESSION)),
    ("compact_session", {"session_id": SESSION}, r.CompactSession(session_id=SESSION)),
    ("exit_recipe", {"session_id": SESSION}, r.ExitRecipe(session_id=SESSION)),
    ("pause_recipe", {"session_id": SESSION}, r.PauseRecipe(session_id=SESSION)),
    ("resume_recipe", {"session_id": SESSION}, r.ResumeRecipe(session_id=SESSION)),
    ("steer", {"session_id": SESSION, "text": "Go"}, r.Steer(session_id=SESSION, text="Go")),
    ("set_max_message_size", {"size_kb": 200}, r.SetMaxMessageSize(size_kb=200)),
    (
        "infer_session_name",
        {"session_id": SESSION, "message_text": "Hi"},
        r.InferSessionName(session_id=SESSION, message_text="Hi"),
    ),
    (
        "create_worktree_session",
        {"session_name": "New gate", "parent_directory": DIRECTORY, "provider": "claude"},
        r.CreateWorktreeSession(
            session_name="New gate", parent_directory=DIRECTORY, provider="claude"
        ),
    ),
    (
        "execute_command",
        {"command_id": "git.status", "working_directory": DIRECTORY},
        r.ExecuteCommand(command_id="git.status", working_directory=DIRECTORY),
    ),
    ("get_command_history", {}, r.GetCommandHistory(limit=50)),
    (
        "get_command_history",
        {"working_directory": DIRECTORY, "limit": 3},
        r.GetCommandHistory(working_directory=DIRECTORY, limit=3),
    ),
    (
        "get_command_output",
        {"command_session_id": f"cmd-{UUID}"},
        r.GetCommandOutput(command_session_id=f"cmd-{UUID}"),
    ),
    (
        "upload_file",
        {"filename": "a b.txt", "content": "aGk=", "storage_location": "~/x"},
        r.UploadFile(filename="a b.txt", content="aGk=", storage_location="~/x"),
    ),
    ("list_resources", {"storage_location": "~/x"}, r.ListResources(storage_location="~/x")),
    ("get_available_recipes", {}, r.GetAvailableRecipes()),
    ("set_directory", {"path": DIRECTORY}, r.SetDirectory(path=DIRECTORY)),
    ("set_orchestration", {"enabled": False}, r.SetOrchestration(enabled=False)),
    (
        "answer_question",
        {"question_id": "q-1", "answer": "deny", "note": "not now"},
        r.AnswerQuestion(question_id="q-1", answer="deny", note="not now"),
    ),
    ("voice_end", {"utterance_id": "u-1"}, r.VoiceEnd(utterance_id="u-1")),
    ("voice_cancel", {"utterance_id": "u-1"}, r.VoiceCancel(utterance_id="u-1")),
]


@pytest.mark.parametrize(("type", "fields", "request_"), WHOLE)
def test_each_request_is_made_out(type: str, fields: Json, request_: r.Request) -> None:
    """P-4.9, P-4.11, P-10.1, P-10.2, P-10.3, P-10.4, P-11.1, P-11.14, P-11.15, P-11.16, P-12.3,
    P-13.2, P-13.5, P-13.7, P-14.1, P-14.2, P-15.4"""
    assert _decode(type, **fields) == request_


def test_every_type_that_is_known_is_one_of_the_requests() -> None:
    assert set(incoming.TYPES.values()) == set(r.Request.__args__) - {r.VoiceFrame}


@pytest.mark.parametrize(("type", "fields", "request_"), WHOLE)
def test_what_a_message_does_not_know_is_ignored(
    type: str, fields: Json, request_: r.Request
) -> None:
    """P-1.5"""
    assert _decode(type, **fields, later={"x": [1]}, protocol="9") == request_


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


@pytest.mark.parametrize("field", ["session_id", "resume_session_id"])
def test_a_refused_message_is_answered_with_the_session_that_it_names(field: str) -> None:
    """P-1.11"""
    assert _refused_request("prompt", text="", **{field: SESSION})["session_id"] == SESSION
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


def test_connect_of_today() -> None:
    """P-2.3"""
    connect = _decode(
        "connect", api_key="untethered-1", protocol_version="0.5.0", recent_sessions_limit=10
    )

    assert connect == r.Connect(
        api_key="untethered-1", protocol_version="0.5.0", recent_sessions_limit=10
    )


@pytest.mark.parametrize("odd", [7, [], {}, True, None, "x" * 9000, -1, 0.5])
def test_connect_is_never_refused_for_its_form(odd: object) -> None:
    """P-2.4"""
    connect = _decode(
        "connect",
        api_key=odd,
        protocol_version=odd,
        session_id=odd,
        recent_sessions_limit=odd,
    )

    assert isinstance(connect, r.Connect)
    assert connect.api_key == odd
    assert connect.echo == (odd if isinstance(odd, str) else None)


def test_the_session_of_connect_is_kept_as_it_came() -> None:
    """P-2.7"""
    connect = _decode("connect", session_id=UUID.upper())

    assert isinstance(connect, r.Connect) and connect.echo == UUID.upper()


@pytest.mark.parametrize(
    ("limit", "recent"),
    [(0, 0), (1, 1), (50, 50), (51, 50), (-1, 5), ("9", 5), (True, 5), (None, 5)],
)
@pytest.mark.parametrize("type", ["connect", "refresh_sessions"])
def test_how_many_recent_sessions_a_phone_wants(type: str, limit: object, recent: int) -> None:
    """P-2.10"""
    request = _decode(type, recent_sessions_limit=limit)

    assert isinstance(request, r.Connect | r.RefreshSessions)
    assert request.recent == recent
    assert r.RefreshSessions().recent == 5


@pytest.mark.parametrize(
    "fields",
    [
        {"last_seq": 4},
        {"from_offset": 4, "file_signature_seen": "log-1"},
        {"last_message_id": UUID},
        {},
    ],
)
def test_a_subscription_of_every_age_is_taken(fields: Json) -> None:
    """P-6.1, P-6.6"""
    assert _decode("subscribe", session_id=SESSION, **fields) == r.Subscribe(
        session_id=SESSION, **fields
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"last_seq": -1},
        {"last_seq": "4"},
        {"last_seq": 1.5},
        {"last_seq": True},
        {"from_offset": -1},
        {"from_offset": []},
        {"file_signature_seen": 7},
        {"last_message_id": 7},
    ],
)
def test_a_faulty_subscription_says_so_by_its_code(fields: Json) -> None:
    """P-6.10"""
    refused = _refused_request("subscribe", session_id=SESSION, **fields)

    assert (refused["type"], refused["code"]) == ("error", "invalid_subscribe")
    assert refused["session_id"] == SESSION
    assert next(iter(fields)) in refused["message"]
    assert _refused_request("subscribe")["code"] == "invalid_subscribe"


def test_a_prompt_of_today() -> None:
    """P-9.1"""
    fields = {
        "text": "Hi",
        "working_directory": DIRECTORY,
        "provider": "claude",
        "system_prompt": "Be brief.",
        "ios_session_id": "x",
    }
    assert _decode("prompt", new_session_id=UUID, **fields) == r.Prompt(
        new_session_id=UUID, **fields
    )
    assert _decode("prompt", text="Hi") == r.Prompt(text="Hi")
    refused = _refused_request("prompt", text="x", new_session_id=UUID, resume_session_id=UUID)
    assert refused["message"] == (
        "Invalid prompt: give new_session_id or resume_session_id, not both."
    )


def test_a_new_session_is_named_by_a_uuid() -> None:
    """P-9.2"""
    assert "expected a UUID" in _refused_request("prompt", text="x", new_session_id="s")["message"]


def test_a_prompt_of_older_apps() -> None:
    """P-9.3"""
    assert _decode("prompt", text="Hi", session_id=UUID) == r.Prompt(text="Hi", session_id=UUID)
    assert _decode("prompt", text="Hi", session_id=None) == r.Prompt(text="Hi")


@pytest.mark.parametrize("type", ["start_recipe", "execute_recipe"])
def test_a_start_of_a_recipe(type: str) -> None:
    """P-11.2"""
    assert _decode(type, recipe_id="rebase", session_id=None) == r.StartRecipe(recipe_id="rebase")
    fields = {
        "recipe_id": "rebase",
        "session_id": SESSION,
        "working_directory": DIRECTORY,
        "provider": "claude",
        "ios_session_id": "x",
    }
    assert _decode(type, **fields) == r.StartRecipe(**fields)


def test_a_file_may_be_named_by_its_path() -> None:
    """P-14.4"""
    by_name = _decode("delete_resource", filename="a.txt", storage_location="/x")
    by_path = _decode("delete_resource", path="/x/y/a.txt", storage_location="/x")

    assert isinstance(by_name, r.DeleteResource) and isinstance(by_path, r.DeleteResource)
    assert by_name.name == by_path.name == "a.txt"
    for path in ({}, {"path": "/x/"}):
        refused = _refused_request("delete_resource", storage_location="/x", **path)
        assert "filename is missing" in refused["message"]


def test_speech_begins_with_what_it_is() -> None:
    """P-15.1"""
    assert _decode("voice_start", utterance_id="u-1", format="m4a") == r.VoiceStart(
        utterance_id="u-1", format="m4a", deliver="text"
    )
    fields = {
        "utterance_id": "u-1",
        "format": "pcm16",
        "sample_rate": 16_000,
        "session_id": SESSION,
        "language": "en",
        "deliver": "prompt",
        "from_frame": 0,
    }
    assert _decode("voice_start", **fields) == r.VoiceStart(**fields)
    refused = _refused_request("voice_start", utterance_id="u-1", format="mp3")
    assert "expected one of 'caf'" in refused["message"]


def test_a_binary_message_is_a_numbered_piece_of_speech() -> None:
    """P-15.3"""
    assert incoming.decode(b"\x00\x00\x01\x02sound") == r.VoiceFrame(258, b"sound")
    assert incoming.decode(b"\xff\xff\xff\xff") == r.VoiceFrame(2**32 - 1, b"")
    refused = _refused(b"\x00\x00\x01")
    assert (refused["type"], refused["utterance_id"]) == ("voice_error", None)
    assert "4 bytes" in refused["message"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_NAMES = sorted({f.name for struct in incoming.TYPES.values() for f in incoming.fields(struct)})


@given(st.sampled_from(sorted(incoming.TYPES)), st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_whatever_comes_is_made_out_or_refused_with_a_frame(type: str, fields: Json) -> None:
    """P-1.1"""
    try:
        request = _decode(type, **fields)
    except incoming.Refusal as refusal:
        assert isinstance(read(refusal.frame)["type"], str)
    else:
        assert isinstance(request, incoming.TYPES[type])


@given(st.text() | st.binary())
def test_no_message_breaks_it(data: str | bytes) -> None:
    try:
        incoming.decode(data)
    except incoming.Refusal as refusal:
        assert "message" in read(refusal.frame)
