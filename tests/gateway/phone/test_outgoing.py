"""What a phone is told: each kind of frame as ``frames.txt`` has it, and what holds for all."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from podiumd.core.run import facts as f
from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.protocol import outgoing as o
from podiumd.gateway.phone.protocol import outgoing_recipes as r
from podiumd.gateway.phone.protocol import outgoing_tools as t
from podiumd.projects.menu import Item
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
    a_session,
    a_standing,
    an_exit,
    messages,
    read,
)

HERE: Final = Path(__file__).with_name("frames.txt")
RUN: Final = f"cmd-{UUID}"
HOLDER: Final = LockHolder(kind="foreign", pid=7, since="2026-01-02T03:04:05.000Z")
NAMELESS: Final = {"name": "", "last_modified": "2026-01-02T03:04:05Z"}
UNFINISHED: Final = {"exit_code": None, "duration_ms": None, "working_directory": ""}
HEARD: Final[Json] = {"language": "en", "duration_ms": 900, "latency_ms": 200}
COMMANDS: Final = [
    Item(id="build", label="Build", type="command", description="Make it"),
    Item(
        id="docker",
        label="Docker",
        type="group",
        children=(Item(id="docker-up", label="Up", type="command"),),
    ),
]
RECIPES: Final = [
    a_recipe(id="rebase", label="Rebase", description="On main"),
    a_recipe(id="bare", label="", description=""),
    a_recipe(id="faulty", ok=False),
    a_recipe(id="foreign", trusted=False),
]


def started(first_prompt: str = "Do it.", **changes: Any) -> bytes:
    return r.recipe_started(**a_standing(first_prompt=first_prompt, **changes))


def ended(**changes: Any) -> bytes:
    return r.recipe_exited(SESSION, an_exit(**changes))


def noticed(**changes: Any) -> bytes:
    notice = r.exit_notice(SESSION, an_exit(message="Recipe stopped", **changes))
    assert notice is not None
    return notice


def closed(answer: str | None, by: str | None, how: Any) -> bytes:
    fact = f.QuestionClosed(question_id="q-1", answer=answer, by=by, closed=how)
    return r.question_closed(fact)


FRAMES: Final[list[tuple[str, list[bytes]]]] = [
    (
        "P-1.17",
        [o.error("No."), o.error("No.", code="busy", session_id=SESSION, holder=HOLDER)],
    ),
    ("P-1.18", [o.ack("Done"), o.pong()]),
    ("P-3.5", [o.version_error("0.1.0")]),
    ("P-2.5", [o.auth_error()]),
    ("P-2.7", [o.connected(None, "0.5.0"), o.connected(UUID.upper(), "0.5.0")]),
    ("P-4.1, P-4.3", [o.session_list([a_session()], 12)[0]]),
    ("P-4.4", [o.recent_sessions([a_session(last_modified="2026-01-02T03:04:05Z")], 5)]),
    (
        "P-4.5",
        [
            o.session_list([a_session(working_directory=None)], 1)[0],
            o.recent_sessions([a_session(working_directory=None)], 1),
            o.session_created(a_session(working_directory=None)),
        ],
    ),
    (
        "P-4.6",
        [
            o.recent_sessions([a_session(**NAMELESS, working_directory=where)], 1)
            for where in ("/home/ada/gate/", None, "/")
        ],
    ),
    ("P-4.3, P-4.7", [o.session_created(a_session(preview=said)) for said in ("Done.", "")]),
    ("P-4.8", [o.session_ready(SESSION)]),
    ("P-9.8", [o.turn_complete(SESSION), o.turn_complete(SESSION, aborted=True)]),
    (
        "P-9.9",
        [
            o.response("Hi", session_id=SESSION, message_id=UUID),
            o.response("Hi", session_id=SESSION, message_id=UUID, ios_session_id="X"),
            o.response_error("No."),
            o.response_error("No.", session_id=SESSION, ios_session_id="X"),
        ],
    ),
    ("P-10.1", [o.session_killed(SESSION)]),
    ("P-10.2", [o.compaction_complete(SESSION), o.compaction_error(SESSION, "No.")]),
    (
        "P-10.3",
        [
            o.session_name_inferred(SESSION, "Gate"),
            o.infer_name_error(SESSION, "No."),
            o.infer_name_error(None, "No."),
        ],
    ),
    (
        "P-10.4",
        [
            o.worktree_session_created(SESSION, "/home/ada/gate-new", "new"),
            o.worktree_session_error("No.", "git_error", "fatal: x"),
        ],
    ),
    ("P-11.1", [r.available_recipes(RECIPES), r.available_recipes([])]),
    (
        "P-11.3, P-11.5",
        [
            started(),
            started(max_total_steps=None, step_count=0),
            started("", label="", ios_session_id="X"),
        ],
    ),
    ("P-11.4", [started("Do it.\n\n  Then\ttest."), started("x" * 121), started("")]),
    ("P-11.7", [started(step="queued", step_count=0)]),
    (
        "P-11.5, P-11.8",
        [
            r.recipe_step_started(SESSION, "code-review", 2),
            r.recipe_step_transition(SESSION, "code-review", "fix"),
            r.orchestration_retry(SESSION, "code-review", "no JSON"),
        ],
    ),
    (
        "P-11.9",
        [
            frame
            for error in (r.NOT_FOUND, r.INVALID_JSON, r.RETRIES_EXCEEDED)
            for session in (SESSION, None)
            for frame in r.recipe_error(session, error)
        ],
    ),
    (
        "P-11.10",
        [
            ended(detail="3 files"),
            ended(reason="max-minutes", category="guardrail", detail="120"),
            ended(category="error", message="Recipe failed: x", detail="exit status 1"),
            ended(category="error", message="Recipe failed: x", detail=None),
            ended(category="error", message="Recipe failed: x", detail=""),
        ],
    ),
    (
        "P-11.12",
        [
            noticed(category="guardrail", detail="120"),
            noticed(category="error", detail="exit status 1"),
            noticed(category="error", detail=None),
        ],
    ),
    ("P-11.15", [r.recipe_paused(SESSION), r.recipe_resumed(SESSION)]),
    ("P-11.16", [r.steer_result(SESSION, state) for state in ("queued", "too_late")]),
    ("P-12.1", [r.question(a_question()), r.question(a_question(input=None))]),
    ("P-12.4", [closed("allow", "phone", "answered"), closed(None, None, "superseded")]),
    (
        "P-13.1",
        [
            t.available_commands("/home/ada/gate", COMMANDS, COMMANDS[:1]),
            t.available_commands(None, [], []),
        ],
    ),
    ("P-13.2", [t.command_started(RUN, "build", "make"), t.command_error("build", "No.")]),
    (
        "P-13.3",
        [t.command_output(RUN, "stdout", "built"), t.command_output(RUN, "stderr", "built")],
    ),
    ("P-13.4", [t.command_complete(RUN, -15, 1200)]),
    ("P-13.5", [t.command_history([a_command()], 50)]),
    (
        "P-13.6",
        [
            t.command_history([a_command(output_preview=preview, **UNFINISHED)], 50)
            for preview in ("", "x" * 201)
        ],
    ),
    (
        "P-13.7, P-13.8",
        [
            t.command_output_full(a_command(exit_code=2), "one\ntwo"),
            t.command_output_full(a_command(**UNFINISHED), "one"),
            t.command_output_full(a_command(**UNFINISHED), ""),
        ],
    ),
    ("P-14.1, P-14.3", [t.file_uploaded(a_file()), t.upload_error("the disk is full")]),
    ("P-14.2, P-14.3", [t.resources_list([a_file(), a_file(filename="b")], "~/gate")]),
    ("P-14.4", [t.resource_deleted("a.txt", "/x/a.txt")]),
    (
        "P-15.2",
        [t.voice_ready("u", 3, "ready"), t.voice_ready("u", 3, "unavailable", "no model")],
    ),
    (
        "P-15.5",
        [
            t.voice_transcript("u", "hello", **HEARD, delivered=False),
            t.voice_transcript("u", "hello", **HEARD, delivered=True, session_id=SESSION),
            t.voice_partial("u", "hel"),
        ],
    ),
    (
        "P-15.6",
        [
            t.voice_command("u", "approve", "confirm", "Allow it?"),
            t.voice_command("u", "approve", "confirm", "Allow it?", question_id="q-1", choice="a"),
        ],
    ),
    ("P-15.7", [t.voice_error(of, "no_model", "No model is there.") for of in ("u", None)]),
    ("P-15.8", [t.speak(SESSION, "Done.")]),
]
OTHERS: Final = [o.hello(), history.window(a_log(1), messages(1, 1), 102_400).frame]


def written() -> str:
    """The rules, and below each the frames that it is about."""
    return "\n".join(
        "\n".join([rules, *(json.dumps(read(frame), ensure_ascii=False) for frame in frames), ""])
        for rules, frames in FRAMES
    )


def test_each_frame_is_as_it_is_written_down() -> None:
    """Write them anew with ``python -m tests.gateway.phone.test_outgoing`` and read the change."""
    assert written() == HERE.read_text(encoding="utf-8")


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    return {key for item in value for key in _keys(item)} if isinstance(value, list) else set()


def test_a_message_is_one_object_with_a_type_and_plain_keys() -> None:
    """P-1.1"""
    for frame in [*OTHERS, *(frame for _, frames in FRAMES for frame in frames)]:
        message = read(frame)

        assert isinstance(message["type"], str)
        assert b"\n" not in frame
        odd = {key for key in _keys(message) if not re.fullmatch("[a-z]+(_[a-z0-9]+)*", key)}
        assert odd == set()


def test_nothing_is_sent_that_apps_have_given_up() -> None:
    """P-1.15"""
    functions = {
        name
        for module in (o, r, t, history)
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
    }
    told = {read(frame)["type"] for _, frames in FRAMES for frame in frames}

    given_up = {"replay", "session_updated", "session_locked"}
    assert not (functions | told) & given_up
    assert {"session_list", "pong", "speak", "question"} <= functions & told


def test_hello_has_all_that_any_app_needs() -> None:
    """P-2.2"""
    hello = read(o.hello())

    assert hello.keys() == {"type", "message", "version", "auth_version", "instructions"}
    assert (hello["type"], hello["auth_version"]) == ("hello", 1)
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", hello["version"])
    assert all(isinstance(hello[key], str) and hello[key] for key in ("message", "instructions"))


def test_every_list_says_which_agent_a_session_is_of() -> None:
    """P-4.13."""
    row = a_session(agent="my-kimi")
    listed, _ = o.session_list([row], 1)
    lists = (listed, o.recent_sessions([row], 1))
    assert [read(one)["sessions"][0]["provider"] for one in lists] == ["my-kimi", "my-kimi"]
    assert read(o.session_created(row))["provider"] == "my-kimi"


def test_at_most_fifty_that_can_be_opened_are_listed() -> None:
    """P-4.2"""
    ids = [f"8c1f2d3e-0000-4000-8000-{number:012d}" for number in range(60)]
    rows = [
        a_session(session_id="empty", message_count=0),
        a_session(session_id="deleted", gone=True),
        *(a_session(session_id=each) for each in ids),
    ]
    listed = read(o.session_list(rows, 60)[0])["sessions"]
    recent = read(o.recent_sessions(rows, 3))["sessions"]

    assert [row["session_id"] for row in listed] == ids[:50]
    assert [row["session_id"] for row in recent] == ids[:3]


@pytest.mark.parametrize("category", ["completed", "error"])
def test_an_endless_cause_is_cut(category: str) -> None:
    end = an_exit(category=category, detail="x" * 90_000)
    notice = r.exit_notice(SESSION, end)

    assert len(r.recipe_exited(SESSION, end)) < 21_000
    assert (notice is None) == (category == "completed"), "what went well is no error"
    assert notice is None or len(read(notice)["message"]) < 600


def test_a_text_that_is_too_long_for_a_frame_is_cut_in_the_middle() -> None:
    """P-7.10"""
    words = "word " * 20_000
    told = t.voice_transcript("u", words, **HEARD, delivered=False, frame_bytes=16_384)
    assert len(told) <= 16_384 and "[truncated" in read(told)["text"]
    assert len(t.voice_partial("u", words, 16_384)) <= 16_384


if __name__ == "__main__":
    HERE.write_text(written(), encoding="utf-8")
