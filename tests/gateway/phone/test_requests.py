"""Each thing that a phone may ask."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
    """P-10.1, P-10.2, P-10.3, P-10.4, P-11.1, P-11.15, P-11.16, P-12.3,
    P-13.2, P-13.5, P-13.7, P-14.1, P-14.2, P-15.4"""
    assert _decode(type, **fields) == request_


@pytest.mark.parametrize(("type", "fields", "request_"), WHOLE)
def test_what_a_message_does_not_know_is_ignored(
    type: str, fields: Json, request_: r.Request
) -> None:
    """P-1.5"""
    assert _decode(type, **fields, later={"x": [1]}, protocol="9") == request_


def test_connect_of_today() -> None:
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
    for given, told in (("", ""), (None, None), (7, None)):
        connect = _decode("connect", session_id=given)
        assert isinstance(connect, r.Connect) and connect.echo == told


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
    fields: Json = {
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
    assert decode.decode(b"\x00\x00\x01\x02sound") == r.VoiceFrame(258, b"sound")
    assert decode.decode(b"\xff\xff\xff\xff") == r.VoiceFrame(2**32 - 1, b"")
    refused = _refused(b"\x00\x00\x01")
    assert (refused["type"], refused["utterance_id"]) == ("voice_error", None)
    assert "4 bytes" in refused["message"]
