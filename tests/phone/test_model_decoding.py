"""What the Swift app keeps of each frame, and what makes it drop a row or the whole."""

import copy
from typing import Any

import pytest

from tests.phone.fake_gateway import OTHER, SESSION, STAMP, row
from tests.phone.handmade import connected, feed, reasons, sent, without
from tests.phone_app.fields import Json

WHOLE = "2026-11-22T08:00:00Z"
RECENT = {
    "session_id": SESSION,
    "name": "a session",
    "working_directory": "/home/ada/project",
    "last_modified": STAMP,
}
ITEM = {"id": "make.build", "label": "build", "type": "command"}
RAN = {
    "command_session_id": "cmd-1",
    "command_id": "make.build",
    "shell_command": "make build",
    "working_directory": "/home/ada/project",
    "timestamp": STAMP,
    "exit_code": 0,
    "duration_ms": 12,
}
RESOURCE = {"filename": "a.txt", "path": "/x/a.txt", "size": 3, "timestamp": WHOLE}
STARTED = {
    "type": "recipe_started",
    "session_id": SESSION,
    "recipe_id": "fix-it",
    "recipe_label": "Fix it",
    "current_step": "fix",
    "step_count": 1,
}
OUTPUT = {"type": "command_output", "command_session_id": "cmd-1", "stream": "stdout", "text": "a"}

