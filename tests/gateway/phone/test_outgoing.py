"""What a phone is told of the connection, of sessions and of turns."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from podiumd.core.run import facts as f
from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.protocol import outgoing, outgoing_recipes, outgoing_tools
from podiumd.wire.sessions import LockHolder
from tests.gateway.phone.samples import (
    SESSION,
    UUID,
    Json,
    a_command,
    a_file,
    a_log,
    a_question,
    a_recipe,
    a_run,
    a_session,
    an_exit,
    messages,
    read,
)
from tests.plain import plain, some

ROW = {
    "session_id": SESSION,
    "name": "Mend the gate",
    "working_directory": "/home/ada/gate",
    "last_modified": 1_767_323_045_000,
    "message_count": 2,
    "provider": "claude",
}
ONE_OF_EACH = [
    outgoing.hello(),
    outgoing.connected(None, "0.4.0"),
    outgoing.auth_error(),
    outgoing.version_error("0.1.0"),
    outgoing.pong(),
    outgoing.ack("Done"),
    outgoing.error("x", code="y", session_id=SESSION, holder=LockHolder(kind="foreign", pid=7)),
    outgoing.session_list([a_session()], 1)[0],
    outgoing.recent_sessions([a_session()], 5),
    outgoing.session_created(a_session()),
    outgoing.session_ready(SESSION),
    outgoing.turn_complete(SESSION, aborted=True),
    outgoing.response("Hi", session_id=SESSION, message_id=UUID, ios_session_id="x"),
    outgoing.response_error("no", session_id=SESSION),
    outgoing.session_killed(SESSION),
    outgoing.compaction_complete(SESSION),
    outgoing.compaction_error(SESSION, "no"),
    outgoing.session_name_inferred(SESSION, "Gate"),
    outgoing.infer_name_error(SESSION, "no"),
    outgoing.worktree_session_created(SESSION, "/x", "gate"),
    outgoing.worktree_session_error("no", "git_error", "fatal"),
    outgoing_recipes.available_recipes([a_recipe()]),
    outgoing_recipes.recipe_started(a_run(), label="R", first_prompt="Do", ios_session_id="x"),
    outgoing_recipes.recipe_step_started(SESSION, "fix", 2),
    outgoing_recipes.recipe_step_transition(SESSION, "fix", "commit"),
    outgoing_recipes.orchestration_retry(SESSION, "fix", "no JSON"),
    outgoing_recipes.recipe_exited(SESSION, an_exit(category="error")),
    *outgoing_recipes.recipe_error(SESSION, outgoing_recipes.SWITCHED_OFF),
    outgoing_recipes.recipe_paused(SESSION),
    outgoing_recipes.recipe_resumed(SESSION),
    outgoing_recipes.steer_result(SESSION, "queued"),
    outgoing_recipes.question(a_question(input=None)),
    outgoing_recipes.question_closed(some(f.QuestionClosed)),
    outgoing_tools.available_commands(None, [], []),
    outgoing_tools.command_started("cmd-1", "build", "make build"),
    outgoing_tools.command_output("cmd-1", "stdout", "x"),
    outgoing_tools.command_complete("cmd-1", 0, 5),
    outgoing_tools.command_error("build", "no"),
    outgoing_tools.command_history([a_command()], 50),
    outgoing_tools.command_output_full(a_command(), "x"),
    outgoing_tools.file_uploaded(a_file()),
    outgoing_tools.resources_list([a_file()], "/x"),
    outgoing_tools.resource_deleted("a", "/x/a"),
    outgoing_tools.voice_ready("u", 0, "unavailable", "no model"),
    outgoing_tools.voice_partial("u", "hel"),
    outgoing_tools.voice_transcript(
        "u", "hi", language="en", duration_ms=1, latency_ms=1, delivered=True, session_id=SESSION
    ),
    outgoing_tools.voice_command("u", "stop", "confirm", "Stop?", question_id="q", choice="yes"),
    outgoing_tools.voice_error("u", "no_model", "no"),
    outgoing_tools.speak(SESSION, "Hi"),
    history.window(a_log(1), messages(1, 1), 102_400).frame,
]


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    return {key for item in value for key in _keys(item)} if isinstance(value, list) else set()


@pytest.mark.parametrize("frame", ONE_OF_EACH, ids=lambda frame: read(frame)["type"])
def test_a_message_is_one_object_with_a_type_and_plain_keys(frame: bytes) -> None:
    """P-1.1"""
    message = read(frame)

    assert isinstance(message["type"], str)
    assert b"\n" not in frame
    assert {key for key in _keys(message) if not re.fullmatch("[a-z]+(_[a-z0-9]+)*", key)} == set()


def test_nothing_is_sent_that_apps_have_given_up() -> None:
    """P-1.15"""
    functions = {
        name
        for module in (outgoing, outgoing_recipes, outgoing_tools, history)
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
    }

    assert not functions & {"replay", "session_updated", "session_locked"}
    assert not {read(f)["type"] for f in ONE_OF_EACH} & {
        "replay",
        "session_updated",
        "session_locked",
    }
    assert {"session_list", "pong", "speak", "question"} <= functions


def test_an_error_has_only_what_there_is_to_say() -> None:
    """P-1.17"""
    holder = LockHolder(kind="foreign", pid=7, since="2026-01-02T03:04:05.000Z")

    assert read(outgoing.error("No.")) == {"type": "error", "message": "No."}
    assert read(outgoing.error("No.", code="busy", session_id=SESSION, holder=holder)) == {
        "type": "error",
        "message": "No.",
        "code": "busy",
        "session_id": SESSION,
        "holder": plain(holder),
    }


def test_an_acknowledgement() -> None:
    """P-1.18"""
    assert read(outgoing.ack("Done")) == {"type": "ack", "message": "Done"}
    assert read(outgoing.pong()) == {"type": "pong"}


def test_hello_has_all_that_any_app_needs() -> None:
    """P-2.2"""
    hello = read(outgoing.hello())

    assert hello.keys() == {"type", "message", "version", "auth_version", "instructions"}
    assert (hello["type"], hello["auth_version"]) == ("hello", 1)
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", hello["version"])
    assert all(isinstance(hello[key], str) and hello[key] for key in ("message", "instructions"))


def test_a_failed_authentication_says_nothing_of_why() -> None:
    """P-2.5"""
    assert read(outgoing.auth_error()) == {
        "type": "auth_error",
        "message": "Authentication failed",
    }


@pytest.mark.parametrize("session_id", [None, UUID.upper()])
def test_connected_repeats_the_session(session_id: str | None) -> None:
    """P-2.7"""
    assert read(outgoing.connected(session_id, "0.5.0")) == {
        "type": "connected",
        "message": "Session registered",
        "session_id": session_id,
        "negotiated_protocol_version": "0.5.0",
    }


def test_the_list_of_sessions() -> None:
    """P-4.1, P-4.3"""
    assert read(outgoing.session_list([a_session()], 12)[0]) == {
        "type": "session_list",
        "sessions": [ROW],
        "total_count": 12,
    }


def test_at_most_fifty_that_can_be_opened_are_listed() -> None:
    """P-4.2"""
    ids = [f"8c1f2d3e-0000-4000-8000-{number:012d}" for number in range(60)]
    rows = [
        a_session(session_id="empty", message_count=0),
        a_session(session_id="deleted", gone=True),
        *(a_session(session_id=each) for each in ids),
    ]
    listed = read(outgoing.session_list(rows, 60)[0])["sessions"]
    recent = read(outgoing.recent_sessions(rows, 3))["sessions"]

    assert [row["session_id"] for row in listed] == ids[:50]
    assert [row["session_id"] for row in recent] == ids[:3]


def test_the_recent_sessions() -> None:
    """P-4.4"""
    row = a_session(last_modified="2026-01-02T03:04:05Z")

    assert read(outgoing.recent_sessions([row], 5)) == {
        "type": "recent_sessions",
        "sessions": [
            {
                "session_id": SESSION,
                "name": "Mend the gate",
                "working_directory": "/home/ada/gate",
                "last_modified": "2026-01-02T03:04:05.000Z",
                "provider": "claude",
            }
        ],
        "limit": 5,
    }


def test_an_unknown_folder_is_no_null() -> None:
    """P-4.5"""
    row = a_session(working_directory=None)
    frames = [
        read(outgoing.session_list([row], 1)[0])["sessions"][0],
        read(outgoing.recent_sessions([row], 1))["sessions"][0],
        read(outgoing.session_created(row)),
    ]

    assert [shown["working_directory"] for shown in frames] == ["", "", ""]


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/home/ada/gate/", "gate - 2026-01-02 03:04"),
        (None, "Session - 2026-01-02 03:04"),
        ("/", "Session - 2026-01-02 03:04"),
    ],
)
def test_a_session_without_a_name(directory: str | None, name: str) -> None:
    """P-4.6"""
    row = a_session(name="", working_directory=directory)

    assert read(outgoing.recent_sessions([row], 1))["sessions"][0]["name"] == name


@pytest.mark.parametrize(("preview", "shown"), [("Done.", "Done."), ("", "")])
def test_a_new_session(preview: str, shown: str) -> None:
    """P-4.3, P-4.7"""
    assert read(outgoing.session_created(a_session(preview=preview))) == {
        "type": "session_created",
        **ROW,
        "preview": shown,
    }


def test_a_session_that_is_ready() -> None:
    """P-4.8"""
    ready = read(outgoing.session_ready(SESSION))

    assert ready == {
        "type": "session_ready",
        "session_id": SESSION,
        "message": "Session is ready",
    }


def test_the_end_of_a_turn() -> None:
    """P-9.8"""
    assert read(outgoing.turn_complete(SESSION)) == {
        "type": "turn_complete",
        "session_id": SESSION,
    }
    assert read(outgoing.turn_complete(SESSION, aborted=True))["aborted"] is True


def test_an_answer_for_phones_that_read_no_history() -> None:
    """P-9.9"""
    whole: Json = {
        "type": "response",
        "success": True,
        "text": "Hi",
        "session_id": SESSION,
        "message_id": UUID,
    }
    assert read(outgoing.response("Hi", session_id=SESSION, message_id=UUID)) == whole
    asked = outgoing.response("Hi", session_id=SESSION, message_id=UUID, ios_session_id="X")
    assert read(asked) == {**whole, "ios_session_id": "X"}
    assert read(outgoing.response_error("No.")) == {
        "type": "response",
        "success": False,
        "error": "No.",
    }
    failed = read(outgoing.response_error("No.", session_id=SESSION, ios_session_id="X"))
    assert (failed["session_id"], failed["ios_session_id"]) == (SESSION, "X")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            outgoing.session_killed(SESSION),
            {"type": "session_killed", "session_id": SESSION, "message": "Session killed"},
        ),
    ],
)
def test_a_session_that_was_stopped(frame: bytes, message: Json) -> None:
    """P-10.1"""
    assert read(frame) == message


def test_a_session_that_was_summed_up_or_not() -> None:
    """P-10.2"""
    assert read(outgoing.compaction_complete(SESSION)) == {
        "type": "compaction_complete",
        "session_id": SESSION,
    }
    assert read(outgoing.compaction_error(SESSION, "No.")) == {
        "type": "compaction_error",
        "session_id": SESSION,
        "error": "No.",
    }


def test_a_name_that_was_found_or_not() -> None:
    """P-10.3"""
    assert read(outgoing.session_name_inferred(SESSION, "Gate")) == {
        "type": "session_name_inferred",
        "session_id": SESSION,
        "name": "Gate",
    }
    assert read(outgoing.infer_name_error(SESSION, "No.")) == {
        "type": "infer_name_error",
        "session_id": SESSION,
        "error": "No.",
    }
    assert read(outgoing.infer_name_error(None, "No.")).keys() == {"type", "error"}


def test_a_working_tree_that_was_made_or_not() -> None:
    """P-10.4"""
    assert read(outgoing.worktree_session_created(SESSION, "/home/ada/gate-new", "new")) == {
        "type": "worktree_session_created",
        "success": True,
        "session_id": SESSION,
        "worktree_path": "/home/ada/gate-new",
        "branch_name": "new",
    }
    assert read(outgoing.worktree_session_error("No.", "git_error", "fatal: x")) == {
        "type": "worktree_session_error",
        "success": False,
        "error": "No.",
        "error_type": "git_error",
        "details": "fatal: x",
    }
    assert "details" not in read(outgoing.worktree_session_error("No.", "git_error"))
