"""What the older apps (Kotlin on Android, React Native) need and do."""

import pytest

from tests.phone.fake_gateway import SESSION, history, message, row
from tests.phone.handmade import connected, feed, legacy_session_of, reasons, without
from tests.phone_app.fields import Json
from tests.phone_app.model import PhoneModel

LEGACY = pytest.mark.parametrize("variant", ["android", "rn"])
TOLD = history(SESSION, [message(SESSION, 1, "assistant", "hi")], 2)
RESPONSE = {
    "type": "response",
    "success": True,
    "text": "hi",
    "session_id": SESSION,
    "message_id": TOLD["messages"][0]["id"],
}


def opened(variant: str) -> PhoneModel:
    phone = connected(variant)
    phone.sync.open(SESSION)
    return phone


@pytest.mark.parametrize("name", ["session_id", "messages", "total_count", "is_complete"])
def test_the_kotlin_app_drops_a_history_without_one_of_these(name: str) -> None:
    phone = opened("android")
    feed(phone, without(TOLD, name))

    assert reasons(phone) == [("session_history", name, "frame dropped")]


def test_one_bad_message_costs_the_kotlin_app_the_frame() -> None:
    phone = opened("android")
    bad = message(SESSION, 2, "user", "") | {"text": None}
    feed(phone, TOLD | {"messages": [*TOLD["messages"], bad]})

    assert phone.session(SESSION).texts == []
    assert reasons(phone) == [("session_history", "messages[1].text", "frame dropped")]


def test_the_untyped_app_skips_a_message_that_has_no_id_at_all() -> None:
    phone = opened("rn")
    bare = without(message(SESSION, 2, "user", "b"), "id", "uuid")
    only_uuid = without(message(SESSION, 3, "user", "c"), "id")
    feed(phone, TOLD | {"messages": [bare, only_uuid]})

    assert phone.session(SESSION).texts == ["c"]
    assert reasons(phone) == [("session_history", "messages[0]", "message skipped")]


def test_the_untyped_app_knows_a_message_by_its_type_alone() -> None:
    phone = opened("rn")
    feed(phone, TOLD | {"messages": [without(TOLD["messages"][0], "type")]})

    assert phone.session(SESSION).texts == []
    assert reasons(phone) == [("session_history", "messages[0].type", "message skipped")]


def test_what_the_untyped_app_did_not_ask_for_takes_the_place_of_all_it_shows() -> None:
    phone = opened("rn")
    feed(phone, TOLD)
    phone.say("hello")
    feed(phone, history(SESSION, [message(SESSION, 2, "user", "hello")], 3))

    assert phone.session(SESSION).texts == ["hello"]
    assert reasons(phone) == [("session_history", "messages", "wiped")]


def test_what_the_untyped_app_asked_for_by_its_last_message_is_added() -> None:
    phone = opened("rn")
    feed(phone, TOLD)
    phone.sync.open(SESSION)
    feed(phone, history(SESSION, [message(SESSION, 2, "user", "hello")], 3))

    assert phone.session(SESSION).texts == ["hi", "hello"]
    assert phone.faults == []


@LEGACY
@pytest.mark.parametrize(
    "unlocking",
    [
        {"type": "turn_complete", "session_id": SESSION},
        {"type": "error", "message": "no", "session_id": SESSION},
        RESPONSE,
    ],
)
def test_a_prompt_locks_the_session_until_its_end(variant: str, unlocking: Json) -> None:
    phone = opened(variant)
    phone.say("hello")
    assert legacy_session_of(phone).locked

    feed(phone, unlocking)
    assert not legacy_session_of(phone).locked


@LEGACY
def test_recent_sessions_are_where_they_find_sessions(variant: str) -> None:
    phone = connected(variant)
    recent = row(SESSION) | {"last_modified": "2026-11-22T08:00:00.000Z"}
    feed(phone, {"type": "recent_sessions", "sessions": [recent], "limit": 5})

    assert phone.session(SESSION).directory == "/home/ada/project"
    assert phone.faults == []


@LEGACY
def test_a_list_with_a_row_without_id_is_dropped(variant: str) -> None:
    phone = connected(variant)
    rows = [without(row(SESSION), "session_id")]
    feed(phone, {"type": "recent_sessions", "sessions": rows, "limit": 5})

    assert reasons(phone) == [("recent_sessions", "sessions[0].session_id", "frame dropped")]


def test_the_kotlin_app_drops_commands_of_no_directory() -> None:
    phone = connected("android")
    offered = {"type": "available_commands", "project_commands": [], "general_commands": []}
    feed(phone, offered | {"working_directory": None})
    feed(phone, offered | {"working_directory": ""})

    assert reasons(phone) == [("available_commands", "working_directory", "frame dropped")]


def test_the_untyped_app_follows_the_steps_of_a_recipe() -> None:
    phone = connected("rn")
    step = {"type": "recipe_step_started", "session_id": SESSION, "step": "fix", "step_count": 1}
    feed(phone, step, without(step, "step_count"))

    assert reasons(phone) == [("recipe_step_started", "step_count", "frame dropped")]