FRAMES: dict[str, Json] = {
    "auth_error": {},
    "error": {"message": "no", "code": None, "session_id": SESSION},
    "ack": {"message": "yes"},
    "session_list": {"sessions": [row(SESSION)], "total_count": 1},
    "recent_sessions": {"sessions": [RECENT], "limit": 5},
    "session_created": row(SESSION),
    "session_ready": {"session_id": SESSION, "message": "ready"},
    "turn_complete": {"session_id": SESSION, "aborted": True},
    "response": {"success": True, "text": "hi", "ios_session_id": "quick"},
    "replay": {"message_id": "m", "message": {"role": "assistant", "text": "hi"}},
    "session_killed": {"session_id": SESSION, "message": "killed"},
    "compaction_complete": {"session_id": SESSION},
    "compaction_error": {"session_id": SESSION, "error": "busy"},
    "session_name_inferred": {"session_id": SESSION, "name": "a name"},
    "infer_name_error": {"session_id": SESSION, "error": "none"},
    "worktree_session_created": {"success": True, "session_id": SESSION, "worktree_path": "/w"},
    "worktree_session_error": {"success": False, "error": "no", "error_type": "git"},
    "available_commands": {
        "working_directory": None,
        "project_commands": [{"id": "g", "label": "g", "type": "group", "children": [ITEM]}],
        "general_commands": [ITEM],
    },
    "command_started": without(RAN, "timestamp", "working_directory"),
    "command_error": {"command_id": "make.build", "error": "none such"},
    "command_history": {"sessions": [RAN | {"output_preview": ""}], "limit": 50},
    "command_output_full": RAN | {"output": "built"},
    "file_uploaded": RESOURCE,
    "resources_list": {"resources": [RESOURCE], "storage_location": "/x"},
    "resource_deleted": {"filename": "a.txt", "path": "/x/a.txt"},
    "available_recipes": {"recipes": [{"id": "a", "label": "A", "description": "does"}]},
    "recipe_started": STARTED,
    "recipe_exited": {"session_id": SESSION, "reason": "user-requested"},
    "recipe_error": {"session_id": SESSION, "error": "Recipe not found"},
    "recipe_paused": {"session_id": SESSION},
    "recipe_resumed": {"session_id": SESSION},
    "steer_result": {"session_id": SESSION, "state": "delivered"},
    "question": {"question_id": "q", "kind": "ask", "text": "?", "choices": []},
    "question_closed": {"question_id": "q", "answer": "yes", "by": "phone"},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_right_frame_has_no_fault(kind: str) -> None:
    phone = connected()
    phone.rows.add(SESSION)
    feed(phone, FRAMES[kind] | {"type": kind})

    assert phone.faults == []
    assert phone.counts[kind] == 1


# type, where the field is, what it is set to (DROP: taken away), what becomes of it
DROP = object()
WRONG: list[tuple[str, list[str | int], object, str]] = [
    ("error", ["message"], DROP, "frame dropped"),
    ("error", ["message"], None, "frame dropped"),
    ("error", ["code"], 5, "frame dropped"),
    ("ack", ["message"], 5, "frame dropped"),
    ("session_list", ["sessions"], DROP, "frame dropped"),
    ("session_list", ["sessions", 0, "session_id"], "ses_123", "row dropped"),
    ("session_list", ["sessions", 0, "session_id"], DROP, "row dropped"),
    ("session_list", ["sessions", 0], 5, "row dropped"),
    ("session_list", ["sessions", 0, "session_id"], SESSION.upper(), "misread"),
    ("session_list", ["sessions", 0, "last_modified"], STAMP, "misread"),
    ("session_list", ["sessions", 0, "last_modified"], True, "misread"),
    ("session_list", ["sessions", 0, "last_modified"], 1_795_000_000, "misread"),
    ("session_list", ["sessions", 0, "message_count"], DROP, "misread"),
    ("session_list", ["sessions", 0, "message_count"], 1.5, "misread"),
    ("session_list", ["sessions", 0, "name"], None, "misread"),
    ("session_list", ["sessions", 0, "working_directory"], None, "misread"),
    ("recent_sessions", ["sessions", 0, "last_modified"], WHOLE, "row dropped"),
    ("recent_sessions", ["sessions", 0, "last_modified"], 1_795_000_000_000, "row dropped"),
    ("recent_sessions", ["sessions", 0, "last_modified"], "yesterday", "row dropped"),
    ("recent_sessions", ["sessions", 0, "last_modified"], "2026-11-22T08:00:00.000", "row dropped"),
    ("recent_sessions", ["sessions", 0, "name"], DROP, "row dropped"),
    ("recent_sessions", ["sessions", 0, "working_directory"], None, "row dropped"),
    ("session_created", ["session_id"], "ses_123", "frame dropped"),
    ("session_created", ["last_modified"], STAMP, "misread"),
    ("session_created", ["message_count"], DROP, "misread"),
    ("session_ready", ["session_id"], DROP, "frame dropped"),
    ("turn_complete", ["session_id"], DROP, "frame dropped"),
    ("turn_complete", ["session_id"], SESSION.upper(), "misread"),
    ("replay", ["message", "text"], DROP, "frame dropped"),
    ("compaction_error", ["error"], DROP, "frame dropped"),
    ("available_commands", ["project_commands"], None, "frame dropped"),
    ("available_commands", ["general_commands"], DROP, "frame dropped"),
    ("available_commands", ["general_commands", 0, "label"], None, "frame dropped"),
    ("available_commands", ["general_commands", 0, "type"], "target", "frame dropped"),
    ("available_commands", ["project_commands", 0, "children", 0, "id"], DROP, "frame dropped"),
    ("command_started", ["shell_command"], DROP, "frame dropped"),
    ("command_error", ["command_id"], None, "frame dropped"),
    ("command_history", ["limit"], DROP, "frame dropped"),
    ("command_history", ["sessions", 0, "output_preview"], None, "frame dropped"),
    ("command_history", ["sessions", 0, "timestamp"], "today", "frame dropped"),
    ("command_output_full", ["exit_code"], None, "frame dropped"),
    ("command_output_full", ["duration_ms"], 1.5, "frame dropped"),
    ("command_output_full", ["timestamp"], "today", "frame dropped"),
    ("file_uploaded", ["filename"], DROP, "frame dropped"),
    ("file_uploaded", ["timestamp"], STAMP, "misread"),
    ("resources_list", ["resources", 0, "size"], "3", "frame dropped"),
    ("resources_list", ["resources", 0, "path"], DROP, "frame dropped"),
    ("resources_list", ["resources", 0, "timestamp"], STAMP, "misread"),
    ("resource_deleted", ["filename"], None, "frame dropped"),
    ("available_recipes", ["recipes", 0, "description"], DROP, "frame dropped"),
    ("recipe_started", ["session_id"], DROP, "frame dropped"),
    ("recipe_started", ["recipe_id"], "", "frame dropped"),
    ("recipe_started", ["recipe_label"], None, "frame dropped"),
    ("recipe_started", ["current_step"], "", "frame dropped"),
    ("recipe_started", ["step_count"], 0, "frame dropped"),
    ("recipe_started", ["step_count"], True, "frame dropped"),
    ("recipe_exited", ["session_id"], None, "frame dropped"),
    ("question", ["choices"], None, "frame dropped"),
    ("question_closed", ["question_id"], DROP, "frame dropped"),
]


@pytest.mark.parametrize(("kind", "path", "value", "effect"), WRONG)
def test_a_wrong_field_costs_what_it_costs_the_app(
    kind: str, path: list[str | int], value: object, effect: str
) -> None:
    frame: Any = copy.deepcopy(FRAMES[kind]) | {"type": kind}
    holder = frame
    for step in path[:-1]:
        holder = holder[step]
    if value is DROP:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    phone = connected()
    feed(phone, frame)

    assert [(one, end) for one, _, end in reasons(phone)] == [(kind, effect)]


def test_only_the_bad_row_of_a_list_is_dropped() -> None:
    phone = connected()
    rows = [row("ses_1"), row(SESSION), row(OTHER)]
    feed(phone, {"type": "session_list", "sessions": rows, "total_count": 3})

    assert phone.listed == [SESSION, OTHER]
    assert phone.session(OTHER).directory == "/home/ada/project"


def test_a_row_without_a_count_makes_the_app_take_the_session_for_new() -> None:
    phone = connected()
    feed(phone, {"type": "session_list", "sessions": [without(row(SESSION), "message_count")]})
    phone.sync.open(SESSION)
    phone.say("hello")

    assert sent(phone)[-1]["new_session_id"] == SESSION


def test_output_of_an_unknown_command_is_dropped() -> None:
    phone = connected()
    started = FRAMES["command_started"] | {"type": "command_started"}
    complete = {"type": "command_complete", "command_session_id": "cmd-1", "exit_code": 2}
    feed(phone, OUTPUT)
    assert reasons(phone) == [("command_output", "command_session_id", "misread")]

    feed(phone, started, OUTPUT, OUTPUT | {"stream": "stderr"}, complete | {"duration_ms": 3})
    run = phone.board.runs["cmd-1"]
    assert (run.output, run.exit_code) == ([("stdout", "a"), ("stderr", "a")], 2)
    assert len(phone.faults) == 1


def test_output_of_no_known_stream_is_dropped() -> None:
    phone = connected()
    feed(phone, FRAMES["command_started"] | {"type": "command_started"})
    feed(phone, OUTPUT | {"stream": "log"})

    assert reasons(phone) == [("command_output", "stream", "frame dropped")]


def test_a_recipe_is_shown_from_its_start_to_its_end() -> None:
    phone = connected()
    feed(phone, STARTED, STARTED | {"current_step": "review", "step_count": 2})
    assert phone.board.active[SESSION]["current_step"] == "review"

    feed(phone, FRAMES["recipe_exited"] | {"type": "recipe_exited"})
    assert phone.board.active == {}
    assert [one["reason"] for one in phone.board.exited] == ["user-requested"]


def test_a_question_stands_until_it_is_closed() -> None:
    phone = connected()
    feed(phone, FRAMES["question"] | {"type": "question"})
    assert list(phone.board.questions) == ["q"]

    feed(phone, FRAMES["question_closed"] | {"type": "question_closed"})
    assert phone.board.questions == {}
    assert phone.board.closed["q"]["answer"] == "yes"


def test_a_replay_is_acknowledged() -> None:
    phone = connected()

    assert feed(phone, FRAMES["replay"] | {"type": "replay"}) == [
        {"type": "message_ack", "message_id": "m"}
    ]


def test_only_a_response_to_a_quick_prompt_is_taken() -> None:
    phone = connected()
    feed(phone, {"type": "response", "success": True, "text": "hi"})
    assert phone.responses == []

    feed(phone, FRAMES["response"] | {"type": "response"})
    assert [one["text"] for one in phone.responses] == ["hi"]


def test_a_fault_says_where_and_what() -> None:
    phone = connected()
    feed(phone, STARTED | {"step_count": "1"})

    assert str(phone.faults[0]) == (
        "recipe_started.step_count: is '1', integer is needed (frame dropped)"
    )


def test_a_recent_session_that_no_list_has_told_of_cannot_be_opened() -> None:
    phone = connected()
    feed(phone, {"type": "recent_sessions", "sessions": [RECENT], "limit": 5})
    assert reasons(phone) == [("recent_sessions", "sessions[0].session_id", "misread")]

    known = connected()
    feed(known, row(SESSION) | {"type": "session_created"})
    feed(known, {"type": "recent_sessions", "sessions": [RECENT], "limit": 5})
    assert known.faults == []
