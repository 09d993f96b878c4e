"""What the older apps (Kotlin on Android, React Native) need and do."""

import pytest

from tests.phone.fake_gateway import SESSION, history, message, row
from tests.phone.handmade import connected, feed, legacy_session_of, reasons, sent, types, without
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


@LEGACY
def test_they_subscribe_with_the_last_id_they_know(variant: str) -> None:
    phone = opened(variant)
    none = {"last_message_id": None} if variant == "android" else {}
    assert sent(phone) == [{"type": "subscribe", "session_id": SESSION} | none]

    feed(phone, TOLD)
    phone.sync.open(SESSION)
    assert sent(phone)[0]["last_message_id"] == TOLD["messages"][0]["id"]


@LEGACY
def test_a_message_that_comes_again_is_known_by_its_id(variant: str) -> None:
    phone = opened(variant)
    feed(phone, TOLD, TOLD)

    assert phone.session(SESSION).texts == ["hi"]
    assert phone.faults == []


def test_the_kotlin_app_makes_up_an_id_that_is_missing() -> None:
    phone = opened("android")
    feed(phone, TOLD | {"messages": [without(TOLD["messages"][0], "id")]})

    assert reasons(phone) == [
        ("session_history", "messages[0].id", "doubled at the next subscription")
    ]


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


def test_a_pushed_prompt_of_ones_own_stands_twice() -> None:
    phone = opened("android")
    feed(phone, TOLD)
    phone.say("hello")
    feed(phone, history(SESSION, [message(SESSION, 2, "user", "hello")], 3))

    assert reasons(phone) == [("session_history", "messages", "doubled")]


def test_the_kotlin_app_learns_the_id_of_a_new_session_from_the_response() -> None:
    phone = connected("android")
    local = phone.new("/home/ada/project", "hello")
    assert sent(phone) == [
        {
            "type": "prompt",
            "text": "hello",
            "session_id": None,
            "working_directory": "/home/ada/project",
        }
    ]
    assert local in phone.sync.sessions

    assert types(feed(phone, RESPONSE)) == ["subscribe"]
    feed(phone, TOLD)
    assert phone.screen == SESSION
    assert phone.session(SESSION).texts == ["hi"]
    assert phone.faults == []

    phone.say("more")
    assert sent(phone)[-1] == {"type": "prompt", "text": "more", "session_id": SESSION}


def test_the_kotlin_app_keeps_its_own_id_for_a_session_that_a_list_has_told_of_before() -> None:
    phone = connected("android")
    local = phone.new("/home/ada/project", "hello")
    feed(phone, {"type": "recent_sessions", "sessions": [{"session_id": SESSION}], "limit": 5})
    feed(phone, RESPONSE)

    assert phone.session(local) is phone.session(SESSION)
    assert phone.session(local).texts == ["hi"]
    assert phone.faults == []


def test_a_response_without_the_id_of_its_message_is_a_second_row() -> None:
    phone = opened("android")
    feed(phone, without(RESPONSE, "message_id"))

    assert reasons(phone) == [("response", "message_id", "misread")]


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
def test_a_server_may_lock_a_session_too(variant: str) -> None:
    phone = opened(variant)
    feed(phone, {"type": "session_locked", "session_id": SESSION, "message": "busy"})

    assert legacy_session_of(phone).locked


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


def test_the_kotlin_app_takes_a_command_history_without_previews() -> None:
    phone = connected("android")
    feed(phone, {"type": "command_history", "sessions": [{"output_preview": None}], "limit": 5})

    assert phone.faults == []


def test_the_kotlin_app_acknowledges_a_replay_of_a_whole_message() -> None:
    phone = connected("android")
    replay = {"type": "replay", "message_id": "m", "message": {"role": "assistant", "text": "a"}}
    assert types(feed(phone, replay)) == ["message_ack"]

    feed(phone, replay | {"message": {"role": "assistant"}})
    assert reasons(phone) == [("replay", "message.text", "frame dropped")]


def test_the_untyped_app_follows_the_steps_of_a_recipe() -> None:
    phone = connected("rn")
    step = {"type": "recipe_step_started", "session_id": SESSION, "step": "fix", "step_count": 1}
    feed(phone, step, without(step, "step_count"))

    assert reasons(phone) == [("recipe_step_started", "step_count", "frame dropped")]
